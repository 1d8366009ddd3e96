"""Turn a save request into a list of changes, each with the id of its node, and check their contents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from memglot.project.save.errors import conflict_markers, invalid_save
from memglot.project.save.parse import trimmed
from memglot.project.save.request import FullSaveNode, FullSaveRequest
from memglot.project.snapshot import Snapshot
from memglot.project.storage.anchors import check_anchors
from memglot.project.storage.errors import ProjectError, issue, schema_failed
from memglot.project.storage.ids import kind_of, node_id
from memglot.project.storage.markdown import has_front_matter
from memglot.project.storage.merge_markers import conflict_line
from memglot.project.storage.node import Node
from memglot.project.storage.secrets import find_secrets
from memglot.project.storage.vocabulary import SAVED_KINDS, STATUSES, TAG

MAX_BODY = 1 << 20
"""Maximum size of a node's text, in bytes."""
_TAG = re.compile(TAG)
_STAGE_NOT_ALLOWED = "Stage is only allowed on feature objects."
_OPTIONAL = ("title", "body", "stage", "status", "anchors", "tags", "evidence")
Change = dict[str, Any]


def changes_of(request: FullSaveRequest, snapshot: Snapshot) -> list[Change]:
    """Return the changes that a checked request asks for, in the order they are made. Raise `ProjectError`."""
    created: set[str] = set()
    changes: list[Change] = []
    for number, node in enumerate(request.nodes or ()):
        changes += _node_changes(node, f"nodes.{number}", snapshot, created)
    for stale in request.stale or ():
        changes.append({"op": "mark_stale", "id": stale.id, "reason": stale.reason})
    for old in request.supersede or ():
        replaced = {"id": old.id, "superseded_by": old.superseded_by, "reason": old.reason}
        changes.append({"op": "supersede_object", **replaced})
    for number, deleted in enumerate(request.delete or ()):
        if kind_of(deleted.id) == "project":
            message = "The project node cannot be deleted. Change it by its id, or run `memglot repo reset`."
            raise invalid_save(message, f"delete.{number}.id", id=deleted.id)
        changes.append({"op": "delete_object", "id": deleted.id, "reason": deleted.reason})
    return changes


def _node_changes(node: FullSaveNode, field: str, snapshot: Snapshot, created: set[str]) -> list[Change]:
    known = snapshot.node(node.id) if node.id is not None else _same_node(node, snapshot, created)
    if known is not None:
        created.add(known.id)
        node = msgspec.structs.replace(node, id=known.id)
    change = _update(node, field, known.kind) if known is not None else _create(node, field, snapshot, created)
    if change["op"] == "create_object":
        created.add(change["id"])
    related = [
        {"op": "create_relation", "from": change["id"], "predicate": item.predicate, "to": item.to}
        | ({"confidence": item.confidence} if item.confidence else {})
        for item in node.related or ()
    ]
    # A node that only gets relations is not changed itself.
    return [change, *related] if len(change) > 2 else related


def _same_node(node: FullSaveNode, snapshot: Snapshot, used: set[str]) -> Node | None:
    """Return the node that a save without ids created already, so that it can be repeated after it was killed."""
    if node.kind is None or node.title is None or node.body is None:
        return None

    def is_another(id: str) -> bool:
        found = snapshot.node(id)
        return id in used or found is not None and not is_same(found)

    def is_same(found: Node) -> bool:
        is_as_new = found.status == (node.status or STATUSES[found.kind][0])
        return is_as_new and found.title == node.title and trimmed(snapshot.body(found)) == node.body

    return snapshot.node(node_id(node.kind, node.title, is_another))


def _update(node: FullSaveNode, field: str, kind: str) -> Change:
    if node.kind is not None and node.kind != kind:
        message = "Save node kind does not match the existing object type."
        raise invalid_save(message, f"{field}.kind", id=node.id, existing_type=kind)
    if node.stage is not None and kind != "feature":
        raise invalid_save(_STAGE_NOT_ALLOWED, f"{field}.stage", id=node.id, existing_type=kind)
    change = {"op": "update_object", "id": node.id, **_given_fields(node, field, kind)}
    if len(change) == 2 and not node.related:
        message = "Save node update must include at least one field to change or a related link."
        raise invalid_save(message, field, id=node.id)
    return change


