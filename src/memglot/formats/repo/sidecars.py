"""Convert a memory to the files of a node: unchanged if the memory is, else written again."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from memglot.errors import BadRecord
from memglot.formats.core.original_text import original_content
from memglot.formats.repo.nodes import (
    BYTES_KEY,
    FALLBACK_KIND,
    MODEL_FIELDS,
    TIMES,
    TOOL,
    TOOL_FIELDS,
    NodeFiles,
    digest_of,
    utc_text,
)
from memglot.model import Record, parse_time
from memglot.project.storage import shapes, vocabulary
from memglot.project.storage.hashes import body_hash, node_hash, stable_json
from memglot.project.storage.ids import kind_of
from memglot.project.storage.markdown import accepted_body

_TAG = re.compile(vocabulary.TAG)
_MAX_TITLE = 80


class WrittenNode(NamedTuple):
    """The two files of a memory's node."""

    node: NodeFiles
    raw: bytes
    """Bytes of the sidecar."""
    made: dict[str, Any]
    """Fields that the sidecar requires and the memory does not have, or has with a value that is not allowed."""


class _Residue(msgspec.Struct, omit_defaults=True):
    """What a memory may record about the bytes of its node."""

    path: str = ""
    of: str = ""
    body: str = ""
    type: str = ""
    tags: list[str] = []
    created_at: str = ""
    updated_at: str = ""
    without: list[str] = []
    unknown: list[str] = []
    empty: str = ""
    rule: str = ""
    text: str = ""


def residue_of(record: Record) -> dict[str, Any]:
    """Return what a memory records about the bytes of its node; empty if that is missing or invalid."""
    found = record.extra.get(BYTES_KEY)
    if not isinstance(found, dict):
        return {}
    try:
        known: dict[str, Any] = msgspec.to_builtins(msgspec.convert(found, _Residue))
    except msgspec.ValidationError:
        return {}
    return known


def is_unchanged(record: Record) -> bool:
    """Return True if a memory has not changed since its node was read."""
    residue = residue_of(record)
    place = residue.get("path", "")
    for foreign in record.foreign:
        if foreign.tool == TOOL:
            fields = _as_it_was(record, foreign.id, _body_path(residue, place))
            if any(residue.get("of") == digest_of(fields, body) for body in _bodies(record)):
                return True
    return False


class NodePlan(NamedTuple):
    """What is decided about a node before its memory is converted."""

    id: str
    place: str
    body_path: str
    tool_hash: bool
    """True if the node is hashed by the original tool's rule."""
    title: str | None = None
    """Title to use if the memory has none."""
    newer: str | None = None
    """Id of the node that supersedes it."""


def node_of(record: Record, plan: NodePlan) -> WrittenNode:
    """Return the files of a memory's node."""
    id, place, body_path, tool_hash, *_ = plan
    residue, (plain, body) = residue_of(record), _bodies(record)
    fields = _as_it_was(record, id, body_path)
    made: dict[str, Any] = {}
    if residue.get("of") == digest_of(fields, plain):
        # A file that others wrote is not changed only because the original tool refuses it.
        body = plain
    untouched = bool(residue) and residue.get("of") == digest_of(fields, body)
    if untouched and "text" in residue:
        raw = residue["text"].encode()
        return WrittenNode(NodeFiles(_decoded(raw, fields), body, place), raw, made)
    if not untouched:
        fields, made = _fields(record, plan)
    fields["content_hash"] = node_hash(fields, body) if tool_hash else body_hash(body)
    return WrittenNode(NodeFiles(fields, body, place), stable_json(fields), made)


