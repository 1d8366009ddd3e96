"""Machines that consolidate independently: one copy stays, and no field of any copy is lost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memglot import Memory
from memglot.formats.core.sidecar import encode_item
from memglot.model import Conflict, Entity, Foreign, Record, Relation, Supersession, Tombstone, times

ID = "0190a0b0-0000-7000-8000-00000000000%d"
START = 1_800_000_000_000_000
FORMATS = {"sqlite": ".db", "ndjson": ".ndjson", "memories-json": ".json"}


@contextmanager
def present(at: int) -> Iterator[None]:
    """Set the current time, in microseconds after the start."""
    with patch.object(times, "time", SimpleNamespace(time_ns=lambda: (START + at) * 1000)):
        yield


def agreed(memory: Memory) -> list[bytes]:
    """Return everything that must be equal in two stores."""
    found = [encode_item(record) for record in memory.list(with_deleted=True)]
    kinds = (Entity, Relation, Supersession, Tombstone, Conflict)
    return found + [encode_item(thing) for kind in kinds for thing in memory.store.things.select(kind)]


class Two:
    """Two stores that exchange files."""

    def __init__(self, folder: Path, format: str = "memories-json") -> None:
        self.one, self.two = Memory.open(":memory:"), Memory.open(":memory:")
        self._path, self._format = folder / f"file{FORMATS[format]}", format

    def send(self, source: Memory, target: Memory) -> Any:
        """Import one store into the other."""
        source.export(self._path, format=self._format, force=True)
        result = target.import_from(self._path, conflict="merge", dedup=False)
        assert list(result.errors) == []
        return result

    def exchange(self, times: int = 2) -> None:
        """Import each store into the other a number of times."""
        for _ in range(times):
            self.send(self.one, self.two)
            self.send(self.two, self.one)

    def close(self) -> None:
        """Close both stores."""
        self.one.close()
        self.two.close()


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Two]:
    found = Two(tmp_path)
    yield found
    found.close()


COPIES = st.sets(st.integers(1, 4), min_size=1)
SAID: st.SearchStrategy[set[str]] = st.sets(st.sampled_from(["title", "tags", "meta", "foreign", "used"]))


def copy_of(number: int, said: set[str]) -> Record:
    return Record(
        id=ID % number,
        content="same",
        created_at=START + 9 - 2 * number,
        updated_at=START + 9 - number,
        title="told" if "title" in said else None,
        tags=[f"t{number}"] if "tags" in said else [],
        meta={f"m{number}": number} if "meta" in said else {},
        foreign=[Foreign("csv", str(number))] if "foreign" in said else [],
    )


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60)
@given(
    copies=st.tuples(COPIES, COPIES),
    said=st.lists(SAID, min_size=4, max_size=4),
    whens=st.tuples(st.integers(-50, 50), st.integers(-50, 50)),
)
def test_no_copy_and_none_of_its_fields_are_lost(
    format: str, copies: tuple[set[int], set[int]], said: list[set[str]], whens: tuple[int, int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        two = Two(Path(folder), format)
        for memory, numbers in zip((two.one, two.two), copies, strict=True):
            with memory.store.writing():
                memory.store.records.add([copy_of(number, said[number - 1]) for number in sorted(numbers)])
                for record in memory.list():
                    # Each machine counts accesses separately.
                    record.access_count = 5 if "used" in said[int(record.id[-1]) - 1] and memory is two.two else 0
                    memory.store.records.replace(record)
        for memory, when in zip((two.one, two.two), whens, strict=True):
            with present(when):
                memory.consolidate()
        two.exchange()
        assert agreed(two.one) == agreed(two.two)
        with present(99):
            two.one.consolidate()
        two.exchange()
        assert agreed(two.one) == agreed(two.two)
        (found,) = two.one.list()
        told = {number: said[number - 1] for number in sorted(copies[0] | copies[1])}
        assert found.id == ID % max(told)
        assert (found.title == "told") == any("title" in one for one in told.values())
        assert found.tags == [f"t{number}" for number, one in told.items() if "tags" in one]
        assert found.meta == {f"m{number}": number for number, one in told.items() if "meta" in one}
        assert {one.id for one in found.foreign} == {str(number) for number, one in told.items() if "foreign" in one}
        assert (two.send(two.one, two.two).import_id, two.send(two.two, two.one).import_id) == (None, None)
        assert list(two.one.conflicts()) == [] and two.one.doctor().ok and two.two.doctor().ok
        two.close()


def test_different_access_counts_do_not_delete_every_copy(both: Two) -> None:
    for number in (1, 2):
        both.one.add("same", id=ID % number)
    both.exchange()
    used = both.two.get(ID % 2)
    used.access_count = 5
    with both.two.store.writing():
        both.two.store.records.replace(used)
    both.one.consolidate()
    both.two.consolidate()
    both.exchange()
    assert [record.id for record in both.one.list()] == [record.id for record in both.two.list()] == [ID % 1]
    assert both.one.get(ID % 1).access_count == 5


def add_duplicates(both: Two) -> None:
    """Add two duplicates on both machines."""
    for number in (1, 2):
        with present(number):
            both.one.add("same", id=ID % number, tags=[f"t{number}"])
    both.exchange(1)


def test_a_copy_is_restored_if_its_target_was_deleted_elsewhere(both: Two) -> None:
    add_duplicates(both)
    with present(10):
        both.one.consolidate()
    with present(20):
        both.two.delete(ID % 1)
    both.exchange()
    assert agreed(both.one) == agreed(both.two)
    assert [record.id for record in both.two.list()] == [ID % 2]


def test_deleting_a_memory_deletes_what_was_merged_into_it(both: Two) -> None:
    add_duplicates(both)
    with present(10):
        both.one.add("same", id=ID % 3)
        both.one.consolidate()
    with present(20):
        both.one.delete(ID % 1)
    both.exchange()
    assert agreed(both.one) == agreed(both.two)
    assert list(both.one.list()) == list(both.two.list()) == []
    assert both.one.undelete(ID % 1).tags == ["t1", "t2"]
    assert [record.id for record in both.one.list()] == [ID % 1]


def test_a_copy_that_was_edited_elsewhere_is_not_a_duplicate(both: Two) -> None:
    add_duplicates(both)
    with present(10):
        both.two.update(ID % 2, content="other")
    with present(20):
        both.one.consolidate()
    both.exchange()
    assert agreed(both.one) == agreed(both.two)
    assert [record.content for record in both.one.list()] == ["same", "other"]


def test_a_circle_of_redirects_leaves_one_memory(both: Two) -> None:
    add_duplicates(both)
    for memory, gone, stays in ((both.one, 1, 2), (both.two, 2, 1)):
        memory.delete(ID % gone, reason=f"merged into {ID % stays}")
    both.exchange()
    assert agreed(both.one) == agreed(both.two)
    assert memory.count() == 1


def test_undo_of_an_import_that_merged_and_restored(both: Two) -> None:
    add_duplicates(both)
    before = agreed(both.two)
    with present(10):
        both.one.consolidate()
    both.send(both.one, both.two)
    assert both.two.count() == 1
    both.two.undo("last")
    assert agreed(both.two) == before
    with present(20):
        both.two.delete(ID % 1)
    before = agreed(both.one)
    both.send(both.two, both.one)
    assert [record.id for record in both.one.list()] == [ID % 2]
    both.one.undo("last")
    assert agreed(both.one) == before


def test_a_removed_key_stays_removed_without_a_conflict(both: Two) -> None:
    for number in (1, 2):
        with present(number):
            both.one.add("same", id=ID % number, meta={"k": number, f"k{number}": number})
    with present(5):
        both.one.update(ID % 1, meta={"k1": 1})
    both.exchange(1)
    with present(9):
        both.one.consolidate()
    assert both.send(both.one, both.two).conflicts == 0
    assert both.one.get(ID % 1).meta == both.two.get(ID % 1).meta == {"k1": 1, "k2": 2}
    assert agreed(both.one) == agreed(both.two)


@pytest.mark.parametrize("format", FORMATS)
def test_links_of_a_merged_memory_are_not_restored(tmp_path: Path, format: str) -> None:
    both = Two(tmp_path, format)
    add_duplicates(both)
    with present(5):
        both.one.add("third", id=ID % 3)
        for number in (1, 2):
            both.one.link(ID % 3, "knows", ID % number)
        with both.one.store.writing():
            both.one.store.things.put([Supersession(newer=ID % 3, older=ID % 2, decided_at=START + 5)])
    both.exchange()
    with present(9):
        both.one.consolidate()
    after = agreed(both.one)
    both.send(both.two, both.one)
    assert agreed(both.one) == after
    assert [(one.newer, one.older) for one in both.one.chain()] == [(ID % 3, ID % 1)]
    assert [one.object.id for one in both.one.relations()] == [ID % 1]
    both.exchange()
    assert agreed(both.one) == agreed(both.two) == after
    both.close()


@pytest.mark.parametrize("format", FORMATS)
def test_a_link_to_a_memory_merged_elsewhere_is_redirected(tmp_path: Path, format: str) -> None:
    both = Two(tmp_path, format)
    add_duplicates(both)
    with present(5):
        both.two.add("third", id=ID % 3)
        both.two.link(ID % 3, "knows", ID % 2)
    with present(9):
        both.one.consolidate()
    both.exchange()
    assert agreed(both.one) == agreed(both.two)
    assert [one.object.id for one in both.one.relations()] == [ID % 1]
    both.close()


@pytest.mark.parametrize("format", FORMATS)
def test_a_revoked_supersession_stays_revoked_until_it_is_repeated(tmp_path: Path, format: str) -> None:
    both = Two(tmp_path, format)
    for number in (1, 2):
        both.one.add(f"text {number}", id=ID % number)
    with present(1):
        both.one.supersede(ID % 2, ID % 1)
    both.exchange(1)
    for at, newer, older in ((2, 1, 2), (3, 2, 1)):
        with present(at):
            both.one.supersede(ID % newer, ID % older)
        both.send(both.two, both.one)
        assert [(one.newer, one.older) for one in both.one.chain()] == [(ID % newer, ID % older)]
        both.exchange()
        assert agreed(both.one) == agreed(both.two)
    both.close()


def test_an_edit_now_is_later_than_a_clock_that_is_ahead(both: Two) -> None:
    with present(10**12):
        for number in (1, 2):
            both.two.add(f"text {number}", id=ID % number)
        both.two.add_entity("Anna", "person")
        both.two.supersede(ID % 1, ID % 2, reason="old")
    both.send(both.two, both.one)
    for scope in "abcdef":
        with present(5):
            both.one.add_entity("Anna", "person", scope=scope)
            both.one.supersede(ID % 1, ID % 2, reason=scope)
        assert both.send(both.two, both.one).import_id is None
        assert [one.scope for one in both.one.entities()] == [one.reason for one in both.one.chain()] == [scope]
