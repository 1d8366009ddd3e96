"""A save as a list of changes, each with the id of its node: what the answer shows, and what is planned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from memglot.project.anchors import check_anchors
from memglot.project.save import messages as said
from memglot.project.save.intent import Intent, NodeIntent
from memglot.project.save.messages import conflict_markers, invalid_save
from memglot.project.snapshot import Snapshot
from memglot.project.storage.errors import ProjectError, issue, schema_failed
from memglot.project.storage.ids import kind_of, node_id
from memglot.project.storage.markdown import has_front_matter
from memglot.project.storage.merge_markers import conflict_line
from memglot.project.storage.secrets import secrets_in
from memglot.project.storage.vocabulary import SAVED_KINDS, STATUSES, TAG

MAX_BODY = 1 << 20
"""How many bytes the text of one node may have."""
_TAG = re.compile(TAG)
_OPTIONAL = ("title", "body", "stage", "status", "anchors", "tags", "evidence")
Change = dict[str, Any]


def changes_of(intent: Intent, snapshot: Snapshot) -> list[Change]:
    """The changes that a save asks for, in the order they are made. Raises `ProjectError`."""
    made: set[str] = set()
    changes = [change for node in intent.nodes for change in _of_node(node, snapshot, made)]
    for item in intent.stale:
        changes.append({"op": "mark_stale", "id": item.id, "reason": item.reason})
    for item in intent.supersede:
        changes.append(
            {"op": "supersede_object", "id": item.id, "superseded_by": item.superseded_by, "reason": item.reason}
        )
    for item in intent.delete:
        if kind_of(item.id) == "project":
            raise _project_stays(f"{item.field}.id", item.id)
        changes.append({"op": "delete_object", "id": item.id, "reason": item.reason})
    return changes


def _of_node(node: NodeIntent, snapshot: Snapshot, made: set[str]) -> list[Change]:
    known = snapshot.node(node.id) if node.id is not None else None
    change = _update(node, known.kind) if known is not None else _create(node, snapshot, made)
    if change["op"] == "create_object":
        made.add(change["id"])
    related = [
        {"op": "create_relation", "from": change["id"], "predicate": item.predicate, "to": item.to}
        | ({"confidence": item.confidence} if item.confidence else {})
        for item in node.related
    ]
    # A node that only gets relations is not touched itself.
    return [change, *related] if len(change) > 2 else related


def _update(node: NodeIntent, kind: str) -> Change:
    if node.kind is not None and node.kind != kind:
        raise invalid_save(said.KIND_DIFFERS, f"{node.field}.kind", id=node.id, existing_type=kind)
    if node.stage is not None and kind != "feature":
        raise invalid_save(said.STAGE_NOT_ALLOWED, f"{node.field}.stage", id=node.id, existing_type=kind)
    change = {"op": "update_object", "id": node.id, **_given(node, kind)}
    if len(change) == 2 and not node.related:
        raise invalid_save(said.NO_CHANGE, node.field, id=node.id)
    return change


def _create(node: NodeIntent, snapshot: Snapshot, made: set[str]) -> Change:
    kind = _kind_of_new(node)
    for name in ("title", "body"):
        if getattr(node, name) is None:
            raise invalid_save(f"Save node {name} is required when creating memory.", f"{node.field}.{name}")
    if node.stage is not None and kind != "feature":
        raise invalid_save(said.STAGE_NOT_ALLOWED, f"{node.field}.stage", kind=kind)

    def taken(id: str) -> bool:
        return id in made or snapshot.node(id) is not None

    id = node.id if node.id is not None else node_id(kind, node.title or "", taken)
    return {"op": "create_object", "id": id, "type": kind, **_given(node, kind)}


def _kind_of_new(node: NodeIntent) -> str:
    prefix = kind_of(node.id) if node.id is not None else None
    if node.kind is None and prefix is None:
        raise invalid_save(said.KIND_NEEDED, f"{node.field}.kind", allowed=list(SAVED_KINDS))
    if node.kind is None and prefix not in SAVED_KINDS:
        raise invalid_save(said.NOT_CREATABLE, f"{node.field}.id", id=node.id, allowed=list(SAVED_KINDS))
    if node.kind is not None and prefix not in (None, node.kind):
        raise invalid_save(said.PREFIX_DIFFERS, f"{node.field}.id", id=node.id, kind=node.kind)
    return node.kind or prefix or ""


def _given(node: NodeIntent, kind: str) -> Change:
    allowed = [status for status in STATUSES[kind] if status != "superseded"]
    if node.status is not None and node.status not in allowed:
        raise invalid_save(said.STATUS, f"{node.field}.status", allowed=allowed)
    return {name: getattr(node, name) for name in _OPTIONAL if getattr(node, name) is not None}


def check_contents(task: str, changes: list[Change]) -> list[str]:
    """Refuse what must not be kept, with its place; tells what is only suspicious. Raises `ProjectError`."""
    warnings, blocked = [], []
    for field, text in (("/source/task", task), *_texts(changes)):
        for finding in secrets_in(text):
            if finding.severity == "block":
                blocked.append(
                    issue("MemorySecretDetected", finding.message, f"<patch>:{finding.line}", field)
                    | {"line": finding.line}
                )
            else:
                warnings.append(f"{finding.message} In {field}, line {finding.line}.")
    if blocked:
        raise _secrets_found(blocked)
    for number, change in enumerate(changes):
        _check_body(change.get("body", ""), f"/changes/{number}/body")
        for place, tag in enumerate(change.get("tags", ())):
            if not _TAG.fullmatch(tag):
                raise schema_failed(
                    [
                        issue(
                            "SchemaPattern", f'must match pattern "{TAG}"', "<patch>", f"/changes/{number}/tags/{place}"
                        )
                    ]
                )
        if "anchors" in change:
            change["anchors"] = check_anchors(change["anchors"], f"/changes/{number}/anchors")
    return warnings


def _check_body(body: str, field: str) -> None:
    if (length := len(body.encode())) > MAX_BODY:
        raise _body_too_long(field, length, MAX_BODY)
    if (line := conflict_line(body)) is not None:
        raise conflict_markers(field, line)
    if has_front_matter(body):
        raise _front_matter(field)


def _texts(changes: list[Change]) -> Iterator[tuple[str, str]]:
    """Every text of the changes that a person wrote, with its place."""
    for number, change in enumerate(changes):
        for key, value in change.items():
            if key in ("op", "type", "stage", "status", "predicate", "confidence"):
                continue
            items = value if isinstance(value, list) else [value]
            for place, item in enumerate(items):
                text = item["id"] if isinstance(item, dict) else item
                yield f"/changes/{number}/{key}" + (f"/{place}" if isinstance(value, list) else ""), text


def _secrets_found(issues: Sequence[dict[str, Any]]) -> ProjectError:
    """Something that looks like a secret; it is never repeated."""
    places = ", ".join(f"{found['field']} line {found['line']}" for found in issues)
    details = {"issues": list(issues)}
    return ProjectError("MemorySecretDetected", f"Secret material detected: {places}.", details)


def _body_too_long(field: str, length: int, limit: int) -> ProjectError:
    """A text that is no note any more."""
    message = (
        f"The body has {length:,} bytes; at most {limit:,} fit in one node. Split it, or link the file as evidence."
    )
    return invalid_save(message, field, limit=limit, actual=length)


def _front_matter(field: str) -> ProjectError:
    """A text that begins with YAML."""
    told = issue("MarkdownFrontmatter", "Markdown files must not contain YAML frontmatter.", "<patch>", field)
    return schema_failed([told])


def _project_stays(field: str, id: str) -> ProjectError:
    """The project node is what the store is about."""
    message = "The project node cannot be deleted; change it by its id, or `memglot repo reset` the whole memory."
    return invalid_save(message, field, id=id)
