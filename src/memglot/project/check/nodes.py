"""The check of nodes and relations: their shapes, texts, hashes, and whether what they name is there."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from memglot.project import messages as said
from memglot.project.check.findings import Findings, shown
from memglot.project.check.schema_issues import shape_issue
from memglot.project.storage.errors import issue
from memglot.project.storage.hashes import follows_tool, link_hash
from memglot.project.storage.ids import kind_of
from memglot.project.storage.markdown import first_heading, has_front_matter
from memglot.project.storage.paths import NODES, RELATIONS
from memglot.project.storage.shapes import Link, Sidecar
from memglot.project.storage.vocabulary import STATUSES

_EXCESSIVE = 5


def check_nodes(findings: Findings) -> dict[str, str]:
    """Check every sidecar and every text; give the ids there are, each with the path of its sidecar."""
    places: dict[str, str] = {}
    owned: set[str] = set()
    replaced: list[tuple[str, str | None]] = []
    for path in sorted(name for name in findings.files if name.startswith(f"{NODES}/") and name.endswith(".json")):
        plain = findings.json(path)
        # A text belongs to the sidecar beside it even when that cannot be read.
        owned.add(_beside(path))
        if plain is None:
            continue
        if isinstance(plain, dict):
            owned.add(str(plain.get("body_path")))
            _note_id(findings, path, plain.get("id"), places, "Object")
        sidecar = _sidecar(findings, path, plain)
        if sidecar is None:
            continue
        if sidecar.status == "superseded":
            replaced.append((path, sidecar.superseded_by or None))
        _check_sidecar(findings, path, sidecar)
        _check_body(findings, path, sidecar, plain)
    for path, replacement in replaced:
        if replacement not in places:
            findings.warnings.append(_replacement_missing(shown(path), replacement))
    for path in sorted(name for name in findings.files if name.startswith(f"{NODES}/") and name.endswith(".md")):
        if path not in owned:
            findings.warnings.append(_sidecar_missing(shown(path)))
            findings.text(path)
    return places


def check_links(findings: Findings, nodes: dict[str, str]) -> None:
    """Check every relation; `nodes` are the ids that it may end at."""
    places: dict[str, str] = {}
    facts: dict[tuple[str, str, str], str] = {}
    predicates: Counter[str] = Counter()
    for path in sorted(name for name in findings.files if name.startswith(f"{RELATIONS}/") and name.endswith(".json")):
        plain = findings.json(path)
        if plain is None:
            continue
        try:
            link = msgspec.convert(plain, Link)
        except msgspec.ValidationError as error:
            findings.errors.append(shape_issue(shown(path), error))
            continue
        if not link.id.isprintable():
            findings.errors.append(said.unprintable(shown(path), "/id"))
        _note_id(findings, path, link.id, places, "Relation")
        for field, id in (("/from", link.subject), ("/to", link.object)):
            if id not in nodes:
                findings.errors.append(
                    issue("RelationEndpointMissing", f"There is no node `{id}`.", shown(path), field)
                )
        first = facts.setdefault((link.subject, link.predicate, link.object), path)
        if first != path:
            findings.errors.append(
                issue("RelationEquivalentDuplicate", f"This says the same as `{shown(first)}`.", shown(path))
            )
        if isinstance(link.content_hash, str) and link.content_hash != link_hash(plain):
            findings.warnings.append(_hash_mismatch(shown(path), "Relation"))
        predicates[link.predicate] += 1
    vague, total = predicates["related_to"], predicates.total()
    if vague >= _EXCESSIVE and vague * 2 > total:
        findings.warnings.append(_too_related(shown(RELATIONS), vague, total))


def _sidecar(findings: Findings, path: str, plain: Any) -> Sidecar | None:
    if isinstance(plain, dict) and "content_hash" not in plain:
        findings.errors.append(
            issue("ObjectContentHashMissing", "Required field is missing: content_hash.", shown(path), "/content_hash")
        )
        plain = plain | {"content_hash": "none"}
    try:
        return msgspec.convert(plain, Sidecar)
    except msgspec.ValidationError as error:
        findings.errors.append(shape_issue(shown(path), error))
        return None


def _note_id(findings: Findings, path: str, id: object, places: dict[str, str], what: str) -> None:
    if not isinstance(id, str):
        return
    first = places.setdefault(id, path)
    if first != path:
        findings.errors.append(
            issue(f"{what}IdDuplicate", f"The id `{id}` is already that of `{shown(first)}`.", shown(path), "/id")
        )


def _check_sidecar(findings: Findings, path: str, sidecar: Sidecar) -> None:
    place = shown(path)
    for field, value in (("/id", sidecar.id), ("/body_path", sidecar.body_path)):
        if not value.isprintable():
            findings.errors.append(said.unprintable(place, field))
    if kind_of(sidecar.id) != sidecar.type:
        findings.errors.append(said.kind_mismatch(place, sidecar.id, sidecar.type))
    if sidecar.stage and sidecar.type != "feature":
        findings.errors.append(issue("SchemaNot", "Stage is only allowed on feature objects.", place, "/stage"))
    if sidecar.status not in STATUSES[sidecar.type]:
        findings.warnings.append(_status_mismatch(place, sidecar.type, sidecar.status))
    if isinstance(sidecar.tags, list) and len(set(sidecar.tags)) < len(sidecar.tags):
        findings.errors.append(issue("SchemaUniqueItems", "This list holds a value twice.", place, "/tags"))


def _check_body(findings: Findings, path: str, sidecar: Sidecar, plain: dict[str, Any]) -> None:
    body, place = sidecar.body_path, shown(path)
    if ".." in body.split("/") or "\\" in body:
        findings.errors.append(said.body_escapes(place))
        return
    if body != _beside(path):
        findings.errors.append(_body_elsewhere(place, shown(body), shown(_beside(path))))
    if body not in findings.files:
        findings.errors.append(said.body_missing(place, shown(body)))
        return
    found = findings.text(body)
    if found is None:
        return
    content, text = found
    if has_front_matter(text):
        findings.errors.append(
            issue("MarkdownFrontmatter", "Markdown files must not contain YAML frontmatter.", shown(body))
        )
    heading = first_heading(text)
    if heading is not None and heading != sidecar.title:
        findings.warnings.append(_title_mismatch(place, sidecar.title, heading))
    if "content_hash" in plain and follows_tool(plain, content) is None:
        findings.warnings.append(_hash_mismatch(place, "Object"))


def _beside(path: str) -> str:
    return path.removesuffix(".json") + ".md"


def _status_mismatch(path: str, kind: str, status: str) -> dict[str, Any]:
    """A status that the kind does not use."""
    message = f"The status `{status}` is not one that a {kind} uses."
    return issue("ObjectStatusMismatch", message, path, "/status")


def _body_elsewhere(path: str, body: str, expected: str) -> dict[str, Any]:
    """A sidecar whose text lies beside another."""
    message = f"The text of this node is said to be `{body}`; it belongs in `{expected}`."
    return issue("ObjectBodyPathMismatch", message, path, "/body_path")


def _sidecar_missing(path: str) -> dict[str, Any]:
    """A text that belongs to no node."""
    message = "This text has no sidecar that names it, so that no command sees it. Give it one, or remove it."
    return issue("ObjectSidecarMissing", message, path)


def _title_mismatch(path: str, title: str, heading: str) -> dict[str, Any]:
    """A text whose heading is not the title."""
    message = f"The first heading of the text is `{heading}`, the title is `{title}`."
    return issue("ObjectTitleH1Mismatch", message, path, "/title")


def _hash_mismatch(path: str, what: str) -> dict[str, Any]:
    """A hash that fits neither rule; `what` is `Object` or `Relation`."""
    message = "The hash is not that of the present content: it was edited by hand. The next save of it mends that."
    return issue(f"{what}ContentHashMismatch", message, path, "/content_hash")


def _replacement_missing(path: str, replacement: str | None) -> dict[str, Any]:
    """A superseded node that does not say by what, or by nothing there is."""
    said = f"`{replacement}`, which is not there" if replacement else "nothing that it names"
    return issue("ObjectSupersededReplacementMissing", f"This node is superseded by {said}.", path, "/superseded_by")


def _too_related(path: str, count: int, total: int) -> dict[str, Any]:
    """A store whose relations mostly say that there is some."""
    message = f"{count} of {total} relations are `related_to`; a predicate that says how would tell more."
    return issue("RelationRelatedToExcessive", message, path, "/predicate")