def _create(node: FullSaveNode, field: str, snapshot: Snapshot, created: set[str]) -> Change:
    kind = _kind_of_new(node, field)
    for name in ("title", "body"):
        if getattr(node, name) is None:
            raise invalid_save(f"Save node {name} is required when creating memory.", f"{field}.{name}")
    if node.stage is not None and kind != "feature":
        raise invalid_save(_STAGE_NOT_ALLOWED, f"{field}.stage", kind=kind)

    def is_taken(id: str) -> bool:
        return id in created or snapshot.node(id) is not None

    id = node.id if node.id is not None else node_id(kind, node.title or "", is_taken)
    return {"op": "create_object", "id": id, "type": kind, **_given_fields(node, field, kind)}


def _kind_of_new(node: FullSaveNode, field: str) -> str:
    prefix = kind_of(node.id) if node.id is not None else None
    if node.kind is None and prefix is None:
        message = "Save node kind is required when creating memory."
        raise invalid_save(message, f"{field}.kind", allowed=list(SAVED_KINDS))
    if node.kind is None and prefix not in SAVED_KINDS:
        message = "Save node id does not resolve to an existing object and its prefix is not a creatable kind."
        raise invalid_save(message, f"{field}.id", id=node.id, allowed=list(SAVED_KINDS))
    if node.kind is not None and prefix not in (None, node.kind):
        message = "Save node id prefix must match the node kind."
        raise invalid_save(message, f"{field}.id", id=node.id, kind=node.kind)
    return node.kind or prefix or ""


def _given_fields(node: FullSaveNode, field: str, kind: str) -> Change:
    allowed = [status for status in STATUSES[kind] if status != "superseded"]
    if node.status is not None and node.status not in allowed:
        raise invalid_save("Save node status is not supported.", f"{field}.status", allowed=allowed)
    given = {name: getattr(node, name) for name in _OPTIONAL if getattr(node, name) is not None}
    if node.evidence is not None:
        given["evidence"] = [{"kind": item.kind, "id": item.id} for item in node.evidence]
    return given


def check_contents(task: str, changes: list[Change]) -> list[str]:
    """Raise `ProjectError` for contents that must not be stored; return warnings for suspicious ones."""
    warnings, blocked = [], []
    for field, text in (("/source/task", task), *_texts(changes)):
        for finding in find_secrets(text):
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
                message, field = f'must match pattern "{TAG}"', f"/changes/{number}/tags/{place}"
                raise schema_failed([issue("SchemaPattern", message, "<patch>", field)])
        if "anchors" in change:
            change["anchors"] = check_anchors(change["anchors"], f"/changes/{number}/anchors")
    return warnings


def _check_body(body: str, field: str) -> None:
    if (length := len(body.encode())) > MAX_BODY:
        message = f"The body has {length:,} bytes; the maximum is {MAX_BODY:,}. Split it, or link a file as evidence."
        raise invalid_save(message, field, limit=MAX_BODY, actual=length)
    if (line := conflict_line(body)) is not None:
        raise conflict_markers(field, line)
    if has_front_matter(body):
        message = "Markdown files must not contain YAML frontmatter."
        raise schema_failed([issue("MarkdownFrontmatter", message, "<patch>", field)])


def _texts(changes: list[Change]) -> Iterator[tuple[str, str]]:
    """Yield the path and value of every free text in the changes."""
    for number, change in enumerate(changes):
        for key, value in change.items():
            if key in ("op", "type", "stage", "status", "predicate", "confidence"):
                continue
            items = value if isinstance(value, list) else [value]
            for place, item in enumerate(items):
                text = item["id"] if isinstance(item, dict) else item
                yield f"/changes/{number}/{key}" + (f"/{place}" if isinstance(value, list) else ""), text


def _secrets_found(issues: Sequence[dict[str, Any]]) -> ProjectError:
    """Return the error for text that looks like a secret, without the text."""
    places = ", ".join(f"{found['field']} line {found['line']}" for found in issues)
    details = {"issues": list(issues)}
    return ProjectError("MemorySecretDetected", f"Secret material detected: {places}.", details)
