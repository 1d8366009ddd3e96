"""Parsing of trace fields: two naming styles, JSON as text, ISO times."""

import re
from base64 import b64decode
from binascii import Error as BadBase64
from decimal import Decimal
from typing import Any

import msgspec

from memglot.formats.core.trace import Trace
from memglot.formats.core.vectors import vector_of
from memglot.formats.syntax.json_shape import type_name
from memglot.model import EARLIEST, LATEST, check_text, check_value, finer_than_microseconds, parse_time
from memglot.model.record_errors import bad_number, missing_content, time_out_of_range, wrong_type

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_BLOCK = re.compile(rb"---\r?\n(.*?)\r?\n---", re.DOTALL)
_KEYS = (re.compile(rb"^type:", re.MULTILINE), re.compile(rb"^scope:", re.MULTILINE))
_TRACE_ID = re.compile(rb"^id: *['\"]?mt_", re.MULTILINE)
_TIMES = frozenset({"created_at", "last_accessed"})
TYPES = frozenset({"episodic", "semantic", "procedural", "prospective", "relational"})
FRONT = {name: name for name in ("id", "type", "scope", "strength", "tags", "emotions", "metadata")} | {
    "createdAt": "created_at",
    "lastAccessed": "last_accessed",
    "retrievalCount": "retrieval_count",
}
"""Front matter keys that AgentOS knows, and the trace fields they set."""


def is_agentos_note(head: bytes) -> bool:
    """Return True if a note has a type and a scope, or an AgentOS id."""
    block = _BLOCK.match(head)
    if block is None:
        return False
    return all(key.search(block[1]) for key in _KEYS) or _TRACE_ID.search(block[1]) is not None


def type_by_folder(path: str, default: str) -> str:
    """Return the type of a trace from its note's folders, the nearest first."""
    for part in reversed(path.split("/")[:-1]):
        if part.lower() in TYPES:
            return part.lower()
    return default


def parse_trace(data: dict[str, Any], known: dict[str, str]) -> Trace:
    """Parse a trace from an object; `known` maps keys to trace fields. Raise `BadRecord`."""
    values: dict[str, Any] = {}
    more: dict[str, Any] = {}
    inexact: list[str] = []
    for key, value in data.items():
        field = known.get(key)
        if field is None:
            more[key] = value
        elif field and value is not None:
            values[field] = FIELDS[field](field, value)
            if field in _TIMES and not _is_exact(value):
                inexact.append(field)
    if more:
        check_value(more, "another key")
    if "content" not in values:
        raise wrong_type("content", "text", "null") if "content" in data else missing_content()
    return Trace(more=more, inexact=inexact, **values)


def _text(field: str, value: Any) -> str:
    if isinstance(value, str):
        # What no store can hold is replaced in the content; elsewhere it is an error.
        return value if field == "content" else check_text(value, field)
    if field == "content" or isinstance(value, (bool, dict, list)):
        raise wrong_type(field, "text", type_name(value))
    return str(value)


def _number(field: str, value: Any) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise wrong_type(field, "a number", "text") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_type(field, "a number", type_name(value))
    check_value(value, field)
    try:
        return float(value)
    except OverflowError:
        raise bad_number(field, value) from None


def _count(field: str, value: Any) -> int:
    return value if type(value) is int else int(_number(field, value))


def _time(field: str, value: Any) -> int:
    """Return microseconds from integer milliseconds or a time as text."""
    if type(value) is int and EARLIEST // 1000 <= value <= LATEST // 1000:
        return value * 1000
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return parse_time(f"{value}T00:00:00Z" if _DATE.fullmatch(value) else value)
    milliseconds = _number(field, value)
    # A large whole number times 1,000 is not exact as a float, or even infinite.
    microseconds = int(milliseconds) * 1000 if milliseconds.is_integer() else round(milliseconds * 1000)
    if not EARLIEST <= microseconds <= LATEST:
        raise time_out_of_range(microseconds)
    return microseconds


def _is_exact(value: Any) -> bool:
    """Return True if a time that `_time` accepts has no more digits than microseconds."""
    if isinstance(value, int):
        return True
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return not finer_than_microseconds(value)
    microseconds = Decimal(str(value)) * 1000
    return microseconds == int(microseconds)


def _tags(field: str, value: Any) -> list[str]:
    value = _decoded(value, "[")
    if isinstance(value, str):
        parts = (part.strip() for part in value.split(","))
        value = list(dict.fromkeys(filter(None, parts)))
    if not isinstance(value, list):
        raise wrong_type(field, "a list of text", type_name(value))
    return [_text(field, tag) for tag in value if tag is not None]


def _object(field: str, value: Any) -> dict[str, Any]:
    if value == "{}":
        return {}
    value = _decoded(value, "{")
    if not isinstance(value, dict):
        raise wrong_type(field, "an object", type_name(value))
    check_value(value, field)
    return value


def _decoded(value: Any, start: str) -> Any:
    """Decode a value that AgentOS stores as JSON text."""
    if isinstance(value, str) and value.lstrip().startswith(start):
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            return value
    return value


def _vector(field: str, value: Any) -> bytes:
    """Return little-endian float32 bytes from base64 or a list of numbers."""
    value = _decoded(value, "[")
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        try:
            return b64decode(value, validate=True)
        except (BadBase64, ValueError):
            raise wrong_type(field, "base64 or a list of numbers", "text") from None
    if not isinstance(value, list):
        raise wrong_type(field, "base64 or a list of numbers", type_name(value))
    return vector_of(_number(field, number) for number in value)


def _deleted(field: str, value: Any) -> bool:
    return value not in (0, False, "0", "false", "")


FIELDS: dict[str, Any] = {
    "id": _text,
    "type": _text,
    "scope": _text,
    "content": _text,
    "strength": _number,
    "tags": _tags,
    "emotions": _object,
    "metadata": _object,
    "created_at": _time,
    "last_accessed": _time,
    "retrieval_count": _count,
    "deleted": _deleted,
    "embedding": _vector,
}
