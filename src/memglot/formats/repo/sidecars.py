"""The files of a memory as a node: as they were, where it still says what they said; else laid out anew."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from memglot.errors import BadRecord
from memglot.formats.repo.nodes import FALLBACK_KIND, OWN, RESIDUE, TIMES, TOLD, TOOL, NodeFiles, digest_of, utc_text
from memglot.model import Record, parse_time
from memglot.project.storage import shapes, vocabulary
from memglot.project.storage.hashes import body_hash, node_hash, stable_json
from memglot.project.storage.ids import kind_of

_TAG = re.compile(vocabulary.TAG)
_TITLE = 80


class WrittenNode(NamedTuple):
    """A memory as the two files of a node."""

    node: NodeFiles
    raw: bytes
    """The sidecar."""
    made: dict[str, Any]
    """Fields that the sidecar needs and the memory does not have, or has with a value that is not allowed there."""


class _Residue(msgspec.Struct, omit_defaults=True):
    """What may be known of the bytes of a node."""

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
    """What is known of the bytes of a memory's node; empty where it was none, or where it makes no sense."""
    found = record.extra.get(RESIDUE)
    if not isinstance(found, dict):
        return {}
    try:
        known: dict[str, Any] = msgspec.to_builtins(msgspec.convert(found, _Residue))
    except msgspec.ValidationError:
        return {}
    return known


def is_unchanged(record: Record) -> bool:
    """Tell whether a memory still says what its node said when it was read."""
    residue = residue_of(record)
    place = residue.get("path", "")
    for foreign in record.foreign:
        if foreign.tool == TOOL:
            fields = _as_it_was(record, foreign.id, _body_path(residue, place))
            if residue.get("of") == digest_of(fields, _body(record)):
                return True
    return False


class NodePlan(NamedTuple):
    """What is settled of a node before its memory is looked at."""

    id: str
    place: str
    body_path: str
    tool_hash: bool
    """Whether a new node is hashed by the real tool's rule."""
    title: str | None = None
    """What it is called if its memory has no title."""
    newer: str | None = None
    """The node that replaced it."""


def node_of(record: Record, wanted: NodePlan) -> WrittenNode:
    """The files of a memory."""
    id, place, body_path, tool_hash, *_ = wanted
    residue, body = residue_of(record), _body(record)
    by_tool = residue.get("rule") == "tool" if residue else tool_hash
    fields = _as_it_was(record, id, body_path)
    made: dict[str, Any] = {}
    untouched = bool(residue) and residue.get("of") == digest_of(fields, body)
    if untouched and "text" in residue:
        raw = residue["text"].encode()
        return WrittenNode(NodeFiles(_decoded(raw, fields), body, place), raw, made)
    if not untouched:
        fields, made = _fields(record, wanted)
    fields["content_hash"] = node_hash(fields, body) if by_tool else body_hash(body)
    return WrittenNode(NodeFiles(fields, body, place), stable_json(fields), made)


def _decoded(raw: bytes, fallback: dict[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return fallback
    return found


def _body_path(residue: dict[str, Any], place: str) -> str:
    return str(residue.get("body") or f"{place}.md")


def _body(record: Record) -> bytes:
    # A node without a text has its title as content, and still has while nobody changed either.
    empty = record.content == residue_of(record).get("empty") == record.title
    return b"" if empty else record.content.encode()


def _as_it_was(record: Record, id: str, body_path: str) -> dict[str, Any]:
    """The sidecar that a memory was read from, if nobody changed it since: whatever it said was there before."""
    residue, own = residue_of(record), record.extra.get(TOOL)
    unknown = residue.get("unknown", ())
    fields = _times(record, residue) | {"id": id, "body_path": body_path, "evidence": []}
    fields |= {"type": record.kind, "status": record.status, "title": record.title}
    fields["tags"] = _told_tags(record, residue)
    if record.source:
        fields["source"] = record.source
    if isinstance(own, dict):
        fields |= {key: value for key, value in own.items() if key in OWN or key in unknown and key not in TOLD}
    _leave_out(fields, residue)
    return fields


def _fields(record: Record, wanted: NodePlan) -> tuple[dict[str, Any], dict[str, Any]]:
    """The sidecar of a memory, all but its hash, and which of its fields are made up: only what is allowed there."""
    residue, own = residue_of(record), record.extra.get(TOOL)
    kind = _kind(record, wanted.id)
    allowed = vocabulary.STATUSES[kind]
    fields = _times(record, residue) | {"id": wanted.id, "type": kind, "body_path": wanted.body_path, "evidence": []}
    fields["title"] = record.title or wanted.title or title_of(record)
    fields["status"] = record.status if record.status in allowed else allowed[0]
    fields["tags"] = [tag for tag in record.tags if _TAG.fullmatch(tag)]
    if record.source and _fits(record.source, shapes.SidecarSource):
        fields["source"] = record.source
    for key, value in own.items() if isinstance(own, dict) else ():
        if key in OWN and _fits(value, OWN[key]) and (key != "stage" or kind == "feature"):
            fields[key] = value
    made = {
        name: fields[name]
        for name, true in (
            *(("type", record.kind), ("title", record.title)),
            *(("status", record.status), ("tags", record.tags)),
        )
        if fields[name] != true
    }
    if wanted.newer is not None and fields["status"] == "superseded" and "superseded_by" not in fields:
        made["superseded_by"] = fields["superseded_by"] = wanted.newer
    _leave_out(fields, residue)
    return fields, made


def _times(record: Record, residue: dict[str, Any]) -> dict[str, Any]:
    return {name: _spelling(residue.get(name), getattr(record, name)) for name in TIMES}


def _leave_out(fields: dict[str, Any], residue: dict[str, Any]) -> None:
    """Do without empty lists that were not there."""
    for name in residue.get("without", ()):
        if name in ("tags", "evidence") and not fields[name]:
            del fields[name]


def _told_tags(record: Record, residue: dict[str, Any]) -> list[str]:
    told: list[str] = residue.get("tags", [])
    return told if list(dict.fromkeys(told)) == record.tags else record.tags


def _kind(record: Record, id: str) -> str:
    return kind_of(id) if kind_of(id) in vocabulary.KINDS else kind_for(record)


def kind_for(record: Record) -> str:
    """The kind of a new node; the project's own node is made by `init`, and never out of any other memory."""
    return record.kind if record.kind in vocabulary.SAVED_KINDS else FALLBACK_KIND


def _spelling(told: str | None, at: int) -> str:
    """How a time was utc_text, where that is still the same time."""
    try:
        if told and parse_time(told) == at:
            return told
    except BadRecord:
        pass
    return utc_text(at)


def _fits(value: Any, shape: Any) -> bool:
    try:
        # What is written is the value itself, so nothing of it may be lost on the way.
        return bool(msgspec.to_builtins(msgspec.convert(value, shape)) == value)
    except (msgspec.ValidationError, TypeError, ValueError):
        return False


def title_of(record: Record) -> str:
    """A title for a memory that has none: the first words of its text."""
    words_of = record.content.replace("#", " ").split()
    found = ""
    for word in words_of:
        if found and len(found) + 1 + len(word) > _TITLE:
            break
        found = f"{found} {word}".strip()
    return found[:_TITLE] or "Untitled"
