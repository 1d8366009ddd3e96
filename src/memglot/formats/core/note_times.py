"""When a note was written, by its front matter: the usual shapes of dates, without a guess where two are possible."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

_KEYS = ("created", "date created", "date")
"""Properties that say when a note was created; the first one that can be read counts."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TIME = r"(?:[T ,]+(?:at )?(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)? ?([ap]m)?(?: ?(Z|UTC|[+-]\d{2}:?\d{2}))?)?"
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})" + _TIME, re.ASCII | re.IGNORECASE)
_MONTH_ONLY = re.compile(r"(\d{4})-(\d{2})", re.ASCII)
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})?)?(Z)?", re.ASCII)
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})" + _TIME, re.ASCII | re.IGNORECASE)
_NAMED = re.compile(
    r"(?:[a-z]{3,9},? )?(?:(\d{1,2})(?:st|nd|rd|th)?\.? ([a-z]{3,9})\.?|([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?),? "
    r"(\d{4})" + _TIME,
    re.ASCII | re.IGNORECASE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_LENGTH = 64
_MILLISECONDS = 100_000_000_000
"""Numbers from here on are milliseconds, and seconds below."""


def created_by_front(front: dict[str, Any]) -> int:
    """Return when a note was created, in microseconds, by its front matter; 0 if it does not say so."""
    for key in _KEYS:
        if key in front and (found := note_time(front[key])):
            return found
    return 0


def note_time(value: Any) -> int:
    """Return the microseconds of a date or time in a property; 0 if it is none, or could mean two days.

    A time without an offset is in UTC, so that it means the same on every machine.
    """
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _of_number(value)
    if not isinstance(value, str) or len(value) > _MAX_LENGTH:
        return 0
    text = " ".join(value.strip().removeprefix("[[").removesuffix("]]").partition("|")[0].split())
    for pattern, read in _SHAPES:
        if match := pattern.fullmatch(text):
            try:
                return read(match)
            except (ValueError, OverflowError):
                return 0
    return 0


def _of_number(value: int | float) -> int:
    """Return the time of seconds or milliseconds since 1970, or of a day such as 20240501."""
    if isinstance(value, int) and (match := _COMPACT.fullmatch(str(value))) is not None:
        try:
            return _compact(match)
        except (ValueError, OverflowError):
            pass
    if not 0 < value < _MILLISECONDS * 1_000:
        return 0
    return int(value * (1_000 if value >= _MILLISECONDS else 1_000_000))


def _moment(year: str, month: str | int, day: str, time: tuple[str | None, ...] = ()) -> int:
    hour, minute, second, fraction, half, offset = time or (None,) * 6
    hours = int(hour or 0)
    if half:
        if not 1 <= hours <= 12:
            raise ValueError(hour)
        hours = hours % 12 + 12 * (half.lower() == "pm")
    micro = int((fraction or "").ljust(6, "0")[:6])
    found = datetime(int(year), int(month), int(day), hours, int(minute or 0), int(second or 0), micro, _zone(offset))
    return max((found - _EPOCH) // timedelta(microseconds=1), 0)


def _zone(offset: str | None) -> timezone:
    if not offset or offset.upper() in ("Z", "UTC"):
        return UTC
    delta = timedelta(hours=int(offset[1:3]), minutes=int(offset[-2:]))
    return timezone(-delta if offset[0] == "-" else delta)


def _year_first(match: re.Match[str]) -> int:
    return _moment(match[1], match[3], match[4], match.groups()[4:])


def _year_last(match: re.Match[str]) -> int:
    first, separator, second = int(match[1]), match[2], int(match[3])
    if separator == "." or first > 12 or first == second:
        return _moment(match[4], second, match[1], match.groups()[4:])
    if second > 12:
        return _moment(match[4], first, match[3], match.groups()[4:])
    return 0


def _named(match: re.Match[str]) -> int:
    month = (match[2] or match[3]).lower()
    number = _MONTHS.index(month[:3]) + 1 if month[:3] in _MONTHS else 0
    return _moment(match[5], number, match[1] or match[4], match.groups()[5:])


def _compact(match: re.Match[str]) -> int:
    return _moment(match[1], match[2], match[3], (match[4], match[5], match[6], None, None, None))


def _month_only(match: re.Match[str]) -> int:
    return _moment(match[1], match[2], "1")


_SHAPES = (
    (_YEAR_FIRST, _year_first),
    (_COMPACT, _compact),
    (_MONTH_ONLY, _month_only),
    (_YEAR_LAST, _year_last),
    (_NAMED, _named),
)
