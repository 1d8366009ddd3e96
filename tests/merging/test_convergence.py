"""Merging is commutative, associative and idempotent: in memory, and between five stores that exchange files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memglot import MemglotError, Memory
from memglot.formats.core.sidecar import encode_item
from memglot.merging.memory_state import MemoryState, join_states
from memglot.merging.records import conflicts_of
from memglot.merging.registers import normalise, parse_path, path_name, set_time, split_record, stamp_edit
from memglot.merging.things import join_things
from memglot.model import (
    Conflict,
    Document,
    Entity,
    Foreign,
    Item,
    Record,
    Relation,
    Supersession,
    Temporal,
    Tombstone,
    canonical,
    canonical_record,
    times,
)

ID = "0194a000-0001-7000-8000-00000000000%d"
CLOCKS = st.integers(1, 4)
VALUES = st.sampled_from([None, 0, 1, 1.0, True, "", "a", [1], {}, {"a": 1}])
NAMES = st.sampled_from(
    [
        *("content", "title", "kind", "temporal", "strength", "tags", "nonsense"),
        *("meta", "meta.k", "meta.l", "meta.k.l", "source", "source.machine", "source.task"),
        *("extra", "extra.t", "extra.t.a", "extra.t.aliases", "extra.t.frontmatter", "extra.t.frontmatter.a"),
        *("extra.t.frontmatter%2Ea", "extra.t%2Enote", "extra.consolidation", "extra.%25"),
    ]
)
LISTS = st.sampled_from([[], ["a"], ["b", "a"], ["a", "b"], ["c"]])
KEPT: st.SearchStrategy[Any] = st.dictionaries(
    st.sampled_from(["a", "aliases", "frontmatter", "frontmatter.a", "places"]),
    VALUES | LISTS | st.dictionaries(st.sampled_from(["a", "tags"]), VALUES | LISTS, max_size=2),
    max_size=3,
)


@st.composite
def records(draw: Any) -> Record:
    """Generate a version of one memory with any clocks."""
    record = Record(
        id=ID % 1,
        content=draw(st.sampled_from(["x", "y", "z"])),
        title=draw(st.sampled_from([None, "", "a", "b"])),
        kind=draw(st.sampled_from(["semantic", "note"])),
        tags=list(draw(LISTS)),
        triggers=list(draw(LISTS)),
        meta=draw(st.dictionaries(st.sampled_from(["k", "l", "k.l"]), VALUES, max_size=2)),
        temporal=draw(st.sampled_from([None, Temporal(1), Temporal(1, 2)])),
        strength=draw(st.sampled_from([None, 0.0, 0.5])),
        created_at=draw(CLOCKS),
        updated_at=draw(CLOCKS),
        last_accessed=draw(st.none() | CLOCKS),
        access_count=draw(st.integers(0, 2)),
        source=draw(st.dictionaries(st.sampled_from(["machine", "task"]), VALUES, max_size=2)),
        foreign=[Foreign("csv", name) for name in draw(LISTS)],
        extra=draw(st.dictionaries(st.sampled_from(["t", "t.note", "consolidation", "%"]), VALUES | KEPT, max_size=3)),
        clocks=draw(st.dictionaries(NAMES, CLOCKS, max_size=5)),
    )
    normalise(record)
    return record


@st.composite
def states(draw: Any) -> MemoryState:
    """Generate states of the memory in a store: active, deleted, with and without conflicts."""
    record = draw(st.none() | records())
    conflicts: list[Conflict] = []
    if record is not None:
        for path, register in split_record(record).registers.items():
            if draw(st.integers(0, 3)) == 0:
                values = draw(st.lists(VALUES, max_size=2))
                field = path_name(path)
                conflicts.append(Conflict(record=record.id, field=field, clock=register.clock, values=values))
        conflicts = conflicts_of(record, conflicts)
    deleted = draw(st.none() | CLOCKS)
    reason = draw(st.sampled_from(["", "a"]))
    tombstone = Tombstone(id=ID % 1, content_hash="", deleted_at=deleted, reason=reason) if deleted else None
    return join_states(MemoryState(record, tuple(conflicts)), MemoryState(tombstone=tombstone))


@settings(max_examples=600)
@given(states(), states(), states())
def test_states_join_in_any_order(one: MemoryState, two: MemoryState, three: MemoryState) -> None:
    assert join_states(one, two).value() == join_states(two, one).value()
    assert join_states(join_states(one, two), three).value() == join_states(one, join_states(two, three)).value()
    both = join_states(one, two)
    assert (
        join_states(both, one).value()
        == join_states(both, two).value()
        == join_states(both, both).value()
        == both.value()
    )
    assert join_states(one, one).value() == one.value()


def test_three_values_of_one_time_are_one_conflict() -> None:
    found = MemoryState()
    for value in ("a", "b", "c"):
        found = join_states(found, MemoryState(Record(id=ID % 1, content="x", title=value, updated_at=1, created_at=1)))
    assert [(conflict.field, conflict.clock, conflict.values) for conflict in found.conflicts] == [
        ("title", 1, ["a", "b", "c"])
    ]
    settled = join_states(found, MemoryState(Record(id=ID % 1, content="x", title="d", updated_at=2, created_at=1)))
    assert settled.record is not None and settled.record.title == "d" and settled.conflicts == ()


def test_an_explicit_null_wins_and_a_missing_value_does_not() -> None:
    old = Record(id=ID % 1, content="x", title="t", meta={"k": 1}, updated_at=1, created_at=1)
    silent = Record(id=ID % 1, content="x", updated_at=9, created_at=1)
    told = Record(id=ID % 1, content="x", updated_at=9, created_at=1, clocks={"title": 9, "meta.k": 9})
    for other, title, meta in ((silent, "t", {"k": 1}), (told, None, {})):
        merged = join_states(MemoryState(old), MemoryState(other)).record
        assert merged is not None and (merged.title, merged.meta) == (title, meta)


def test_the_clock_of_a_key_that_one_side_has_is_kept() -> None:
    one = Record(id=ID % 1, content="x", meta={"k": 1}, updated_at=1, created_at=1)
    two = Record(id=ID % 1, content="x", meta={"l": 1}, updated_at=9, created_at=1)
    three = Record(id=ID % 1, content="x", meta={"k": 2}, updated_at=5, created_at=1)
    merged = join_states(join_states(MemoryState(one), MemoryState(two)), MemoryState(three)).record
    assert merged is not None and merged.meta == {"k": 2, "l": 1}
    assert merged.clocks == {"meta.k": 5}


@given(records(), records(), st.integers(5, 6))
def test_equal_states_have_equal_bytes(before: Record, after: Record, at: int) -> None:
    after.clocks = {}
    wanted = {name: canonical(getattr(after, name)) for name in ("title", "kind", "temporal", "tags", "meta", "source")}
    stamp_edit(before, after, at)
    assert {name: canonical(getattr(after, name)) for name in wanted} == wanted
    bytes = canonical_record(after)
    for other in (7, at):
        set_time(after, other)
    assert canonical_record(after) == bytes
    normalise(after)
    assert canonical_record(after) == bytes
    # An edit is later than what it changed, so the old version adds only list items, and objects over values.
    merged = join_states(MemoryState(before), MemoryState(after)).record
    assert merged is not None
    assert all(canonical(getattr(merged, name)) == wanted[name] for name in wanted if name not in ("tags", "source"))


@given(st.sampled_from(["meta", "extra"]), st.text(min_size=0, max_size=8), st.text(max_size=8), st.text(max_size=8))
def test_names_of_registers_are_unambiguous(field: str, tool: str, key: str, last: str) -> None:
    paths: list[tuple[str, ...]] = [("meta", key), ("source", key), ("extra", tool)]
    if "." not in tool:
        paths += [("extra", tool, key), ("extra", tool, "frontmatter", last), ("extra", tool, "frontmatter." + last)]
        paths += [("extra", tool, "frontmatter%2E" + last)]
    assert [parse_path(path_name(path)) for path in paths] == paths


ENTITIES = st.builds(
    Entity,
    id=st.just("e"),
    name=st.sampled_from("ab"),
    aliases=LISTS,
    last_seen=st.none() | st.integers(-1, 1),
    first_seen=st.none() | st.integers(-1, 1),
    mentions=st.integers(0, 2),
    meta=st.dictionaries(st.sampled_from("kl"), VALUES, max_size=2),
)


@settings(max_examples=200)
@given(ENTITIES, ENTITIES, ENTITIES)
def test_entities_join_in_any_order(one: Entity, two: Entity, three: Entity) -> None:
    assert canonical(join_things(one, two)) == canonical(join_things(two, one))
    left, right = join_things(join_things(one, two), three), join_things(one, join_things(two, three))
    assert canonical(left) == canonical(right)
    assert canonical(join_things(left, two)) == canonical(left)


# Five stores

FORMATS = {"sqlite": ".db", "ndjson": ".ndjson", "memories-json": ".json"}
COMPARED = (Entity, Relation, Supersession, Document, Tombstone, Conflict)


@contextmanager
def present(at: int) -> Iterator[None]:
    """Set the current time."""
    with patch.object(times, "time", SimpleNamespace(time_ns=lambda: at * 1000)):
        yield


MACHINES = st.integers(0, 4)
Step = tuple[int, int, Callable[[Memory], object]]


@st.composite
def steps(draw: Any, alike: bool = False) -> Step:
    """Generate an operation on one of five machines, at a time that another machine may use too.

    If memories are `alike`, edits also give both the same content, and change it again.
    """
    # Few memories, fields and times, so that changes of different machines often conflict.
    number = draw(st.sampled_from([0, 0, 0, 1]))
    id = ID % number
    value = draw(st.sampled_from("abc"))
    changes: dict[str, Any] = draw(
        st.sampled_from(
            [
                *([{"title": value}] * 6),
                *([{"title": None}] * 2),
                {"content": value if alike else f"{number} {value}"},
                {"meta": {"k": value}},
                {"meta": {"l": 1}},
                {"meta": {}},
                {"kind": "note"},
                {"kind": "semantic"},
                {"tags": [value]},
                {"extra": {"t": {"a": value, "aliases": [value]}, "t.note": {"bytes": value}}},
                {"extra": {"t": {"frontmatter": {"a": value, "b": 1}}}},
                {"extra": {}},
            ]
        )
    )
    deeds: list[Callable[[Memory], object]] = [
        *([lambda memory: memory.update(id, **changes)] * 5),
        *([lambda memory: memory.delete(id)] * 2),
        lambda memory: memory.undelete(id),
        lambda memory: memory.link(ID % 0, "knows", ID % 1, weight=0.5 if value == "a" else None),
        lambda memory: memory.unlink(ID % 0, "knows", ID % 1),
        resolve_first,
        lambda memory: put(memory, value),
        lambda memory: memory.add(f"{number} {value}", id=id),
        *([lambda memory: tag_duplicate(memory, ID % (2 + number), value)] * 3),
    ]
    return draw(MACHINES), draw(st.integers(1, 3)), draw(st.sampled_from(deeds))


@st.composite
def histories(draw: Any, alike: bool = False) -> list[Any]:
    """Generate operations and exchanges; first, each machine may set its own title, and one links the memories."""

    def retitle(value: str) -> Callable[[Memory], object]:
        return lambda memory: memory.update(ID % 0, title=value, meta={"k": value, value: 1})

    titles = draw(st.lists(st.none() | st.sampled_from("abc"), min_size=5, max_size=5))
    first: list[Any] = [(machine, 1, retitle(title)) for machine, title in enumerate(titles) if title]
    first.append((draw(MACHINES), 1, lambda memory: memory.link(ID % 0, "knows", ID % 1)))
    rest: list[Any] = draw(
        st.lists(steps(alike) | steps(alike) | st.tuples(MACHINES, MACHINES), min_size=6, max_size=25),
    )
    return first + rest


def resolve_first(memory: Memory) -> None:
    """Resolve one conflict, if there are any."""
    for conflict in memory.conflicts():
        memory.resolve(conflict.record, conflict.field, take=1)
        return


def tag_duplicate(memory: Memory, id: str, value: str) -> None:
    """Add a tag to one of two memories with the same content, wherever they are."""
    if memory.store.records.known([id]):
        memory.update(id, tags=[value, *memory.get(id).tags])
    else:
        memory.add("twin", id=id, tags=[value])


def put(memory: Memory, value: str) -> None:
    with memory.store.writing():
        memory.store.things.put(
            [
                Entity(id="e", name=value, aliases=[value]),
                Supersession(newer=ID % 0, older=ID % 1, reason=value),
                Document(id="d", name="identity", content=value),
            ]
        )


WAYS = st.lists(st.tuples(MACHINES, MACHINES), max_size=6)
RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 3), (3, 2), (2, 1), (1, 0)]


class Machines:
    """Five stores that exchange files."""

    def __init__(self, folder: str, format: str, dedup: str | None = None) -> None:
        self.stores = [Memory.open(":memory:") for _ in range(5)]
        self._path, self._format, self._dedup = Path(folder) / f"file{FORMATS[format]}", format, dedup
        with present(1_800_000_000_000_000):
            for number in range(2):
                self.stores[0].add(f"{number} first", id=ID % number)
            for other in range(1, 5):
                self.send(0, other)

    def send(self, source: int, target: int) -> str | None:
        """Import one store into another; return the id of the import, or None if nothing changed."""
        self.stores[source].export(self._path, format=self._format, force=True)
        result = self.stores[target].import_from(self._path, conflict="merge", dedup=self._dedup)
        assert list(result.errors) == []
        return result.import_id

    def live(self, history: list[Any], after: Callable[[int], object] = lambda number: None) -> None:
        """Run the operations and exchange files."""
        for step in history:
            if len(step) == 2:
                self.send(*step)
                continue
            number, time, operation = step
            # A missing memory cannot be edited.
            with present(1_800_000_000_000_000 + time), suppress(MemglotError):
                operation(self.stores[number])
                after(number)

    def close(self) -> None:
        """Close the stores."""
        for memory in self.stores:
            memory.close()


def tags_of_duplicates(memory: Memory) -> dict[tuple[str, str], set[tuple[str, ...]]]:
    """Return the tags of the memories by content and kind; all have one scope."""
    found: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for record in memory.list():
        found.setdefault((record.content, record.kind), set()).add(tuple(record.tags))
    return found


def agreed(memory: Memory) -> list[bytes]:
    """Return everything that must be equal in two stores."""
    found = [encode_item(record) for record in memory.list(with_deleted=True)]
    return found + [encode_item(thing) for kind in COMPARED for thing in memory.store.things.select(kind)]


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=25)
@given(history=histories() | histories(alike=True), ways=WAYS)
def test_five_stores_converge(format: str, history: list[Any], ways: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        machines = Machines(folder, format)
        machines.live(history)
        for way in [*ways, *RING, *RING]:
            machines.send(*way)
        found = [agreed(memory) for memory in machines.stores]
        assert all(lines == found[0] for lines in found)
        # Every store has everything, so further imports change nothing.
        assert [machines.send(*way) for way in RING] == [None] * len(RING)
        assert all(memory.doctor().ok for memory in machines.stores)
        if format == "sqlite":
            assert all(len(tags) == 1 for tags in tags_of_duplicates(machines.stores[0]).values())
        machines.close()


@st.composite
def consolidating(draw: Any) -> Step:
    """Generate an operation that creates or merges duplicates."""
    id = ID % draw(st.integers(0, 3))
    value = draw(st.sampled_from("ab"))
    deeds: list[Callable[[Memory], object]] = [
        *([lambda memory: memory.consolidate()] * 3),
        *([lambda memory: memory.add("same", id=id, title=value, tags=[value])] * 2),
        lambda memory: memory.update(id, content="same"),
        lambda memory: memory.supersede(id, ID % 0),
        lambda memory: memory.link(id, "knows", ID % 1),
    ]
    return draw(MACHINES), draw(st.integers(1, 3)), draw(st.sampled_from(deeds))


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=25)
@given(
    history=histories(),
    more=st.lists(consolidating() | steps() | st.tuples(MACHINES, MACHINES), max_size=15),
    ways=WAYS,
)
def test_stores_that_consolidate_converge(
    format: str, history: list[Any], more: list[Any], ways: list[tuple[int, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # With deduplication by content, a store would skip a duplicate that another one keeps.
        machines = Machines(folder, format, dedup="id")
        machines.live([*history, *more])
        for way in [*ways, *RING, *RING, *RING]:
            machines.send(*way)
        found = [agreed(memory) for memory in machines.stores]
        assert all(lines == found[0] for lines in found)
        assert [machines.send(*way) for way in RING] == [None] * len(RING)
        assert all(memory.doctor().ok for memory in machines.stores)
        machines.close()


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=40)
@given(history=histories(), data=st.data())
def test_files_may_be_imported_in_any_order_and_repeatedly(
    format: str, history: list[Any], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files: list[Path] = []

        def keep(number: int) -> None:
            files.append(Path(folder) / f"{len(files)}{FORMATS[format]}")
            machines.stores[number].export(files[-1], format=format)

        machines = Machines(folder, format)
        machines.live(history, keep)
        machines.close()
        found = []
        for _ in range(2):
            order = data.draw(st.permutations([*files, *files[:3]]))
            with Memory.open(":memory:") as memory:
                for path in order:
                    memory.import_from(path, conflict="merge")
                found.append(agreed(memory))
        assert found[0] == found[1]


@pytest.mark.parametrize("format", FORMATS)
def test_a_deletion_between_edits_merges_in_any_order(format: str, tmp_path: Path) -> None:
    id = ID % 0
    told: dict[str, list[Item]] = {
        "old": [Record(id=id, content="x", title="a", meta={"k": 1}, created_at=5, updated_at=5)],
        "clash": [
            Record(id=id, content="x", title="b", created_at=5, updated_at=5),
            Conflict(record=id, field="title", clock=5, values=["b", "c"]),
        ],
        "gone": [Tombstone(id=id, content_hash="", deleted_at=10)],
        "edit": [Record(id=id, content="x", kind="note", created_at=5, updated_at=20, clocks={"content": 5})],
    }
    for name, items in told.items():
        with Memory.open(":memory:") as memory:
            with memory.store.writing():
                memory.store.records.add([item for item in items if isinstance(item, Record)])
                memory.store.things.put([item for item in items if not isinstance(item, Record)])
            memory.export(tmp_path / f"{name}{FORMATS[format]}", format=format)
    found = set()
    for order in permutations(told):
        with Memory.open(":memory:") as memory:
            for name in (*order, order[0]):
                memory.import_from(tmp_path / f"{name}{FORMATS[format]}", conflict="merge")
            found.add(b"\n".join(agreed(memory)))
    (lines,) = found
    assert b'"values":["a","b","c"]' in lines and b'"kind":"note"' in lines and b"tombstone" not in lines
