"""Filters: parsing of arguments, and a store that selects the same as a plain predicate."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as own
from memglot import Memory
from memglot.arguments import make_filter, parse_moment
from memglot.errors import BadRecord, MemglotError, UsageError
from memglot.model import DELETED, Record, Temporal, parse_time
from memglot.store.location import open_store
from memglot.store.query import Filter

# Few values each, so that conditions often match and often do not.
NEAR = st.integers(1, 6)
WORDS = st.sampled_from(["x", "y", "Ünï", "x y", "1"])
KINDS, SCOPES = st.sampled_from(["semantic", "note", "a/b"]), st.sampled_from(["user", "user:1", ""])
STATUSES = st.sampled_from(["active", "stale", DELETED])
TREES = st.lists(st.sampled_from(["a", "b", "A", "ab", "a_b"]), max_size=3).map(".".join)
VALUES = st.sampled_from([None, True, 1, 1.0, 0, "1", "x", [], [1, 2], [1, [2]], {}, {"k": 1}, {"k": [1], "l": "x"}])
OBJECTS = st.dictionaries(st.sampled_from(["tool", "kind", "conversation", "", "a.b", "\0"]), VALUES, max_size=3)
PATTERNS: dict[str, Callable[[list[str]], bool]] = {
    "*": lambda labels: True,
    "*.b": lambda labels: labels[-1:] == ["b"],
    "a.*": lambda labels: labels[:1] == ["a"],
    "a.b.*{1,}": lambda labels: labels[:2] == ["a", "b"] and len(labels) > 2,
    "a*": lambda labels: len(labels) == 1 and labels[0].startswith("a"),
    "*.a@.*": lambda labels: "a" in labels or "A" in labels,
    "*{2}": lambda labels: len(labels) == 2,
    "!a|b.*": lambda labels: len(labels) > 0 and labels[0] not in ("a", "b"),
    "b%": lambda labels: len(labels) == 1 and "b" in labels[0].split("_"),
    "a & !b": lambda labels: "a" in labels and "b" not in labels,
    "(ab | a_b) & (a | A)": lambda labels: bool({"ab", "a_b"} & {*labels} and {"a", "A"} & {*labels}),
}


def some(values: Any) -> Any:
    return st.just(()) | st.lists(values, min_size=1, max_size=2).map(tuple)


RANGES = st.tuples(NEAR, NEAR).map(lambda pair: (min(pair), max(pair)))


@st.composite
def records(draw: Any) -> Record:
    start, length = draw(NEAR), draw(st.sampled_from([None, 1, 3]))
    return Record(
        id=draw(own.ids()),
        content="x",
        kind=draw(KINDS),
        scope=draw(SCOPES),
        tree=draw(TREES),
        tags=draw(st.lists(WORDS, max_size=3)),
        meta=draw(OBJECTS),
        temporal=draw(st.none() | st.just(Temporal(start, start + length if length else None))),
        status=draw(STATUSES),
        created_at=draw(NEAR),
        updated_at=draw(NEAR),
        source=draw(OBJECTS),
    )


FILTERS = st.builds(
    Filter,
    tree=st.none() | st.just("") | TREES | st.sampled_from(sorted(PATTERNS)),
    tags=some(WORDS),
    without_tags=some(WORDS),
    kind=some(KINDS),
    scope=some(SCOPES),
    status=some(STATUSES),
    meta=st.none() | OBJECTS,
    source=some(OBJECTS),
    since=st.none() | NEAR,
    until=st.none() | NEAR,
    updated_since=st.none() | NEAR,
    updated_until=st.none() | NEAR,
    temporal_contains=st.none() | NEAR,
    temporal_overlaps=st.none() | RANGES,
    temporal_within=st.none() | RANGES,
    temporal_before=st.none() | NEAR,
    temporal_after=st.none() | NEAR,
    without_scopes=some(SCOPES),
    with_conversations=st.booleans(),
    with_deleted=st.booleans(),
)
NAMES = Filter.__struct_fields__


@st.composite
def filters(draw: Any) -> Filter:
    """Generate filters with few conditions, because hardly any record matches all of them."""
    whole, kept = draw(FILTERS), draw(st.lists(st.sampled_from(NAMES), max_size=3))
    return Filter(**{name: getattr(whole, name) for name in kept})


def holds(there: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(there, dict) and all(key in there and holds(there[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return isinstance(there, list) and all(any(holds(one, value) for one in there) for value in wanted)
    return isinstance(there, bool) is isinstance(wanted, bool) and bool(there == wanted)


def in_tree(tree: str, wanted: str | None) -> bool:
    if wanted in PATTERNS:
        return PATTERNS[wanted](tree.split(".") if tree else [])
    return not wanted or f"{tree}.".startswith(f"{wanted}.")


def about(temporal: Temporal | None, filter: Filter) -> bool:
    """Compare times as sets of half steps, so that every relation is one between sets."""
    given = [getattr(filter, name) for name in NAMES if name.startswith("temporal_")]
    if given == [None] * len(given):
        return True
    if temporal is None:
        return False

    def steps(start: int, end: int | None) -> set[int]:
        return {2 * start} if end in (None, start) else set(range(2 * start, 2 * (end or 0)))

    own = steps(temporal.start, temporal.end)
    conditions = [
        filter.temporal_contains is None or 2 * filter.temporal_contains in own,
        filter.temporal_overlaps is None or bool(own & steps(*filter.temporal_overlaps)),
        filter.temporal_within is None or own <= steps(*filter.temporal_within),
        filter.temporal_before is None or max(own) < 2 * filter.temporal_before,
        filter.temporal_after is None or min(own) > 2 * filter.temporal_after,
    ]
    return all(conditions)


def selected(record: Record, filter: Filter) -> bool:
    conditions = [
        in_tree(record.tree, filter.tree),
        set(filter.tags) <= set(record.tags),
        set(filter.without_tags).isdisjoint(record.tags),
        not filter.kind or record.kind in filter.kind,
        not filter.scope or record.scope in filter.scope,
        record.status in filter.status if filter.status else filter.with_deleted or record.status != DELETED,
        holds(record.meta, filter.meta or {}),
        not filter.source or any(holds(record.source, source) for source in filter.source),
        filter.since is None or filter.since <= record.created_at,
        filter.until is None or record.created_at < filter.until,
        filter.updated_since is None or filter.updated_since <= record.updated_at,
        filter.updated_until is None or record.updated_at < filter.updated_until,
        about(record.temporal, filter),
        record.scope not in filter.without_scopes,
        filter.with_conversations or record.source.get("conversation") is None,
    ]
    return all(conditions)


@given(st.lists(records(), max_size=8, unique_by=lambda record: record.id), st.lists(filters(), min_size=1, max_size=4))
def test_a_store_selects_what_a_plain_predicate_selects(kept: list[Record], asked: list[Filter]) -> None:
    store = open_store(":memory:")
    with store.writing():
        store.records.add(kept)
    kept = sorted(kept, key=lambda record: (record.created_at, record.id))
    for filter in asked:
        expected = [record.id for record in kept if selected(record, filter)]
        assert [record.id for record in store.records.select(filter)] == expected
        assert store.records.count(filter) == len(expected)
        pages = [store.records.select(filter, limit=2, offset=offset) for offset in range(0, len(kept), 2)]
        assert [record.id for page in pages for record in page] == expected
        if filter.is_all and filter.with_conversations:
            assert expected == [record.id for record in kept if filter.with_deleted or record.status != DELETED]
    store.close()


DAY = parse_time("2024-05-01T00:00:00Z")


@pytest.mark.parametrize(
    ("value", "time"),
    [
        ("2024", "2024-01-01T00:00:00Z"),
        ("2024-05", "2024-05-01T00:00:00Z"),
        ("2024-05-31", "2024-05-31T00:00:00Z"),
        (" 2024-05-31 ", "2024-05-31T00:00:00Z"),
        ("2024-05-31T10:30Z", "2024-05-31T10:30:00Z"),
        ("2024-05-31T10:30:00.5+02:00", "2024-05-31T08:30:00.5Z"),
        ("0001", "0001-01-01T00:00:00Z"),
        ("9999-12-31", "9999-12-31T00:00:00Z"),
        (date(2024, 5, 31), "2024-05-31T00:00:00Z"),
        (datetime(2024, 5, 31, 10, 30, 0, 123457, UTC), "2024-05-31T10:30:00.123457Z"),
        (datetime(2024, 5, 31, 10, tzinfo=timezone(timedelta(hours=2))), "2024-05-31T08:00:00Z"),
        (DAY, "2024-05-01T00:00:00Z"),
    ],
)
def test_a_moment_can_be_written_in_several_ways(value: Any, time: str) -> None:
    assert parse_moment(value) == parse_time(time)


@pytest.mark.parametrize(
    "value",
    [
        *("", " ", "24", "20245", "2024-5", "2024-13", "2024-02-30", "2024-05-31T10:30", "2024/05/31", "soon"),
        *("２０２４", "2024\n2024", "0000", "-2024", "\ud800", "x" * 100_000, 2**63, -(2**63), 1.5, [], {}, b"2024"),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_any_other_moment_is_one_clear_error(value: Any) -> None:
    with pytest.raises(UsageError, match="is not a valid time$") as caught:
        parse_moment(value)
    assert "`2024-05`" in (caught.value.hint or "")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("value", "time"),
    [
        ("now", "2024-05-15T10:30:00Z"),
        ("today", "2024-05-15T00:00:00Z"),
        ("Yesterday", "2024-05-14T00:00:00Z"),
        ("tomorrow", "2024-05-16T00:00:00Z"),
        ("7d", "2024-05-08T10:30:00Z"),
        ("90min", "2024-05-15T09:00:00Z"),
        ("12h", "2024-05-14T22:30:00Z"),
        ("2 weeks ago", "2024-05-01T10:30:00Z"),
        ("an hour ago", "2024-05-15T09:30:00Z"),
        ("1mo", "2024-04-15T10:30:00Z"),
        ("3 months", "2024-02-15T10:30:00Z"),
        ("1y", "2023-05-15T10:30:00Z"),
        # 15 May 2024 is a Wednesday.
        ("monday", "2024-05-13T00:00:00Z"),
        ("last monday", "2024-05-13T00:00:00Z"),
        ("last-wednesday", "2024-05-08T00:00:00Z"),
        ("last thursday", "2024-05-09T00:00:00Z"),
        ("this week", "2024-05-13T00:00:00Z"),
        ("last week", "2024-05-06T00:00:00Z"),
        ("this month", "2024-05-01T00:00:00Z"),
        ("last month", "2024-04-01T00:00:00Z"),
        ("this year", "2024-01-01T00:00:00Z"),
        ("last year", "2023-01-01T00:00:00Z"),
        ("may 2023", "2023-05-01T00:00:00Z"),
        ("Sept 2023", "2023-09-01T00:00:00Z"),
    ],
)
def test_a_moment_can_be_written_as_people_say_it(value: str, time: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memglot.arguments.now", lambda: parse_time("2024-05-15T10:30:00Z"))
    assert parse_moment(value) == parse_time(time)


@pytest.mark.parametrize(
    ("at", "value", "time"),
    [
        ("2024-03-31T08:00:00Z", "1mo", "2024-02-29T08:00:00Z"),
        ("2024-02-29T08:00:00Z", "1y", "2023-02-28T08:00:00Z"),
        ("2024-01-15T08:00:00Z", "last month", "2023-12-01T00:00:00Z"),
        ("2024-12-31T08:00:00Z", "12mo", "2023-12-31T08:00:00Z"),
        ("2024-05-13T08:00:00Z", "monday", "2024-05-06T00:00:00Z"),
    ],
)
def test_months_have_different_lengths(at: str, value: str, time: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memglot.arguments.now", lambda: parse_time(at))
    assert parse_moment(value) == parse_time(time)


@pytest.mark.parametrize("value", ["9999y", "999999mo", "999999w", "7 ducks", "last soon", "ma 2024", "may 0000", "7"])
def test_a_spoken_time_out_of_range_is_one_clear_error(value: str) -> None:
    with pytest.raises(UsageError, match="is not a valid time$"):
        parse_moment(value)


def test_a_single_value_may_replace_a_list() -> None:
    assert make_filter(kind="note", scope="", status="stale", tags="x", without_tags="y") == Filter(
        kind=("note",), scope=("",), status=("stale",), tags=("x",), without_tags=("y",)
    )
    assert make_filter(kind=["note", "semantic"], tags=("x", "y")) == Filter(kind=("note", "semantic"), tags=("x", "y"))
    assert make_filter(kind=None, scope=(), tags=[], tree="", since=None).is_all


def test_times_of_filters_may_be_text() -> None:
    filter = make_filter(since="2024-05", updated_until="2024-05-01", temporal_within=["2024-05", "2024-05-01"])
    assert filter == Filter(since=DAY, updated_until=DAY, temporal_within=(DAY, DAY))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("chatgpt", ({"tool": "chatgpt"}, {"kind": "chatgpt"})),
        ("machine=m=1", ({"machine": "m=1"},)),
        ("tool=", ({"tool": ""},)),
        ('{"tool": "x", "n": 1}', ({"tool": "x", "n": 1},)),
        ({"tool": "x"}, ({"tool": "x"},)),
        (["tool=x", {"n": [1]}], ({"tool": "x"}, {"n": [1]})),
        ((), ()),
    ],
)
def test_a_source_is_a_word_a_key_with_its_value_or_an_object(source: Any, found: tuple[dict[str, Any], ...]) -> None:
    assert make_filter(source=source).source == found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": ""}, "it is empty"),
        ({"source": "=x"}, "the key is missing"),
        ({"source": "{x"}, "is not a valid source: JSON is malformed"),
        ({"source": 5}, "`source` must be an object, not int"),
        ({"source": [5]}, "`source` must be an object, not int"),
        ({"source": "\ud800"}, "a lone surrogate"),
        ({"meta": [1]}, "`meta` must be an object, not list"),
        ({"meta": {"k": "\ud800"}}, "a lone surrogate"),
        ({"meta": {"k": float("nan")}}, "meta"),
        ({"kind": 5}, "`kind` must be text, not int"),
        ({"kind": [None]}, "`kind` must be text, not NoneType"),
        ({"tags": ["\ud800"]}, "a lone surrogate"),
        ({"without_tags": "a\0"}, "NUL"),
        ({"tree": 5}, "`tree` must be text, not int"),
        ({"tree": "a/b"}, "labels of letters"),
        ({"tree": "a.*|b"}, "expected `.` or the end at position 3"),
        ({"temporal_within": ["2024"]}, "`temporal_within` needs two times"),
        ({"temporal_within": "2024"}, "`temporal_within` needs two times"),
        ({"temporal_overlaps": ("2024", "2023")}, "the earlier one first"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_bad_arguments_are_one_clear_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((UsageError, BadRecord)) as caught:
        make_filter(**arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize("operation", ["list", "count", "search", "export"])
def test_every_command_accepts_the_filters(operation: str) -> None:
    with Memory.open(":memory:") as memory:
        memory.add("apple", kind="note", tags=["x"], tree="work.a", temporal="2024-05-06")
        memory.add("apple", kind="rule", tree="work.b", temporal=["2025-01-01", "2025-02-01"])
        memory.add("apple", kind="semantic", tree="home")

        def number(**filters: Any) -> int:
            if operation == "list":
                return len(list(memory.list(**filters)))
            if operation == "count":
                return memory.count(**filters)
            if operation == "search":
                return memory.search("apple", **filters).total
            return memory.export(**filters).count

        assert number(kind="note") == 1
        assert number(kind=["note", "rule"]) == 2
        assert number(without_tags="x") == 2
        assert number(tree="*.a|b") == 2
        assert number(temporal_before="2025") == 1
        assert number(temporal_after="2024-12", kind="rule") == 1
        assert number(updated_until="2020") == 0
        assert number(source="chatgpt") == 0
        assert number(meta={}) == 3
        with pytest.raises(MemglotError):
            number(tree="*a")
