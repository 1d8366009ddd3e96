"""Convert and check arguments as callers write them: times as text, ranges as lists, choices."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from typing import Any, TypeAlias, TypedDict

import msgspec

from memglot.display import shorten
from memglot.errors import BadRecord, UnknownChoice, UnknownFilter, UsageError
from memglot.model import (
    EARLIEST,
    LATEST,
    Foreign,
    Temporal,
    check_temporal,
    check_text,
    check_tree,
    check_value,
    now,
    parse_time,
)
from memglot.model.record_errors import bad_temporal, bad_time, time_out_of_range, wrong_type
from memglot.settings import MAX_RECORD_BYTES
from memglot.store.query import Filter
from memglot.text.spoken_times import parse_spoken_time
from memglot.text.tree_pattern import check_tree_pattern, is_pattern

EDITABLE_FIELDS = (
    "content",
    "title",
    "kind",
    "scope",
    "tree",
    "tags",
    "triggers",
    "meta",
    "temporal",
    "status",
    "strength",
    "confidence",
    "source",
    "foreign",
    "extra",
)
_DAY = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([kmgt]?)(i?b|)", re.ASCII | re.IGNORECASE)
_TIMES = {
    "since",
    "until",
    "updated_since",
    "updated_until",
    "temporal_contains",
    "temporal_before",
    "temporal_after",
}
_RANGES = {"temporal_overlaps", "temporal_within"}
_LISTS = {"tags", "without_tags", "kind", "scope", "status", "without_scopes"}


Time: TypeAlias = str | date | int
"""A time as text such as `7d`, `yesterday`, `2024-05` or an ISO time, as a `datetime`, or in microseconds."""
Texts: TypeAlias = str | Iterable[str]
"""One text, or several."""


class Filters(TypedDict, total=False):
    """The keyword arguments that select memories; a memory must match all that are given, and `None` is none."""

    tree: str | None
    tags: Texts | None
    without_tags: Texts | None
    kind: Texts | None
    scope: Texts | None
    status: Texts | None
    meta: dict[str, Any] | None
    source: str | dict[str, Any] | Iterable[str | dict[str, Any]] | None
    since: Time | None
    until: Time | None
    updated_since: Time | None
    updated_until: Time | None
    temporal_contains: Time | None
    temporal_overlaps: Sequence[Time] | None
    temporal_within: Sequence[Time] | None
    temporal_before: Time | None
    temporal_after: Time | None
    with_deleted: bool
    with_conversations: bool


class Edits(TypedDict, total=False):
    """The keyword arguments that change a memory: its fields, each with its new value."""

    content: str
    title: str | None
    kind: str
    scope: str
    tree: str
    tags: Texts
    triggers: Sequence[str]
    meta: dict[str, Any]
    temporal: Temporal | Time | Sequence[Time] | dict[str, Time] | None
    status: str
    strength: float | None
    confidence: float | None
    source: dict[str, Any]
    foreign: Sequence[Foreign]
    extra: dict[str, Any]


def make_temporal(value: Any) -> Temporal | None:
    """Return a point or a range from text, a list of one or two texts, or `{start, end}`."""
    if value is None or isinstance(value, Temporal):
        return value
    if isinstance(value, dict):
        value = [value["start"], *([value["end"]] if value.get("end") else [])] if value.get("start") else []
    parts = [value] if isinstance(value, (str, datetime)) else list(value)
    if not 1 <= len(parts) <= 2:
        raise bad_temporal("a list of anything else")
    start, *end = [_parse_exact(part) for part in parts]
    return check_temporal(start, end[0] if end else None)


def _parse_exact(value: Any) -> int:
    """Return the microseconds of a time: ISO text, a date (midnight in UTC), a `datetime`, or microseconds."""
    if isinstance(value, datetime):
        try:
            return parse_time(value.astimezone(UTC).isoformat())
        except OverflowError:
            raise bad_time(str(value)) from None
    if isinstance(value, date):
        value = value.isoformat()
    if isinstance(value, str):
        return parse_time(f"{value}T00:00:00Z" if len(value) == 10 else value)
    if not isinstance(value, int):
        raise bad_time(str(value))
    if not EARLIEST <= value <= LATEST:
        raise time_out_of_range(value)
    return value


def make_tags(tags: Sequence[str] | str) -> list[str]:
    """Return tags as a list; a single tag may be given as text."""
    return [tags] if isinstance(tags, str) else list(tags)


def parse_moment(value: Any) -> int:
    """Return the microseconds of a time to filter by: text such as `7d`, `yesterday`, `2024-05` or an ISO time, or a
    `datetime`.

    A year, month or day is its first moment in UTC. Raise `UsageError` for anything else.
    """
    try:
        if isinstance(value, str) and (match := _DAY.fullmatch(value.strip())):
            year, month, day = match.groups("01")
            return parse_time(f"{year}-{month}-{day}T00:00:00Z")
        if isinstance(value, str) and (spoken := parse_spoken_time(value, now())) is not None:
            return spoken
        return _parse_exact(value.strip() if isinstance(value, str) else value)
    except BadRecord:
        raise UsageError(
            f"`{shorten(str(value))}` is not a valid time",
            "write `7d`, `yesterday`, `last monday`, `2024-05`, or a full time with an offset, `2024-05-31T10:30:00Z`",
        ) from None


def make_filter(**filters: Any) -> Filter:
    """Return a filter from the arguments of `list`; times may be text, and a list of one may be its item."""
    for name in filters.keys() - Filter.__struct_fields__:
        raise UnknownFilter(name, sorted(Filters.__annotations__))
    found = {name: value for name, value in filters.items() if value is not None}
    for name in _TIMES & found.keys():
        found[name] = parse_moment(found[name])
    for name in _RANGES & found.keys():
        found[name] = _range(name, found[name])
    for name in _LISTS & found.keys():
        found[name] = _texts(name, found[name])
    if "tree" in found:
        found["tree"] = _tree(found["tree"])
    if "meta" in found:
        found["meta"] = _object("meta", found["meta"])
    if "source" in found:
        found["source"] = tuple(source for one in _as_list(found["source"]) for source in _sources(one))
    return Filter(**found)


def narrow_filter(filter: Filter, operators: dict[str, list[str]]) -> Filter:
    """Narrow a filter by the operators of a query: `{"tag": ["x"], "before": ["2024-05"]}`."""
    further = []
    together = {"tag": "tags", "not_tag": "without_tags", "kind": "kind", "scope": "scope", "status": "status"}
    for name, values in operators.items():
        if name in together:
            further.append(make_filter(**{together[name]: values}))
        else:
            argument = {"tree": "tree", "before": "until", "after": "since"}[name]
            further += [make_filter(**{argument: value}) for value in values]
    return msgspec.structs.replace(filter, also=(*filter.also, *further)) if further else filter


def _range(name: str, value: Any) -> tuple[int, int]:
    times = [parse_moment(time) for time in value] if isinstance(value, (list, tuple)) else []
    if len(times) != 2 or times[0] > times[1]:
        raise UsageError(f"`{name}` needs two times, the earlier one first")
    return times[0], times[1]


def _as_list(value: Any) -> list[Any]:
    """Return values as a list; a single one may be given as it is."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, (str, dict)) else [value]


