"""The arguments of deeds, as callers write them: times as text, ranges as lists, choices as words."""

from collections.abc import Sequence
from typing import Any

import msgspec

from memglot.errors import UsageError, bad_choice
from memglot.model import Temporal, check_temporal, parse_time
from memglot.store.contract import Filter


def make_temporal(value: Any) -> Temporal | None:
    """A point or a range from text, a list of one or two texts, or `{start, end}`."""
    if value is None or isinstance(value, Temporal):
        return value
    if isinstance(value, dict):
        value = [value.get("start"), value.get("end")]
    parts = [value] if isinstance(value, str) else list(value)
    start, *end = [parse_time(part) for part in parts if part is not None]
    return check_temporal(start, end[0] if end else None)


def make_filter(*, tags: Sequence[str] | str = (), **filters: Any) -> Filter:
    """A filter from the arguments of `list`; times may be text."""
    for name in ("since", "until", "temporal_contains"):
        if isinstance(filters.get(name), str):
            filters[name] = parse_time(filters[name])
    for name in ("temporal_overlaps", "temporal_within"):
        if filters.get(name) is not None:
            start, end = (parse_time(part) if isinstance(part, str) else part for part in filters[name])
            filters[name] = (start, end)
    try:
        return Filter(tags=(tags,) if isinstance(tags, str) else tuple(tags), **filters)
    except TypeError as error:
        raise UsageError(str(error)) from None


def without_conversations(filter: Filter) -> Filter:
    """The same filter, but nothing that came from a conversation."""
    return msgspec.structs.replace(filter, with_conversations=False)


def choice(name: str, value: str | None, known: tuple[str, ...]) -> None:
    """Refuse a value that is none of those that are known."""
    if value is not None and value not in known:
        raise bad_choice(name, value, known)
