"""Times as people say them: `7d`, `2 weeks ago`, `yesterday`, `last monday`, `this month`, `may 2024`."""

import re
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNITS = {
    "min": "minute", "mins": "minute", "minute": "minute", "minutes": "minute",
    "h": "hour", "hour": "hour", "hours": "hour",
    "d": "day", "day": "day", "days": "day",
    "w": "week", "week": "week", "weeks": "week",
    "mo": "month", "month": "month", "months": "month",
    "y": "year", "year": "year", "years": "year",
}  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_AGO = re.compile(r"(\d{1,6}|an?) ?([a-z]+)(?: ago)?")
_MONTH = re.compile(r"([a-z]+) (\d{4})")
_LENGTHS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}


def parse_spoken_time(text: str, at: int) -> int | None:
    """Return the microseconds of a time that is relative to `at`, or None if the text is not such a time.

    Days, weeks and months start at midnight in UTC. A number with a unit, such as `7d`, is that long before `at`.
    Words may be joined by hyphens, as in `last-monday`.
    """
    words = " ".join(text.lower().replace("-", " ").split())
    moment = _EPOCH + timedelta(microseconds=at)
    try:
        found = _named(words, moment) or _ago(words, moment) or _month(words)
    except (OverflowError, ValueError):
        return None
    return None if found is None else (found - _EPOCH) // _MICROSECOND


def _named(words: str, moment: datetime) -> datetime | None:
    """Return a day or a period that has a name."""
    today = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    named = {
        "now": moment,
        "today": today,
        "yesterday": today - timedelta(days=1),
        "tomorrow": today + timedelta(days=1),
        "this week": today - timedelta(days=today.weekday()),
        "last week": today - timedelta(days=today.weekday() + 7),
        "this month": today.replace(day=1),
        "last month": _months_before(today.replace(day=1), 1),
        "this year": today.replace(month=1, day=1),
        "last year": _months_before(today.replace(month=1, day=1), 12),
    }
    if words in named:
        return named[words]
    day = words.removeprefix("last ")
    if day in _DAYS:
        # The latest one before today.
        return today - timedelta(days=(today.weekday() - _DAYS.index(day) - 1) % 7 + 1)
    return None


def _ago(words: str, moment: datetime) -> datetime | None:
    """Return the time that is a number of units before a moment."""
    match = _AGO.fullmatch(words)
    unit = _UNITS.get(match[2]) if match else None
    if match is None or unit is None:
        return None
    number = 1 if match[1].startswith("a") else int(match[1])
    if unit in _LENGTHS:
        return moment - number * _LENGTHS[unit]
    return _months_before(moment, number * (12 if unit == "year" else 1))


def _month(words: str) -> datetime | None:
    """Return the start of a month that is named with its year, such as `may 2024`."""
    match = _MONTH.fullmatch(words)
    if match is None or len(match[1]) < 3:
        return None
    month = next((number for number, name in enumerate(_MONTHS, 1) if name.startswith(match[1])), None)
    return None if month is None else datetime(int(match[2]), month, 1, tzinfo=UTC)


def _months_before(moment: datetime, months: int) -> datetime:
    """Return the same day of an earlier month, or that month's last day if it is shorter."""
    year, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    following = datetime(year + month // 11, (month + 1) % 12 + 1, 1, tzinfo=UTC)
    last = (following - timedelta(days=1)).day
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))
