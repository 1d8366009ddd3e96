"""A trace as a row of a brain; column values that cannot be rebuilt from the record are kept."""

from __future__ import annotations

import re
from hashlib import sha256
from math import isfinite
from typing import Any

import msgspec

from memglot.errors import BadRecord
from memglot.formats.agentos.other_tables import column_value, json_value
from memglot.formats.agentos.sqlite_schema import TRACES, required_columns
from memglot.formats.core.carry import KEY, is_slot
from memglot.formats.core.trace import PROGRAM, Trace, native_trace
from memglot.formats.core.trace_fields import parse_trace
from memglot.model import EARLIEST, LATEST, Record, canonical, canonical_value, check_value
from memglot.model.record_errors import wrong_type

BYTES_KEY = "agentos.sqlite"
COLUMNS = (
    "id",
    "type",
    "scope",
    "content",
    "embedding",
    "strength",
    "created_at",
    "last_accessed",
    "retrieval_count",
    "tags",
    "emotions",
    "metadata",
    "deleted",
)
DEFAULTS = {"type": "'episodic'", "scope": "'user'", "strength": "1.0", "retrieval_count": "0", "deleted": "0"}
DEFAULTS |= {"tags": "'[]'", "emotions": "'{}'", "metadata": "'{}'"}
_FIELDS = {column: column for column in COLUMNS}
_PLACE = {column: number for number, column in enumerate(COLUMNS)}
_JSON = ("tags", "emotions", "metadata")
_TEXT = frozenset({"type", "scope", *_JSON})
_NUMBERS = frozenset({"strength", "created_at", "last_accessed", "retrieval_count", "deleted"})
# The order in which AgentOS writes them; unknown keys follow, sorted.
_DECAY = ("stability", "accessCount", "reinforcementInterval", "nextReinforcementAt")
_EMOTIONS = ("valence", "arousal", "dominance", "intensity", "gmiMood")
_EARLIEST, _LATEST = EARLIEST // 1000, LATEST // 1000
_LONG = 150
_INTEGERS = range(-(1 << 63), 1 << 63)
_NUMERIC = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_encode = msgspec.json.Encoder().encode
TraceRow = list[Any]
"""The values of `COLUMNS`."""


def trace_row(trace: Trace) -> TraceRow:
    """Return the row of a trace."""
    return [
        trace.id,
        trace.type,
        trace.scope,
        trace.content,
        trace.embedding,
        trace.strength,
        (trace.created_at or 0) // 1000,
        None if trace.last_accessed is None else trace.last_accessed // 1000,
        trace.retrieval_count,
        canonical_value(trace.tags).decode() if trace.tags else "[]",
        _encode(_ordered(trace.emotions, _EMOTIONS)).decode() if trace.emotions else "{}",
        _metadata_text(trace.metadata),
        int(trace.deleted),
    ]


def _metadata_text(metadata: dict[str, Any]) -> str:
    """Return metadata as JSON text: its keys in their order, nested keys sorted."""
    return _encode({key: _inside(value, _DECAY if key == "decay" else ()) for key, value in metadata.items()}).decode()


def _inside(value: Any, first: tuple[str, ...] = ()) -> Any:
    if isinstance(value, dict):
        return _ordered(value, first)
    return msgspec.Raw(canonical_value(value)) if isinstance(value, list) else value


def _ordered(value: dict[str, Any], first: tuple[str, ...]) -> dict[str, Any]:
    keys = [key for key in first if key in value] + sorted(key for key in value if key not in first)
    return {key: _inside(value[key]) for key in keys}


class _Usual(msgspec.Struct, array_like=True, gc=False):
    """A row with the types that AgentOS writes."""

    id: str
    type: str
    scope: str
    content: str
    embedding: bytes | None
    strength: float
    created_at: int
    last_accessed: int | None
    retrieval_count: int
    tags: str
    emotions: str
    metadata: str
    deleted: int


_strings = msgspec.json.Decoder(list[str]).decode
_object = msgspec.json.Decoder(dict[str, Any]).decode