def _texts(name: str, value: Any) -> tuple[str, ...]:
    texts = _as_list(value)
    for text in texts:
        if not isinstance(text, str):
            raise wrong_type(name, "text", type(text).__name__)
        check_text(text, name)
    return tuple(texts)


def _tree(value: str) -> str:
    if not isinstance(value, str):
        raise wrong_type("tree", "text", type(value).__name__)
    return check_tree_pattern(value) if is_pattern(value) else check_tree(value)


def _object(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong_type(name, "an object", type(value).__name__)
    check_value(value, name)
    return value


def _sources(value: Any) -> list[dict[str, Any]]:
    """Return source filters from an object, JSON, `key=value`, or the name of a tool or kind."""
    if not isinstance(value, str):
        return [_object("source", value)]
    check_text(value, "source")
    if value.startswith("{"):
        try:
            return [_object("source", msgspec.json.decode(value, type=dict[str, Any]))]
        except msgspec.MsgspecError as error:
            raise _bad_source(value, str(error)) from None
    key, equals, text = value.partition("=")
    if not key:
        raise _bad_source(value, "the key is missing" if equals else "it is empty")
    return [{key: text}] if equals else [{"tool": key}, {"kind": key}]


def parse_size(value: int | str | None, default: int = MAX_RECORD_BYTES) -> int:
    """Return a number of bytes, also from text such as `64MiB`, `100MB` or `1G`. Raise `UsageError`."""
    if value is None:
        return default
    match = _SIZE.fullmatch(str(value)) if not isinstance(value, bool) else None
    size = 0
    if match is not None:
        unit, ending = match[2].upper(), match[3].upper()
        # `MB` is decimal, as on disks; `M` and `MiB` are binary.
        size = int(float(match[1]) * (1_000 if ending == "B" and unit else 1_024) ** " KMGT".index(unit or " "))
    if not 0 < size < 1 << 40:
        raise UsageError(f"`{shorten(str(value))}` is not a valid size", "write it as `64MiB`, `100MB` or `1G`")
    return size


def without_conversations(filter: Filter) -> Filter:
    """Return the filter without memories from conversations."""
    return msgspec.structs.replace(filter, with_conversations=False)


def check_choice(name: str, value: str | None, known: tuple[str, ...]) -> None:
    """Raise `UsageError` if a value is not one of those known."""
    if value is not None and value not in known:
        raise UnknownChoice(name, value, known)


def check_whole_number(name: str, value: int | None) -> None:
    """Raise `UsageError` if a value is neither `None` nor an integer that a store can hold."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 1 << 63):
        raise UsageError(f"`{name}` must be a whole number, not `{shorten(str(value))}`")


def _bad_source(text: str, reason: str) -> UsageError:
    """Return the error for an invalid source filter."""
    return UsageError(
        f"`{shorten(text)}` is not a valid source: {reason}",
        'write the tool, such as `chatgpt`, or `tool=chatgpt`, or a JSON object such as `{"tool": "chatgpt"}`',
    )