def _decoded(raw: bytes, fallback: dict[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return fallback
    return found


def _body_path(residue: dict[str, Any], place: str) -> str:
    return str(residue.get("body") or f"{place}.md")


def _bodies(record: Record) -> tuple[bytes, bytes]:
    """Return the text of a node, as it is and as the original tool accepts it."""
    # The content of a node without a text is its title, as long as nobody changed either.
    if record.content == residue_of(record).get("empty") == record.title:
        return b"", b""
    content = original_content(record, TOOL, surrogates=False)
    return content.encode(), accepted_body(content).encode()


def _as_it_was(record: Record, id: str, body_path: str) -> dict[str, Any]:
    """Return the sidecar that a memory was read from, if the memory is unchanged."""
    residue, own = residue_of(record), record.extra.get(TOOL)
    unknown = residue.get("unknown", ())
    fields = _times(record, residue) | {"id": id, "body_path": body_path, "evidence": []}
    fields |= {"type": record.kind, "status": record.status, "title": record.title}
    fields["tags"] = _stored_tags(record, residue)
    if record.source:
        fields["source"] = record.source
    if isinstance(own, dict):
        fields |= {
            key: value for key, value in own.items() if key in TOOL_FIELDS or key in unknown and key not in MODEL_FIELDS
        }
    _remove_empty(fields, residue)
    return fields


def _fields(record: Record, plan: NodePlan) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a valid sidecar for a memory, without its hash, and those of its fields that are made up."""
    residue, own = residue_of(record), record.extra.get(TOOL)
    kind = _kind(record, plan.id)
    allowed = vocabulary.STATUSES[kind]
    fields = _times(record, residue) | {"id": plan.id, "type": kind, "body_path": plan.body_path, "evidence": []}
    fields["title"] = record.title or plan.title or title_of(record)
    fields["status"] = record.status if record.status in allowed else allowed[0]
    fields["tags"] = [tag for tag in record.tags if _TAG.fullmatch(tag)]
    if record.source and _fits(record.source, shapes.SidecarSource):
        fields["source"] = record.source
    for key, value in own.items() if isinstance(own, dict) else ():
        if key in TOOL_FIELDS and _fits(value, TOOL_FIELDS[key]) and (key != "stage" or kind == "feature"):
            fields[key] = value
    made = {
        name: fields[name]
        for name, value in (
            ("type", record.kind),
            ("title", record.title),
            ("status", record.status),
            ("tags", record.tags),
        )
        if fields[name] != value
    }
    if plan.newer is not None and fields["status"] == "superseded" and "superseded_by" not in fields:
        made["superseded_by"] = fields["superseded_by"] = plan.newer
    _remove_empty(fields, residue)
    return fields, made


def _times(record: Record, residue: dict[str, Any]) -> dict[str, Any]:
    return {name: _spelling(residue.get(name), getattr(record, name)) for name in TIMES}


def _remove_empty(fields: dict[str, Any], residue: dict[str, Any]) -> None:
    """Remove empty lists that the sidecar did not have."""
    for name in residue.get("without", ()):
        if name in ("tags", "evidence") and not fields[name]:
            del fields[name]


def _stored_tags(record: Record, residue: dict[str, Any]) -> list[str]:
    stored: list[str] = residue.get("tags", [])
    return stored if list(dict.fromkeys(stored)) == record.tags else record.tags


def _kind(record: Record, id: str) -> str:
    return kind_of(id) if kind_of(id) in vocabulary.KINDS else kind_for(record)


def kind_for(record: Record) -> str:
    """Return the kind of a new node; only `init` creates the project's own node."""
    return record.kind if record.kind in vocabulary.SAVED_KINDS else FALLBACK_KIND


def _spelling(stored: str | None, at: int) -> str:
    """Return how a time was written, if it is still the same time."""
    try:
        if stored and parse_time(stored) == at:
            return stored
    except BadRecord:
        pass
    return utc_text(at)


def _fits(value: Any, shape: Any) -> bool:
    try:
        # The value itself is written, so the conversion must not lose anything.
        return bool(msgspec.to_builtins(msgspec.convert(value, shape)) == value)
    except (msgspec.ValidationError, TypeError, ValueError):
        return False


def title_of(record: Record) -> str:
    """Return a title for a memory without one: the first words of its text."""
    words = record.content.replace("#", " ").split()
    found = ""
    for word in words:
        if found and len(found) + 1 + len(word) > _MAX_TITLE:
            break
        found = f"{found} {word}".strip()
    return found[:_MAX_TITLE] or "Untitled"
