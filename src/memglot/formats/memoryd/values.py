"""Parsing of values: times as seconds or text, tags as lists or text, hashes by three rules."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import msgspec

from memglot.model import EARLIEST, LATEST
from memglot.model.record_errors import bad_time, time_out_of_range, wrong_type

PREFIX = "sha256:"
_NUMBER = re.compile(r"\s*-?\d+(\.\d*)?([eE][+-]?\d+)?\s*", re.ASCII)
_MILLISECONDS = 100_000_000_000
_HUGE = 10**18
_ISO = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)\s*(Z|[+-]\d{2}:?\d{2})?", re.ASCII)


def microseconds(value: Any, field: str) -> int | None:
    """Return a time in microseconds, or `None` for an empty value. Numbers are seconds, very large ones milliseconds.

    Text without an offset is in UTC, as memoryd reads it.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return _from_text(value)
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_type(field, "a time", type(value).__name__)
    if not abs(value) < _HUGE:
        raise wrong_type(field, "a time", "a number out of range")
    return _in_range(round(value * (1_000 if abs(value) >= _MILLISECONDS else 1_000_000)))


def row_times(row: dict[str, Any]) -> tuple[int, int]:
    """Return the times of creation and of the last change of a row; 0 if it has none."""
    created, updated = (microseconds(row.get(key), key) for key in ("created_at", "updated_at"))
    # In the model 0 means that there is no time.
    first = created or updated or 0
    return first, updated or first


def is_seconds(value: Any) -> bool:
    """Return True if a value is a number of seconds."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not is_milliseconds(value)


def is_milliseconds(value: Any) -> bool:
    """Return True if a number is too large for seconds and was read as milliseconds."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) >= _MILLISECONDS


def _from_text(text: str) -> int:
    match = _ISO.fullmatch(text.strip())
    if match is None:
        raise bad_time(text)
    day, time, offset = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{time}{'+00:00' if offset in (None, 'Z') else offset}")
        delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        raise bad_time(text) from None
    return _in_range((delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds)


def _in_range(at: int) -> int:
    if not EARLIEST <= at <= LATEST:
        raise time_out_of_range(at)
    return at


def seconds(at: int) -> float:
    """Convert microseconds to seconds, which every reader of these files accepts."""
    return at / 1_000_000


def parse_tags(value: Any) -> list[str]:
    """Return unique tags from a list, a JSON list as text, or text with commas."""
    if isinstance(value, str):
        value = _json_list(value) if value.lstrip().startswith("[") else value.split(",")
        value = [tag.strip() if isinstance(tag, str) else tag for tag in value]
        value = [tag for tag in value if tag != ""]
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong_type("tags", "a list of text", type(value).__name__)
    return list(dict.fromkeys(_tag(tag) for tag in value))


def _json_list(text: str) -> list[Any]:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text.split(",")
    return found if isinstance(found, list) else [text]


def _tag(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise wrong_type("tags", "a list of text", "a list of other values")


def hash_content(content: str) -> str:
    """Return the hash that we write."""
    return PREFIX + sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def v5_content_hash(content: str) -> str:
    """Return the hash that identifies a memory in mcp-memory-service."""
    return sha256(content.strip().lower().encode("utf-8", "surrogatepass")).hexdigest()


def hash_matches(content: str, given: Any) -> bool:
    """Return True if a hash matches a content: as it is, stripped as in memoryd, or by v5's rule."""
    if not isinstance(given, str):
        return False
    bare = given.removeprefix(PREFIX).lower()
    exact = sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    # Nearly every hash is the exact one; the other two are computed only if it is not.
    return bare == exact or bare == v5_content_hash(content) or PREFIX + bare == hash_content(content.strip())
