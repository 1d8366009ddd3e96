"""The arguments of deeds, as callers write them: times as text, ranges as lists, choices as words."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from memglot.errors import UsageError, bad_choice, bad_temporal, bad_time
from memglot.model import Temporal, check_temporal, check_tree, parse_time
from memglot.store.contract import Filter

CHANGEABLE = (
    *("content", "title", "kind", "scope", "tree", "tags", "triggers", "meta", "temporal", "status"),
    *("strength", "confidence", "source", "foreign", "extra"),
)


def make_temporal(value: Any) -> Temporal | None:
    """A point or a range from text, a list of one or two texts, or `{start, end}`."""
    if value is None or isinstance(value, Temporal):
        return value
    if isinstance(value, dict):
        value = [value["start"], *([value["end"]] if value.get("end") else [])] if value.get("start") else []
    parts = [value] if isinstance(value, (str, datetime)) else list(value)
    if not 1 <= len(parts) <= 2:
        raise bad_temporal("a list of anything else")
    start, *end = [_moment(part) for part in parts]
    return check_temporal(start, end[0] if end else None)


def _moment(value: Any) -> int:
    """Microseconds of a time: an ISO text, a date alone for its midnight in UTC, a `datetime`, or microseconds."""
    if isinstance(value, datetime):
        return int(value.timestamp() * 1_000_000)
    if isinstance(value, str):
        return parse_time(f"{value}T00:00:00Z" if len(value) == 10 else value)
    if not isinstance(value, int):
        raise bad_time(str(value))
    return value


def make_tags(tags: Sequence[str] | str) -> list[str]:
    """Tags as a list; a single one may be given as it is."""
    return [tags] if isinstance(tags, str) else list(tags)


def make_filter(*, tags: Sequence[str] | str = (), **filters: Any) -> Filter:
    """A filter from the arguments of `list`; times may be text."""
    for name in ("since", "until", "temporal_contains"):
        if filters.get(name) is not None:
            filters[name] = _moment(filters[name])
    if filters.get("tree"):
        check_tree(filters["tree"])
    for name in ("temporal_overlaps", "temporal_within"):
        if filters.get(name) is not None:
            start, end = map(_moment, filters[name])
            filters[name] = (start, end)
    try:
        return Filter(tags=tuple(make_tags(tags)), **filters)
    except TypeError as error:
        raise UsageError(str(error)) from None


def without_conversations(filter: Filter) -> Filter:
    """The same filter, but nothing that came from a conversation."""
    return msgspec.structs.replace(filter, with_conversations=False)


def choice(name: str, value: str | None, known: tuple[str, ...]) -> None:
    """Refuse a value that is none of those that are known."""
    if value is not None and value not in known:
        raise bad_choice(name, value, known)
