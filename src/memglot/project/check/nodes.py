"""Check the nodes of project memory: their schemas, texts and hashes, and the ids that they refer to."""

from __future__ import annotations

from typing import Any

from memglot.project.check.findings import Findings
from memglot.project.storage.faults import FileFault, body_outside, missing_body
from memglot.project.storage.hashes import follows_tool
from memglot.project.storage.markdown import first_heading, has_front_matter
from memglot.project.storage.paths import NODES, memory_path
from memglot.project.storage.reader import sidecar_faults, to_sidecar
from memglot.project.storage.shapes import Sidecar
from memglot.project.storage.vocabulary import STATUSES

HASH_MISMATCH = (
    "The hash does not match the content: the file was edited by hand. `memglot repo sync --adopt` accepts it."
)


def check_nodes(findings: Findings) -> dict[str, str]:
    """Check every sidecar and every text; return the ids of nodes, each with the path of its sidecar."""
    paths: dict[str, str] = {}
    bodies: set[str] = set()
    superseded: list[tuple[str, str | None]] = []
    for path in findings.files_in(NODES, ".json"):
        fields = findings.json(path)
        # A text belongs to the sidecar next to it even if the sidecar cannot be read.
        bodies.add(_usual_body(path))
        if fields is None:
            continue
        if isinstance(fields, dict):
            bodies.add(str(fields.get("body_path")))
            check_id(findings, path, fields.get("id"), paths, "Object")
        sidecar = _sidecar(findings, path, fields)
        if sidecar is None:
            continue
        if sidecar.status == "superseded":
            superseded.append((path, sidecar.superseded_by or None))
        _check_sidecar(findings, path, sidecar)
        _check_body(findings, path, sidecar, fields)
    _check_replacements(findings, superseded, paths)
    for path in findings.files_in(NODES, ".md"):
        if path not in bodies:
            message = "No sidecar names this text, so no command sees it. Add a sidecar, or remove the text."
            findings.warn("ObjectSidecarMissing", message, path)
            findings.text(path)
    return paths


def _sidecar(findings: Findings, path: str, fields: Any) -> Sidecar | None:
    if isinstance(fields, dict) and "content_hash" not in fields:
        message = "Required field is missing: content_hash."
        findings.error("ObjectContentHashMissing", message, path, "/content_hash")
        fields = fields | {"content_hash": "none"}
    try:
        return to_sidecar(path, fields)
    except FileFault as fault:
        findings.add_error(fault)
        return None


def check_id(findings: Findings, path: str, id: object, paths: dict[str, str], what: str) -> None:
    """Report an id that another file uses already."""
    if not isinstance(id, str):
        return
    first = paths.setdefault(id, path)
    if first != path:
        message = f"The id `{id}` is already used by `{memory_path(first)}`."
        findings.error(f"{what}IdDuplicate", message, path, "/id")


def _check_sidecar(findings: Findings, path: str, sidecar: Sidecar) -> None:
    for fault in sidecar_faults(path, sidecar):
        findings.add_error(fault)
    if sidecar.stage and sidecar.type != "feature":
        findings.error("SchemaNot", "Stage is only allowed on feature objects.", path, "/stage")
    if sidecar.status not in STATUSES[sidecar.type]:
        message = f"The status `{sidecar.status}` is not used for nodes of type `{sidecar.type}`."
        findings.warn("ObjectStatusMismatch", message, path, "/status")
    if isinstance(sidecar.tags, list) and len(set(sidecar.tags)) < len(sidecar.tags):
        findings.error("SchemaUniqueItems", "This list contains a value more than once.", path, "/tags")


def _check_body(findings: Findings, path: str, sidecar: Sidecar, fields: dict[str, Any]) -> None:
    body = sidecar.body_path
    if ".." in body.split("/") or "\\" in body:
        findings.add_error(body_outside(path, body))
        return
    if body != _usual_body(path):
        message = f"The text of this node is `{memory_path(body)}`; it belongs in `{memory_path(_usual_body(path))}`."
        findings.error("ObjectBodyPathMismatch", message, path, "/body_path")
    if body not in findings.files:
        findings.add_error(missing_body(path, body))
        return
    found = findings.text(body)
    if found is None:
        return
    content, text = found
    if has_front_matter(text):
        findings.error("MarkdownFrontmatter", "Markdown files must not contain YAML frontmatter.", body)
    heading = first_heading(text)
    if heading is not None and heading != sidecar.title:
        message = f"The first heading of the text is `{heading}`, the title is `{sidecar.title}`."
        findings.warn("ObjectTitleH1Mismatch", message, path, "/title")
    if "content_hash" in fields and follows_tool(fields, content) is None:
        findings.warn("ObjectContentHashMismatch", HASH_MISMATCH, path, "/content_hash")


def _check_replacements(findings: Findings, superseded: list[tuple[str, str | None]], nodes: dict[str, str]) -> None:
    for path, replacement in superseded:
        if replacement not in nodes:
            message = "This node is superseded, but does not say by which node."
            if replacement:
                message = f"This node is superseded by `{replacement}`, which does not exist."
            findings.warn("ObjectSupersededReplacementMissing", message, path, "/superseded_by")


def _usual_body(path: str) -> str:
    return path.removesuffix(".json") + ".md"
