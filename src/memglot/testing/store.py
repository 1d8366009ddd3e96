"""Conformance suite: tests that every store must pass. The test file of a store only provides the fixture.

class TestMyStore(StoreConformance):
    @pytest.fixture
    def store(self, tmp_path):
        ...
"""

from __future__ import annotations

from typing import Any

import pytest

from memglot.model import (
    DELETED,
    Entity,
    Relation,
    Tombstone,
    content_hash,
    to_builtins,
)
from memglot.store.audit_chain import first_broken
from memglot.store.contract import Base, Import, Operation, Revision, Store
from memglot.store.query import Filter, Query
from memglot.testing.filters import FilterConformance
from memglot.testing.samples import make, one_of_each_thing, whole_record
from memglot.testing.settings import SettingsConformance
from memglot.text.terms import terms_of


def asked(text: str, **more: Any) -> Query:
    """Return a query for the words of a text."""
    return Query(terms=terms_of(text), **more)


def count_found(store: Store, text: str, filter: Filter = Filter()) -> int:
    """Return the number of records that match the words of a text."""
    return store.search.count_matches(asked(text), filter)[0]


class StoreConformance(SettingsConformance, FilterConformance):
    """Tests of the contract in `memglot.store.contract`."""

    def test_a_stored_record_is_equal_in_every_field(self, store: Store) -> None:
        record = whole_record()
        with store.writing():
            store.records.add([record])
        assert store.records.get([record.id]) == [record]

    def test_records_are_ordered_by_time_then_id(self, store: Store) -> None:
        records = [make(str(number), created_at=number % 3 + 1) for number in range(9)]
        with store.writing():
            store.records.add(records)
        expected = sorted(records, key=lambda record: (record.created_at, record.id))
        assert list(store.records.select()) == expected
        assert list(store.records.select(newest_first=True)) == expected[::-1]
        assert list(store.records.select(limit=2, offset=3)) == expected[3:5]

    def test_an_error_rolls_the_transaction_back(self, store: Store) -> None:
        with store.writing():
            store.records.add([make("before")])
        with pytest.raises(ZeroDivisionError), store.writing():
            store.records.add([make("inside")])
            with store.writing():
                store.history.log("add", "x", "user", {})
            raise ZeroDivisionError
        assert [record.content for record in store.records.select()] == ["before"]
        assert count_found(store, "inside") == 0
        assert list(store.history.events()) == []

    def test_replace_updates_record_and_index(self, store: Store) -> None:
        record = make("apples")
        with store.writing():
            store.records.add([record])
        record.content, record.tags = "pears", ["fruit"]
        with store.writing():
            store.records.replace(record)
        assert store.records.get([record.id]) == [record]
        record.strength = 0.5
        with store.writing():
            store.records.replace(record)
        assert store.records.get([record.id]) == [record]
        assert count_found(store, "apples") == 0
        assert count_found(store, "fruit") == 1
        assert list(store.verify()) == []

    def test_remove_deletes_from_the_index_and_new_records_are_found(self, store: Store) -> None:
        records = [make("plum"), make("quince")]
        with store.writing():
            store.records.add(records)
            store.records.remove([records[1].id, "not-there"])
        with store.writing():
            store.records.add([make("medlar")])
        assert count_found(store, "quince") == 0
        assert count_found(store, "medlar") == 1
        assert list(store.verify()) == []

    def test_known_and_prefixes(self, store: Store) -> None:
        record = make("x")
        with store.writing():
            store.records.add([record])
        assert store.records.known([record.id, "y"]) == {record.id}
        assert store.records.ids_starting_with(record.id[:8], 5) == [record.id]
        assert store.records.ids_starting_with("ffff", 5) == []

    def test_ids_are_found_by_their_endings(self, store: Store) -> None:
        one, two = make("x"), make("y")
        with store.writing():
            store.records.add([one, two])
        assert store.records.ids_ending_with([one.id[-8:], "zzzzzzzz"]) == [one.id]
        assert store.records.ids_ending_with([one.id[-12:], two.id[-12:]]) == sorted([one.id, two.id])
        assert store.records.ids_ending_with([]) == []

    def test_ids_by_content_compare_hash_kind_and_scope(self, store: Store) -> None:
        records = [make("same"), make("same"), make("same", kind="note")]
        deleted = make("same", status=DELETED)
        with store.writing():
            store.records.add([deleted, *records])
        hash = content_hash("same")
        keys = [(hash, "semantic", "user"), (hash, "note", "user"), (hash, "note", "other")]
        assert store.records.ids_by_content(keys) == {keys[0]: records[0].id, keys[1]: records[2].id}

    def test_duplicates_share_content_kind_and_scope(self, store: Store) -> None:
        records = [make("same") for _ in range(3)] + [make("other"), make("other")]
        alone = [make("same", kind="note"), make("same", scope="team"), make("same", status=DELETED), make("single")]
        with store.writing():
            store.records.add([*alone, *records])
        groups = [sorted(record.id for record in some) for some in (records[:3], records[3:])]
        assert sorted(store.records.duplicates()) == sorted(groups)

    def test_search_ranks_counts_and_excludes(self, store: Store) -> None:
        with store.writing():
            store.records.add(
                [
                    make("the quick brown fox"),
                    make("quick quick"),
                    make("Quíck 重跑gen-itgc后"),
                    make("quick", status=DELETED),
                ]
            )
        hits = store.search.match(asked("quick"), Filter(), 2)
        assert (len(hits), count_found(store, "quick")) == (2, 3)
        assert hits[0].score >= hits[1].score
        assert store.search.count_matches(Query(phrases=("quick brown",)), Filter())[0] == 1
        assert store.search.count_matches(asked("quick", without=("fox",)), Filter())[0] == 2
        assert count_found(store, "重跑") == 1
        assert store.search.count_matches(asked("quick", grep="^the"), Filter())[0] == 1
        assert count_found(store, 'zebra" OR "yak') == 0

    def test_count_by_tree(self, store: Store) -> None:
        with store.writing():
            store.records.add(
                [make("1"), make("2", tree="a.b"), make("3", tree="a.b"), make("4", tree="a", status=DELETED)]
            )
        assert sorted(
            store.records.count_by(
                "tree",
            )
        ) == [("", 1), ("a.b", 2)]

    def test_count_by_tag_and_kind(self, store: Store) -> None:
        with store.writing():
            store.records.add(
                [
                    make("1", tags=["b", "a"], kind="note"),
                    make("2", tags=["a"], tree="x"),
                    make("3", tree="x"),
                    make("4", tags=["a"], status=DELETED),
                ]
            )
        assert list(store.records.count_by("tag")) == [("a", 2), ("b", 1)]
        assert list(store.records.count_by("tag", Filter(tree="x"))) == [("a", 1)]
        assert list(store.records.count_by("tag", Filter(tags=("a",), without_tags=("b",)))) == [("a", 1)]
        assert list(store.records.count_by("kind")) == [("note", 1), ("semantic", 2)]

    def test_stored_things_of_every_kind_are_equal(self, store: Store) -> None:
        things = one_of_each_thing()
        with store.writing():
            store.things.put(things)
            store.things.put(things)
        for thing in things:
            assert list(store.things.select(type(thing))) == [thing]
            assert store.things.same_key(thing) == thing
            assert store.things.count(type(thing)) == 1
        assert store.things.same_keys([*reversed(things), Entity(id="no", name="x")]) == [*reversed(things), None]
        with store.writing():
            store.things.remove(things)
        assert [store.things.count(type(thing)) for thing in things] == [0] * len(things)

    def test_things_by_owner_and_by_second_key(self, store: Store) -> None:
        things = one_of_each_thing()
        with store.writing():
            store.things.put(things)
        assert list(store.things.select(Relation, ["s"])) == [things[0]]
        assert list(store.things.select(Relation, ["e1"])) == []
        assert list(store.things.by_second_key(Relation, "e1")) == [things[0]]
        assert list(store.things.by_second_key(Entity, "Solid")) == [things[1]]
        assert list(store.things.by_second_key(Tombstone, "ab")) == [things[5]]
        assert store.things.get(Entity, "e1") == things[1]
        assert store.things.get(Entity, "e2") is None

    def test_revisions_are_ordered_oldest_first(self, store: Store) -> None:
        record = make("x")
        with store.writing():
            batch = self._batch(store)
            store.history.add_revisions(
                [
                    Revision(kind="record", key=record.id, at=1, action="update", before=to_builtins(record)),
                    Revision(
                        kind="record", key=record.id, at=2, action="import", before=None, batch=batch, previous_batch=9
                    ),
                ]
            )
        assert [revision.at for revision in store.history.revisions(key=record.id)] == [1, 2]
        assert [revision.before for revision in store.history.revisions(key=record.id)] == [to_builtins(record), None]
        (found,) = store.history.revisions(batches=[batch])
        assert found.at == 2
        assert list(store.history.revisions(previous_batches=[9])) == [found]
        with store.writing():
            store.history.delete_revisions([found.number])
        assert [revision.at for revision in store.history.revisions(key=record.id)] == [1]

    def test_revisions_are_found_by_their_numbers(self, store: Store) -> None:
        assert store.history.last_revision() == 0
        with store.writing():
            for kind, key in (("record", "a"), ("record", "a"), ("record", "b"), ("batch", "i")):
                store.history.add_revisions([Revision(kind=kind, key=key, at=1, action="update", before=None)])
        last = store.history.last_revision()
        assert [one.key for one in store.history.revisions_between(last - 2, last)] == ["i", "b", "a"]
        found = store.history.record_changes(["a", "b", "c"], last - 3)
        assert sorted((one.key, one.number, one.before) for one in found) == [
            ("a", last - 2, None),
            ("b", last - 1, None),
        ]
        assert store.history.count_changed(last - 3, last) == 2 and store.history.count_changed(last, last) == 0

    def test_operations_are_replaced_by_id_and_newest_first(self, store: Store) -> None:
        first, second = (Operation(id=f"0194a000-000{number}", at=number, action="move") for number in (1, 2))
        with store.writing():
            store.history.add_revisions([Revision(kind="record", key="a", at=1, action="move", before=None)])
            first.parts = second.parts = [(1, 1)]
            for operation in (first, second):
                store.history.put_operation(operation)
            first.parts, first.details = [(1, 1), (7, 9)], {"source": "a"}
            store.history.put_operation(first)
        assert list(store.history.operations()) == [second, first]

    def test_the_audit_chain_is_intact_until_it_is_changed(self, store: Store) -> None:
        with store.writing():
            for number in range(3):
                store.history.log("add", f"id{number}", "user", {"n": number})
        events = list(store.history.events())
        head = store.history.chain_head()
        assert first_broken(events, head) is None
        assert all(store.history.has_event(event.this_hash) for event in events)
        assert not store.history.has_event("") and not store.history.has_event("0" * 64)
        assert first_broken(events[:2], head) == 3
        assert first_broken(events[1:], head) == 1
        events[1].details = {"n": 9}
        assert first_broken(events, head) == 2
        assert [event.seq for event in store.history.events(newest_first=True, limit=2)] == [3, 2]
        assert [event.seq for event in store.history.events(target="id1")] == [2]

    def test_imports_and_their_batches(self, store: Store) -> None:
        closed = store.hidden is not None
        first = Import(id="i1", at=1, sources=["a"], format="json", closed=closed)
        record, thing = make("x"), one_of_each_thing()[1]
        with store.writing():
            store.history.put_import(first)
            batch = store.history.new_batch("i1")
            store.records.add([record, make("y")], batch)
            store.things.put([thing], batch)
            store.records.add([make("z")])
            first.state = "done"
            store.history.put_import(first)
            store.history.put_import(Import(id="i2", at=2, sources=["b"], format="json", closed=closed))
        assert [entry.id for entry in store.history.imports()] == ["i2", "i1"]
        assert list(store.history.imports())[1] == first
        assert store.history.batches("i1") == [batch]
        added = store.records.ids_in_batches([batch])
        assert [store.records.get([id])[0].content for id in list(added)] == ["x", "y"]
        assert list(store.things.in_batches([batch])) == [thing]
        assert store.history.import_of(record.id) == "i1"

    def test_imports_of_one_moment_are_in_order_of_arrival(self, store: Store) -> None:
        for id in ("b", "c", "a"):
            with store.writing():
                store.history.put_import(Import(id=id, at=1, sources=[], format="ndjson", closed=True))
        with store.writing():
            store.history.put_import(Import(id="b", at=1, sources=[], format="ndjson", state="done", closed=True))
        assert [entry.id for entry in store.history.imports()] == ["a", "c", "b"]

    def test_origins_and_changes_of_records(self, store: Store) -> None:
        one, two = make("one"), make("two")
        with store.writing():
            store.history.put_import(Import(id="i", at=1, sources=[], format="ndjson"))
            batches = [store.history.new_batch("i", format) for format in ("csv", "")]
            store.records.add([one], batches[0])
            store.records.add([two])
        # A batch of an earlier version has the format of its import.
        assert store.history.formats(batches) == {batches[0]: "csv", batches[1]: "ndjson"}
        assert store.history.origins([one.id, two.id, "unknown"]) == {one.id: ("csv", False), two.id: (None, False)}
        with store.writing():
            store.history.add_revisions(
                [
                    Revision(kind="base", key=one.id, at=1, action="import", before={}),
                    Revision(kind="record", key=two.id, at=1, action="update", before=to_builtins(two)),
                ]
            )
        assert store.history.origins([one.id, two.id]) == {one.id: ("csv", False), two.id: (None, True)}

    def test_bases_are_replaced_by_tool_space_and_record(self, store: Store) -> None:
        first = Base(tool="t", space="s", record="a", said={"content": ["1"]}, held={"content": "2"}, updated_at=3)
        other = [Base(tool="t", space="", record="a"), Base(tool="u", space="s", record="a")]
        apart = Base(tool="t", space="s", record="b", batch=7)
        changed = Base(tool="t", space="s", record="a", said={"content": ["1", "2"]}, batch=8)

        def found(*ids: str) -> list[Base]:
            return sorted(store.history.bases(ids), key=lambda base: (base.record, base.tool, base.space))

        with store.writing():
            store.history.put_bases([first, *other, apart])
        assert found("a") == [other[0], first, other[1]]
        with store.writing():
            store.history.put_bases([changed])
        assert found("a", "b", "c") == [other[0], changed, other[1], apart]
        with store.writing():
            store.history.remove_bases([first, apart])
        assert found("a", "b") == other

    def test_digests_of_imported_records_lead_to_their_memories(self, store: Store) -> None:
        history, one, two = store.history, b"1" * 16, b"2" * 16
        assert not history.has_imported_digests()
        with store.writing():
            batch = self._batch(store)
            history.put_imported_digests([(one, "b"), (one, "a"), (two, "c")], batch)
        assert history.has_imported_digests()
        assert history.imported_as([one, two, b"3" * 16], other_than="") == {one: ["b", "a"], two: ["c"]}
        assert history.imported_as([one], other_than="i0") == {}
        with store.writing():
            history.remove_imported_digests(["b", "c"])
        assert history.imported_as([one, two], other_than="") == {one: ["a"]}

    def test_everything_is_found_after_a_bulk_load(self, store: Store) -> None:
        for _ in range(2):
            with store.loading(by_content=False):
                for number in range(3):
                    with store.writing():
                        store.records.add([make(f"apple {number}"), make("pear")])
        assert store.records.count() == 12
        assert count_found(store, "apple") == 6
        assert list(store.verify()) == []

    def test_records_with_digest_have_their_digest(self, store: Store) -> None:
        from memglot.model import record_digest, stored_digest

        record = whole_record()
        with store.writing():
            store.records.add([record])
        (found,) = store.records.select(with_digest=True)
        assert found == record
        assert stored_digest(found) == record_digest(record)

    def test_repair_leaves_an_intact_store(self, store: Store) -> None:
        with store.writing():
            store.records.add([make("apple")])
        store.repair()
        assert list(store.verify()) == []
        assert count_found(store, "apple") == 1

    def _batch(self, store: Store) -> int:
        store.history.put_import(Import(id="i0", at=0, sources=[], format=""))
        return store.history.new_batch("i0")
