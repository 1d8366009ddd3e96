"""Times as tables have them: ISO 8601, numbers, and how people and mail programs write dates."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from memglot.errors import BadRecord
from memglot.formats.syntax.cells import parse_timestamp

_DAY = re.compile(r"(19|20|21)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", re.ASCII)
_TIME = r"(?:[ ,T]+(\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?)\s*([ap]m)?)?"
_YEAR_FIRST = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})" + _TIME, re.ASCII | re.IGNORECASE)
_YEAR_LAST = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})" + _TIME, re.ASCII | re.IGNORECASE)
_NAMED = re.compile(
    r"(?:(\d{1,2})\.? )?([a-z]{3,9})\.? ?(?:(\d{1,2})(?:st|nd|rd|th)?)?,? (\d{4})" + _TIME, re.I | re.ASCII
)
_MONTHS = "january february march april may june july august september october november december".split()


def parse_time_of_table(value: Any) -> int | None:
    """Return the microseconds of a time, or `None` if it is none, or could be one of two days."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    text = str(value).strip() if not isinstance(value, float) else f"{value:.6f}"
    if _DAY.fullmatch(text):
        text = f"{text[:4]}-{text[4:6]}-{text[6:]}"
    try:
        return parse_timestamp(text)[0]
    except BadRecord:
        pass
    try:
        found = _written(text)
        return None if found is None else parse_timestamp(found)[0]
    except (ValueError, BadRecord, OverflowError):
        return None


def _written(text: str) -> str | None:
    """Return a date that people or mail programs write as ISO 8601; raise `ValueError` for an invalid one."""
    if match := _YEAR_FIRST.fullmatch(text):
        year, month, day, time, half = match.groups()
        return _iso(int(year), int(month), int(day), time, half)
    if match := _YEAR_LAST.fullmatch(text):
        first, separator, second, year, time, half = match.groups()
        day, month = int(first), int(second)
        if separator != "." and month > 12:
            day, month = month, day
        elif separator != "." and day <= 12 and day != month:
            # The fifth of April, or the fourth of May.
            return None
        return _iso(int(year), month, day, time, half)
    if match := _NAMED.fullmatch(text):
        months = [number for number, name in enumerate(_MONTHS, 1) if name.startswith(match[2].lower())]
        if not months or (match[1] and match[3]):
            return None
        return _iso(int(match[4]), months[0], int(match[1] or match[3] or 1), match[5], match[6])
    moment = parsedate_to_datetime(text)
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)).isoformat()


def _iso(year: int, month: int, day: int, time: str | None, half: str | None) -> str:
    hour, colon, rest = (time or "0:00").partition(":")
    number = int(hour)
    if half:
        if not 1 <= number <= 12:
            raise ValueError(time)
        number = number % 12 + (12 if half.lower() == "pm" else 0)
    return datetime(year, month, day, number, tzinfo=UTC).strftime(f"%Y-%m-%dT%H:{rest}Z")
