"""Undo: every operation is taken back by new edits, also on other machines, and keeps what was changed since."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memglot import Memory
from memglot.editing.revert import revert, revert_list, same
from memglot.errors import AlreadyThere, NotFound, UsageError
from memglot.model import Conflict, Relation, Supersession, to_builtins

ONE, TWO, THREE, NEW = (f"0194a000-000{number}-7000-8000-000000000000" for number in range(1, 5))
TIMES = {"updated_at", "clocks", "created_at", "decided_at", "last_accessed"}
KINDS = (Relation, Supersession, Conflict)


def fill(memory: Memory) -> None:
    memory.add("one", id=ONE, tree="work.a", tags=["x"], meta={"a": 1, "b": {"c": 2}}, title="first")
    memory.add("two", id=TWO, tree="work.b", strength=0.5)
    memory.add("two", id=THREE, tree="home", tags=["y"])
    memory.link(ONE, "knows", TWO)
    memory.link(TWO, "related_to", THREE)
    memory.supersede(TWO, ONE)
    memory.set_identity("a cook")


@pytest.fixture
def filled(memory: Memory) -> Memory:
    fill(memory)
    return memory


def values(memory: Memory) -> Any:
    """Return everything in a store, without times, and without links of memories that do not exist."""
    records = [
        {name: value for name, value in to_builtins(record).items() if name not in TIMES}
        for record in memory.list(with_deleted=True)
    ]
    things = [
        {name: value for name, value in to_builtins(thing).items() if name not in {*TIMES, "clock"}}
        for kind in KINDS
        for thing in memory.store.things.select(kind)
    ]
    identity = memory.identity()
    entities = [(entity.name, entity.aliases, entity.scope) for entity in memory.entities()]
    records.sort(key=lambda value: str(value["id"]))
    return records, things, identity and identity.content, entities


OPERATIONS: dict[str, Callable[[Memory], Any]] = {
    "add": lambda memory: memory.add("new", id=NEW),
    "add entity": lambda memory: memory.add_entity("Anna", "person"),
    "consolidate": lambda memory: memory.consolidate(),
    "copy": lambda memory: memory.copy("work", "old"),
    "delete": lambda memory: memory.delete(ONE, TWO),
    "delete tree": lambda memory: memory.delete_tree("work"),
    "identity": lambda memory: memory.set_identity("a sailor"),
    "link": lambda memory: memory.link(ONE, "knows", THREE),
    "link again": lambda memory: memory.link(ONE, "knows", TWO, weight=0.5),
    "move": lambda memory: memory.move("work", "old"),
    "supersede": lambda memory: memory.supersede(THREE, TWO, reason="newer"),
    "supersede again": lambda memory: memory.supersede(TWO, ONE, reason="newer"),
    "supersede the other way round": lambda memory: memory.supersede(ONE, TWO),
    "unlink": lambda memory: memory.unlink(ONE, "knows", TWO),
    "update": lambda memory: memory.update(
        ONE, content="uno", tags=["z"], meta={"b": {"d": 1}}, title=None, strength=1
    ),
    "update scope": lambda memory: memory.update(
        ONE, scope="session", kind="fact", status="stale", temporal="2024-01-01"
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_undone_and_done_again(filled: Memory, name: str) -> None:
    before = values(filled)
    OPERATIONS[name](filled)
    after = values(filled)
    assert after != before
    done = next(iter(filled.operations()))
    undone = filled.undo()
    assert (undone.id, undone.kept, undone.notes) == (done.id, 0, [])
    assert values(filled) == before
    undo, *_ = filled.operations()
    assert undo.undoes == done.id
    # Undoing the undo does the operation again, and so on.
    for expected in (after, before, after):
        filled.undo(next(iter(filled.operations())).id)
        assert values(filled) == expected
    assert filled.doctor().problems == [] and filled.audit_verify()["ok"]


def test_operations_and_imports_of_the_same_moment_are_in_order(memory: Memory) -> None:
    done = []
    for number in range(40):
        done.append(memory.import_from(b'{"content": "%d"}\n' % number, embed=False).import_id)
        memory.add(f"added {number}")
        done.append(next(one.id for one in memory.store.history.operations()))
    assert [operation.id for operation in memory.operations()] == done[::-1]


def test_the_id_of_an_import_that_changed_nothing_undoes_nothing(filled: Memory) -> None:
    filled.import_from(b'{"content": "another note"}\n')
    nothing = filled.import_from(b'{"content": "another note"}\n')
    after = values(filled)
    with pytest.raises(UsageError, match="no import to undo"):
        filled.undo(nothing.import_id)
    assert values(filled) == after


def test_undo_goes_back_step_by_step(memory: Memory) -> None:
    states = [values(memory)]
    steps = ("unlink", "update", "move", "supersede", "identity", "delete")
    for call in (fill, *(OPERATIONS[name] for name in steps)):
        call(memory)
        states.append(values(memory))
    assert len(list(memory.operations())) == 7 + len(steps)
    for expected in reversed(states[1:-1]):
        assert memory.undo().kept == 0
        assert values(memory) == expected
    for _ in range(7):
        memory.undo()
    assert values(memory)[:2] == ([], [])
    with pytest.raises(UsageError, match="nothing to undo"):
        memory.undo()


STEPS = st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=6)


@settings(max_examples=15, deadline=None)
@given(STEPS)
def test_any_operations_are_undone_in_turn(steps: list[str]) -> None:
    with Memory.open(":memory:") as memory:
        fill(memory)
        states = []
        for name in steps:
            before, count = values(memory), len(list(memory.operations()))
            try:
                OPERATIONS[name](memory)
            except (NotFound, UsageError, AlreadyThere):
                continue
            if len(list(memory.operations())) > count:
                states.append(before)
        for expected in reversed(states):
            memory.undo()
            assert values(memory) == expected


def sync(one: Memory, other: Memory, folder: Path) -> None:
    for source, target in ((one, other), (other, one)):
        source.sync_export(folder / "memories.json", force=True)
        target.sync_import(folder / "memories.json")


@pytest.mark.parametrize("name", sorted({*OPERATIONS} - {"add entity"}))
def test_other_machines_follow_an_undo(memory: Memory, tmp_path: Path, name: str) -> None:
    fill(memory)
    with Memory.open(":memory:") as other:
        sync(memory, other, tmp_path)
        before = values(memory)
        assert values(other) == before
        OPERATIONS[name](memory)
        done = next(iter(memory.operations())).id
        sync(memory, other, tmp_path)
        assert values(other) == values(memory)
        memory.undo(done)
        for _ in range(2):
            sync(memory, other, tmp_path)
            assert values(memory) == values(other)
            assert _followed(values(memory)) == _followed(before)


def _followed(found: Any) -> Any:
    """Return what machines agree on: tags are united, and nobody removes the base of a decay."""
    for record in found[0]:
        record.pop("tags", None)
        record.pop("extra", None)
    return found


def test_a_restored_memory_comes_back_on_the_other_machine(memory: Memory, tmp_path: Path) -> None:
    memory.add("mine", id=ONE)
    with Memory.open(":memory:") as other:
        sync(memory, other, tmp_path)
        memory.delete(ONE)
        sync(memory, other, tmp_path)
        assert other.count() == 0
        memory.undo()
        sync(memory, other, tmp_path)
        assert other.get(ONE).content == "mine"
        memory.undo(next(iter(memory.operations())).id)
        sync(memory, other, tmp_path)
        assert other.count() == memory.count() == 0


def test_what_was_changed_since_is_kept(memory: Memory) -> None:
    memory.add("one", id=ONE, title="first", tree="work")
    memory.update(ONE, title="second", meta={"a": 1})
    edit, *_ = memory.operations()
    memory.update(ONE, title="third", tree="home", meta={"a": 1, "b": 2})
    result = memory.undo(edit.id)
    assert (result.reverted, result.kept) == (1, 1) and "--force" in result.notes[0]
    record = memory.get(ONE)
    assert (record.title, record.tree, record.meta) == ("third", "home", {"b": 2})
    assert next(one for one in memory.operations() if one.id == edit.id).state == "partly undone"
    result = memory.undo(edit.id, force=True)
    assert (result.reverted, result.kept, result.notes) == (1, 0, [])
    assert (memory.get(ONE).title, memory.get(ONE).tree) == ("first", "home")


def test_a_memory_that_was_used_since_is_not_removed(memory: Memory) -> None:
    memory.add("one", id=ONE)
    memory.add("two", id=TWO)
    second, first = memory.operations()
    memory.update(ONE, title="t")
    memory.link(TWO, "knows", ONE)
    assert memory.undo(first.id).kept == memory.undo(second.id).kept == 1
    assert memory.count() == 2
    assert memory.undo(first.id, force=True).removed == 1
    assert [record.id for record in memory.list()] == [TWO]


def test_a_memory_deleted_since_stays_deleted(memory: Memory) -> None:
    memory.add("one", id=ONE)
    memory.update(ONE, title="t")
    memory.delete(ONE)
    _, edit, added = memory.operations()
    assert memory.undo(edit.id).kept == 1 and memory.count() == 0
    assert memory.undo(added.id).kept == 0
    assert memory.undo(edit.id, force=True).kept == 1
    memory.undelete(ONE)
    assert memory.get(ONE).title == "t" and memory.undo(edit.id).reverted == 1


def test_an_operation_that_is_undone_already_says_so(filled: Memory) -> None:
    filled.delete(ONE)
    (id, *_) = [one.id for one in filled.operations()]
    assert filled.undo(id).restored == 1
    before = values(filled)
    again = filled.undo(id)
    assert again.restored == 0 and "already undone" in again.notes[0] and values(filled) == before
    for wrong in ("", "0194a000-9999-7000-8000-000000000009", "nothing"):
        with pytest.raises(NotFound, match="no operation or import"):
            filled.undo(wrong)


def test_a_resolved_conflict_is_open_again(memory: Memory, tmp_path: Path) -> None:
    memory.add("one", id=ONE)
    with Memory.open(":memory:") as other:
        other.add("uno", id=ONE)
        for store in (memory, other):
            record = store.get(ONE)
            record.updated_at = 5_000_000
            with store.store.writing():
                store.store.records.replace(record)
        sync(memory, other, tmp_path)
        (conflict,) = memory.conflicts()
        for take in (1, 2):
            memory.resolve(ONE, take=take)
            sync(memory, other, tmp_path)
            assert not other.conflicts() and other.get(ONE).content == conflict.values[take - 1]
            assert memory.undo().reverted == 1
            sync(memory, other, tmp_path)
            for store in (memory, other):
                (again,) = store.conflicts()
                assert again.values == conflict.values
            assert memory.conflicts() == other.conflicts()


COUNT = 1_500


@pytest.fixture
def large(tmp_path: Path) -> Any:
    lines = [f'{{"content":"note {number}","tree":"work.part{number % 5}"}}' for number in range(COUNT)]
    with Memory.open(tmp_path / "store.db") as memory:
        memory.import_from("\n".join(lines).encode(), format="ndjson")
        yield memory


class Interrupted(Exception):
    """Stands for a kill after a transaction."""


def stop(done: int, total: int) -> None:
    raise Interrupted


@pytest.mark.parametrize("name", ["move", "copy", "delete_tree"])
def test_a_large_operation_is_one_and_its_undo_can_be_interrupted(large: Memory, tmp_path: Path, name: str) -> None:
    before, others = values(large), 0

    def add(done: int, total: int) -> None:
        nonlocal others
        others += 1
        with Memory.open(tmp_path / "store.db") as other:
            other.add(f"meanwhile {others}", tree="meanwhile")

    getattr(large, name)(*(["work"] if name == "delete_tree" else ["work", "old"]), progress=add)
    (operation,) = [one for one in large.operations() if one.action not in ("add", "import")]
    assert operation.memories == COUNT and len(operation.parts) == others > 3
    for _ in range(2):
        with pytest.raises(Interrupted):
            large.undo(operation.id, progress=stop)
    (undo,) = [one for one in large.operations() if one.undoes]
    assert undo.state == "open" and 0 < undo.memories < COUNT
    with pytest.raises(UsageError, match="was interrupted"):
        large.undo(undo.id)
    result = large.undo(operation.id)
    assert result.removed + result.restored + result.reverted == COUNT
    large.delete_tree("meanwhile")
    assert values(large) == before and large.doctor().problems == []
    (undo,) = [one for one in large.operations() if one.undoes]
    assert (undo.state, undo.memories) == ("done", COUNT)
    assert large.search("note 7", mode="fulltext").total


def test_last_is_the_newest_import(memory: Memory) -> None:
    memory.import_from(b'{"content":"brought"}', format="ndjson")
    kept = memory.add("kept")
    assert memory.undo("last").import_id and [record.id for record in memory.list()] == [kept.id]
    assert [(one.action, one.state) for one in memory.operations()] == [("add", "done"), ("import", "undone")]
    assert "already undone" in memory.undo("last").notes[0]
    assert memory.undo().action == "add"


def test_undo_restores_vectors(memory: Memory) -> None:
    memory.add("The cat sleeps on the sofa", id=ONE)
    memory.add("Deploys run on Fridays")
    memory.embed()
    memory.delete(ONE)
    memory.undo()
    assert memory.search("feline on a couch", mode="semantic")[0].record.id == ONE


def test_a_store_of_an_earlier_version_has_no_operations(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    db = apsw.Connection(str(path))
    db.execute((Path(__file__).parents[1] / "store/versions/v7.sql").read_text(encoding="utf-8"))
    db.close()
    with Memory.open(path) as memory:
        assert {one.action for one in memory.operations()} <= {"import"}
        before = values(memory)
        memory.delete_tree("")
        assert memory.undo().restored == len(before[0]) - sum(1 for one in before[0] if one.get("status") == "deleted")
        assert values(memory)[0] == before[0]


VALUES = st.recursive(
    st.sampled_from([None, 0, 1, True, "a", "b", 1.5]),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=6,
)


@given(VALUES, VALUES, VALUES)
def test_a_reverted_value_is_the_one_before_or_is_reported(before: Any, after: Any, present: Any) -> None:
    assert revert(before, after, after) == (before, False)
    assert revert(before, before, present) == (present, False)
    assert revert(before, after, before) == (before, False)
    found, is_kept = revert(before, after, present)
    assert revert(before, after, found)[0] == found, "a second time changes nothing"
    if is_kept:
        assert not same(found, before)


@given(*[st.lists(st.sampled_from("abcd"), unique=True)] * 3)
def test_a_reverted_list_has_what_others_added(before: list[str], after: list[str], present: list[str]) -> None:
    found = revert_list(before, after, present)
    assert revert_list(before, after, after) == before
    added, removed = {*after} - {*before}, {*before} - {*after}
    assert {*found} == {*present} - added | removed
