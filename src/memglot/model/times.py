"""Times: ISO 8601 text with an offset outside, microseconds since 1970 in UTC inside."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from memglot.model.record_errors import bad_time

_SHAPE = re.compile(
    r"\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.(\d{1,9}))?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)
EARLIEST = -62_135_596_800_000_000
LATEST = 253_402_300_799_999_999
"""First and last microsecond of the years 1 to 9999, the range of valid times."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> int:
    """Return the present time in microseconds."""
    return time.time_ns() // 1000


def parse_time(text: str) -> int:
    """Return the microseconds of an ISO 8601 time with `T` and an offset; raise `BadRecord` for anything else."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise bad_time(text)
    digits = match[1]
    if digits is not None and len(digits) > 6:
        start, end = match.span(1)
        text = text[: start + 6] + text[end:]
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise bad_time(text) from None
    return (moment - _EPOCH) // _MICROSECOND


def finer_than_microseconds(text: str) -> bool:
    """Return True if a time has more digits than microseconds."""
    match = _SHAPE.fullmatch(text)
    return match is not None and match[1] is not None and match[1][6:].strip("0") != ""


def format_time(microseconds: int) -> str:
    """Return a time as text in UTC, with as many fraction digits as needed."""
    moment = _EPOCH + timedelta(microseconds=microseconds)
    text = moment.replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if moment.microsecond else text) + "Z"


def to_datetime(microseconds: int) -> datetime:
    """Return a time as a `datetime` in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


class Moment:
    """An attribute that shows a stored time as a `datetime` in UTC."""

    def __init__(self, field: str) -> None:
        self.field = field

    def __get__(self, owner: Any, _: Any = None) -> datetime:
        if owner is None:
            return self  # type: ignore[return-value]
        return to_datetime(getattr(owner, self.field))


class OptionalMoment(Moment):
    """The same for a time that may be missing, which is `None`."""

    def __get__(self, owner: Any, _: Any = None) -> datetime | None:  # type: ignore[override]
        if owner is None:
            return self  # type: ignore[return-value]
        at = getattr(owner, self.field)
        return None if at is None else to_datetime(at)
