"""Conformance tests for filters: what each selects, alone, in a search, and page by page."""

from __future__ import annotations

import pytest

from memglot.errors import UsageError
from memglot.model import DELETED, Record, Temporal
from memglot.store.contract import Store
from memglot.store.query import Filter, Query
from memglot.testing.samples import make
from memglot.text.terms import terms_of

HOUR = 3_600_000_000


def _records() -> list[Record]:
    """Return five memories, `a` to `e`, each with the word `apple`; the last one is deleted."""
    a, b, c, d, e = (f"{letter} apple" for letter in "abcde")
    hours = Temporal(HOUR, 6 * HOUR)
    return [
        make(a, tree="work", created_at=1, updated_at=9, meta={"k": {"n": 1, "m": 2}}, temporal=hours),
        make(b, tree="work.x", created_at=2, tags=["x", "y"], meta={"l": [1, 2]}, temporal=Temporal(7 * HOUR)),
        make(
            c, tree="workshop.X_1", created_at=3, kind="note", tags=["x"] * 2, source={"tool": "t", "n": {"m": [1, 2]}}
        ),
        make(d, created_at=4, scope="team", source={"conversation": "c", "kind": "t"}),
        make(e, created_at=5, status=DELETED),
    ]


FILTERS = [
    (Filter(), "abcd"),
    (Filter(tree=""), "abcd"),
    (Filter(tree="work"), "ab"),
    (Filter(tree="wor"), ""),
    (Filter(tree="work*"), "a"),
    (Filter(tree="work.*{1}"), "b"),
    (Filter(tree="work*.*"), "abc"),
    (Filter(tree="*.x@*"), "bc"),
    (Filter(tree="*.x%@"), "bc"),
    (Filter(tree="!work.*"), "c"),
    (Filter(tree="*{0}"), "d"),
    (Filter(tree="work|workshop.*"), "abc"),
    (Filter(tree="work & !x"), "a"),
    (Filter(tree="!work & !workshop"), "d"),
    (Filter(tags=("x",)), "bc"),
    (Filter(tags=("x", "y")), "b"),
    (Filter(tags=("x",) * 2000), "bc"),
    (Filter(tags=("x", "z")), ""),
    (Filter(without_tags=("y", "z")), "acd"),
    (Filter(tags=("x",), without_tags=("y",)), "c"),
    (Filter(kind=("note",)), "c"),
    (Filter(kind=("note", "semantic")), "abcd"),
    (Filter(scope=("team",)), "d"),
    (Filter(scope=("team", "user", "none")), "abcd"),
    (Filter(status=(DELETED,)), "e"),
    (Filter(status=(DELETED, "active")), "abcde"),
    (Filter(with_deleted=True), "abcde"),
    (Filter(meta={}), "abcd"),
    (Filter(meta={"k": {"n": 1}}), "a"),
    (Filter(meta={"l": [2]}), "b"),
    (Filter(source=({},)), "abcd"),
    (Filter(source=({"tool": "t"},)), "c"),
    (Filter(source=({"n": {"m": [2]}},)), "c"),
    (Filter(source=({"tool": "t"}, {"kind": "t"})), "cd"),
    (Filter(source=({"tool": "t", "kind": "t"},)), ""),
    (Filter(since=2, until=4), "bc"),
    (Filter(updated_since=2, updated_until=9), "bcd"),
    (Filter(updated_since=9), "a"),
    (Filter(temporal_contains=HOUR), "a"),
    (Filter(temporal_contains=6 * HOUR), ""),
    (Filter(temporal_contains=7 * HOUR), "b"),
    (Filter(temporal_overlaps=(HOUR, 6 * HOUR)), "a"),
    (Filter(temporal_overlaps=(6 * HOUR, 9 * HOUR)), "b"),
    (Filter(temporal_overlaps=(7 * HOUR, 7 * HOUR)), "b"),
    (Filter(temporal_overlaps=(6 * HOUR, 7 * HOUR)), ""),
    (Filter(temporal_within=(0, 6 * HOUR)), "a"),
    (Filter(temporal_within=(7 * HOUR, 7 * HOUR)), "b"),
    (Filter(temporal_within=(2 * HOUR, 7 * HOUR)), ""),
    (Filter(temporal_before=6 * HOUR), "a"),
    (Filter(temporal_before=7 * HOUR), "a"),
    (Filter(temporal_before=7 * HOUR + 1), "ab"),
    (Filter(temporal_before=6 * HOUR - 1), ""),
    (Filter(temporal_after=HOUR), "b"),
    (Filter(temporal_after=HOUR - 1), "ab"),
    (Filter(temporal_after=7 * HOUR), ""),
    (Filter(temporal_after=0, temporal_before=7 * HOUR), "a"),
    (Filter(without_scopes=("user",)), "d"),
    (Filter(with_conversations=False), "abc"),
    (Filter(tree="work", tags=("x",), since=2), "b"),
]
"""Filters, and the memories of `_records` that each of them selects."""


class FilterConformance:
    """Tests of `memglot.store.query.Filter`."""

    @pytest.mark.parametrize(("filter", "found"), FILTERS)
    def test_filters_select_count_and_narrow_a_search(self, store: Store, filter: Filter, found: str) -> None:
        with store.writing():
            store.records.add(_records())
        assert "".join(record.content[0] for record in store.records.select(filter)) == found
        assert store.records.count(filter) == len(found)
        assert sum(count for _, count in store.records.count_by("tree", filter)) == len(found)
        assert sum(count for _, count in store.records.count_by("scope", filter)) == len(found)
        query = Query(terms=terms_of("apple"))
        hits = store.search.records_at([match.number for match in store.search.match(query, filter, 9)])
        total, _ = store.search.count_matches(query, filter)
        assert (sorted(record.content[0] for record in hits), total) == (list(found), len(found))

    @pytest.mark.parametrize("newest_first", [False, True])
    def test_pages_partition_the_whole(self, store: Store, newest_first: bool) -> None:
        records = [make(f"{number}", created_at=number % 3 + 1, tags=["x"] * (number % 2)) for number in range(25)]
        with store.writing():
            store.records.add(records)
        for filter in (Filter(), Filter(tags=("x",))):
            whole = list(store.records.select(filter, newest_first=newest_first))
            pages = [
                list(store.records.select(filter, newest_first=newest_first, limit=4, offset=offset))
                for offset in range(0, store.records.count(filter), 4)
            ]
            assert [record for page in pages for record in page] == whole
            assert list(store.records.select(filter, newest_first=newest_first, limit=4, offset=len(whole))) == []

    def test_only_what_leaves_nothing_out_is_all(self) -> None:
        every = [Filter(), Filter(tree=""), Filter(meta={}), Filter(source=({"tool": "t"}, {}))]
        every += [Filter(with_deleted=True), Filter(with_conversations=False)]
        assert [filter for filter in every if not filter.is_all] == []
        some = [filter for filter, found in FILTERS if found not in ("abcd", "abcde")] + [Filter(without_tags=("x",))]
        assert [filter for filter in some if filter.is_all] == [Filter(with_conversations=False)]

    def test_a_bad_tree_pattern_is_refused_by_an_empty_store_too(self, store: Store) -> None:
        with pytest.raises(UsageError, match="position 2"):
            store.records.count(Filter(tree="a|"))
