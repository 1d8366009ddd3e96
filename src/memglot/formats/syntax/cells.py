"""Parsing of cells: times, numbers, tags, JSON."""

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec

from memglot.display import shorten
from memglot.errors import BadRecord
from memglot.formats.syntax.json_stream import check_structure
from memglot.model import EARLIEST, LATEST, check_text, finer_than_microseconds, parse_time
from memglot.model.record_errors import bad_syntax, time_out_of_range, too_deep

FORMULA_MARK = "'"
"""A spreadsheet takes a cell that begins with it as text."""
MARKED = "marked"
"""Key of the carry slot: the columns whose cells have a mark."""
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_DIGITS = re.compile(r"[+-]?\d{1,20}(?:\.\d{1,12})?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_COUNT = re.compile(r"\d{1,18}(?:\.0+)?", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?: ?(?:Z|UTC)|([+-]\d\d)(?::?(\d\d))?)?)?",
    re.ASCII | re.IGNORECASE,
)
_EARLIEST_SECOND = EARLIEST // 1_000_000
_SECONDS_BELOW = 10**11
_MILLISECONDS_BELOW = 10**14


@lru_cache(4096)
def parse_timestamp(text: str) -> tuple[int, bool]:
    """Return microseconds from an ISO 8601 time (UTC without an offset) or a number in a unit inferred from its size.

    The second value is False if precision was lost.
    """
    if _DIGITS.fullmatch(text):
        value = Decimal(text)
        size = abs(value)
        is_seconds = size < _SECONDS_BELOW and value >= _EARLIEST_SECOND
        value *= 1_000_000 if is_seconds else 1_000 if size < _MILLISECONDS_BELOW else 1
        if not EARLIEST <= value <= LATEST:
            raise time_out_of_range(int(value))
        return int(value), value == int(value)
    full = _with_offset(text)
    return parse_time(full), not finer_than_microseconds(full)


def _with_offset(text: str) -> str:
    """Return a time with all its parts."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise BadRecord(
            f"`{shorten(text)}` is neither an ISO 8601 timestamp nor a number of seconds, milliseconds or microseconds"
        )
    date, time, hours, minutes = match.groups()
    return f"{date}T{time or '00:00'}" + (f"{hours}:{minutes or '00'}" if hours else "Z")


def is_formula(cell: str) -> bool:
    """Return True if a spreadsheet would run a cell as a formula."""
    return cell.startswith(_FORMULAS) and _NUMBER.fullmatch(cell) is None


def number(text: str) -> float | None:
    """Return a finite number, or `None`."""
    if _NUMBER.fullmatch(text) is None:
        return None
    found = float(text)
    return found if abs(found) != float("inf") else None


def count(text: str) -> int | None:
    """Return a count, also in spreadsheet form (`3.0`), or `None`."""
    return int(text.partition(".")[0]) if _COUNT.fullmatch(text) else None


def tags(text: str) -> list[str]:
    """Return tags from a JSON list, which may repeat some, or words separated by `|` or else by commas."""
    if text.startswith("["):
        try:
            return [check_text(tag, "tags") for tag in msgspec.json.decode(text, type=list[str])]
        except (msgspec.MsgspecError, RecursionError):
            pass
    words = (word.strip() for word in text.split("|" if "|" in text else ","))
    return list(dict.fromkeys(word for word in words if word))


def json_value(text: str) -> Any:
    """Return the JSON value of a cell; raise `BadRecord`."""
    raw = text.encode()
    check_structure(raw)
    try:
        return msgspec.json.decode(raw)
    except RecursionError:
        raise too_deep("the cell") from None
    except msgspec.DecodeError as error:
        raise bad_syntax("JSON", str(error).removeprefix("JSON is malformed: ")) from None