def _quick(row: TraceRow) -> Trace | None:
    """Return the trace of a row with the usual types; `None` if it needs `parse_row`."""
    try:
        usual = msgspec.convert(row, _Usual)
        tags = _strings(usual.tags) if usual.tags != "[]" else []
        emotions = _object(usual.emotions) if usual.emotions != "{}" else {}
        metadata = _object(usual.metadata) if usual.metadata != "{}" else {}
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    embedding = usual.embedding
    if embedding is not None and (embedding[:1] == b"[" or len(embedding) % 4):
        return None
    if (
        not isfinite(usual.strength)
        or not _EARLIEST <= usual.created_at <= _LATEST
        or not _EARLIEST <= (usual.last_accessed or 0) <= _LATEST
    ):
        return None
    for text in (usual.id, usual.type, usual.scope, *tags):
        if "\0" in text:
            return None
    if len(usual.emotions) + len(usual.metadata) > _LONG:
        # Only a long text can be nested too deeply.
        check_value(emotions, "emotions")
        check_value(metadata, "metadata")
    return Trace(
        id=usual.id,
        type=usual.type,
        scope=usual.scope,
        content=usual.content,
        strength=usual.strength,
        tags=tags,
        emotions=emotions,
        metadata=metadata,
        created_at=usual.created_at * 1000,
        last_accessed=None if usual.last_accessed is None else usual.last_accessed * 1000,
        retrieval_count=usual.retrieval_count,
        deleted=bool(usual.deleted),
        embedding=embedding,
    )


def parse_row(row: TraceRow) -> Trace:
    """Return the trace of a row; raise `BadRecord`. Invalid JSON is read as empty."""
    if (trace := _quick(row)) is not None:
        return trace
    data = dict(zip(COLUMNS, row, strict=True))
    for column, value in data.items():
        if isinstance(value, bytes) and column != "embedding" and column not in _JSON:
            raise wrong_type(column, "text" if column not in _NUMBERS else "a number", "bytes")
    data["embedding"] = _vector(data["embedding"])
    try:
        trace = parse_trace(data, _FIELDS)
    except BadRecord:
        for column in _JSON:
            if not _is_readable(column, data[column]):
                data[column] = None
        trace = parse_trace(data, _FIELDS)
    # The value of the column itself is kept.
    trace.inexact = []
    return trace


def _is_readable(column: str, value: Any) -> bool:
    try:
        parse_trace({"content": "x", column: value}, _FIELDS)
    except BadRecord:
        return False
    return not isinstance(value, bytes)


def _vector(value: Any) -> bytes | None:
    """Return a vector as bytes, from bytes or the JSON of older AgentOS versions; `None` for anything else."""
    if isinstance(value, bytes) and not value.startswith(b"["):
        return value if len(value) % 4 == 0 else None
    if isinstance(value, (bytes, str)):
        try:
            numbers = msgspec.json.decode(value, type=list[float])
            return parse_trace({"content": "x", "embedding": numbers}, _FIELDS).embedding
        except (msgspec.MsgspecError, UnicodeError, BadRecord, RecursionError, OverflowError):
            return value if isinstance(value, bytes) and len(value) % 4 == 0 else None
    return None


def kept_columns(row: TraceRow, trace: Trace, record: Record) -> dict[str, Any]:
    """Return the columns that cannot be rebuilt from the record, each with the hash of the rebuilt value."""
    native = native_trace(record, PROGRAM)
    native.embedding = trace.embedding or None
    composed = trace_row(native)
    if composed == row:
        return {}
    found = {}
    slot = trace.metadata.get(KEY)
    has_slot = isinstance(slot, dict) and is_slot(slot)
    for column, raw, made in zip(COLUMNS, row, composed, strict=True):
        if raw != made and _survives(column, raw) and not (column == "metadata" and has_slot):
            found[column] = {"raw": json_value(raw), "of": _hash(made)}
    return found


def _survives(column: str, raw: Any) -> bool:
    """Return True if a column returns a value as it was stored."""
    if raw is None:
        return column not in required_columns(TRACES)
    if column == "embedding":
        return True
    if column in _NUMBERS:
        # SQLite converts text that looks like a number.
        return isinstance(raw, (int, float)) or isinstance(raw, str) and _NUMERIC.fullmatch(raw) is None
    return column in _TEXT and isinstance(raw, (str, bytes) if column in _JSON else str)


def restore_columns(row: TraceRow, kept: Any) -> tuple[TraceRow, dict[str, Any]]:
    """Return a row with kept values restored where the rebuilt value is unchanged, and the restored ones."""
    if not isinstance(kept, dict):
        return row, {}
    row, used = list(row), {}
    for column, entry in kept.items():
        place = _PLACE.get(column)
        if place is None or not isinstance(entry, dict) or entry.keys() != {"raw", "of"}:
            continue
        raw = entry["raw"] if isinstance(entry["raw"], (str, int, float)) else column_value(entry["raw"])
        if _survives(column, raw) and entry["of"] == _hash(row[place]) and not isinstance(raw, bool):
            row[place], used[column] = raw, entry
    return row, used


def _hash(value: Any) -> str:
    return sha256(canonical(json_value(value))).hexdigest()[:16]


def fits_column(value: Any) -> bool:
    """Return True if an untyped column returns a JSON value as it was stored."""
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int):
        return value in _INTEGERS
    if isinstance(value, dict):
        return value.keys() == {"base64"} and json_value(column_value(value)) == value
    return isinstance(value, (str, float))
