"""Say where JSON text is not valid: line and column, as editors show them."""

from __future__ import annotations

import re
from typing import NamedTuple

_BYTE = re.compile(r" \(byte (\d+)\)$")
_TRUNCATED = "Input data was truncated"


class JsonPlace(NamedTuple):
    """Why a text is not valid JSON, and where; line and column count from 1, the column in characters."""

    reason: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return self.reason if self.line is None else f"line {self.line}, column {self.column}: {self.reason}"


def place_of(raw: bytes, error: Exception) -> JsonPlace:
    """Return the reason and the place of an error that decoding this text raised."""
    if not raw.strip():
        return JsonPlace("the text is empty")
    reason = str(error).removeprefix("JSON is malformed: ")
    if isinstance(error, UnicodeDecodeError):
        # Its own offset is that in one string of the text.
        return _at(raw, _first_invalid(raw), "this is not valid UTF-8")
    if reason == _TRUNCATED:
        return _at(raw, len(raw.rstrip()), "the text ends here, but is not complete")
    found = _BYTE.search(reason)
    if found is None:
        return JsonPlace(reason)
    reason = reason[: found.start()]
    # Of trailing characters, the second is named.
    return _at(raw, int(found[1]) - reason.startswith("trailing characters"), reason)


def _first_invalid(raw: bytes) -> int:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _at(raw: bytes, offset: int, reason: str) -> JsonPlace:
    before = raw[:offset]
    start = before.rfind(b"\n") + 1
    return JsonPlace(reason, before.count(b"\n") + 1, len(before[start:].decode(errors="replace")) + 1)
