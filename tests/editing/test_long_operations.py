"""Operations on many memories: in short transactions, which others interleave with and an interruption splits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memglot import Memory
from memglot.settings import BATCH_SIZE
from memglot.store.sqlite import text_index
from memglot.store.sqlite.store import SqliteStore

COUNT = 2_500


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def large(path: Path) -> Iterator[Memory]:
    """A store with many memories in a branch, and some outside."""
    lines = [f'{{"content":"note {number}","tree":"work.part{number % 5}"}}' for number in range(COUNT)]
    with Memory.open(path) as memory:
        memory.import_from(
            "\n".join([*lines, '{"content":"other","tree":"home"}']).encode(), format="ndjson", embed=False
        )
        yield memory


def counts(memory: Memory) -> dict[str, int]:
    return {branch.path: branch.total for branch in memory.tree(depth=1)}


class Interrupted(Exception):
    """Stands for a kill after a transaction."""


def stop_after(batches: int) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        nonlocal batches
        batches -= 1
        if not batches:
            raise Interrupted

    return progress


@pytest.mark.parametrize("operation", ["move", "copy", "delete_tree"])
def test_others_add_memories_between_the_batches(large: Memory, path: Path, operation: str) -> None:
    sizes: list[int] = []

    def add(done: int, total: int) -> None:
        assert total == COUNT
        sizes.append(done - sum(sizes))
        with Memory.open(path) as other:
            other.add(f"added {done}", tree="work" if operation != "copy" else "inbox")

    call = getattr(large, operation)
    assert call(*(["work"] if operation == "delete_tree" else ["work", "old"]), progress=add) == COUNT
    assert max(sizes) <= BATCH_SIZE and len(sizes) > 3 and sum(sizes) == COUNT
    added = len(sizes)
    expected = {
        "move": {"": COUNT + 1 + added, "home": 1, "old": COUNT, "work": added},
        "copy": {"": 2 * COUNT + 1 + added, "home": 1, "inbox": added, "old": COUNT, "work": COUNT},
        "delete_tree": {"": 1 + added, "home": 1, "work": added},
    }[operation]
    assert counts(large) == expected
    assert large.doctor().problems == []


@pytest.mark.parametrize("operation", ["move", "copy", "delete_tree"])
def test_the_same_call_finishes_an_interrupted_one(large: Memory, operation: str) -> None:
    arguments = ["work"] if operation == "delete_tree" else ["work", "old"]
    call = getattr(large, operation)
    with pytest.raises(Interrupted):
        call(*arguments, progress=stop_after(2))
    some = counts(large)
    changed = some["old"] if operation != "delete_tree" else COUNT - some["work"]
    assert 0 < changed < COUNT and large.doctor().problems == []
    assert call(*arguments, dry_run=True) == COUNT - changed
    assert call(*arguments) == COUNT - changed
    done = counts(large)
    assert done.get("old", 0) == (0 if operation == "delete_tree" else COUNT)
    assert done.get("work", 0) == (COUNT if operation == "copy" else 0)
    assert call(*arguments) == 0 and large.audit_verify()["ok"]


def test_a_memory_that_changed_meanwhile_is_left_alone(large: Memory, path: Path) -> None:
    kept = [record.id for record in large.list(tree="work")][-2:]

    def change(done: int, total: int) -> None:
        if done < 100:
            with Memory.open(path) as other:
                other.update(kept[0], tree="mine")
                other.delete(kept[1])

    assert large.move("work", "old", progress=change) == COUNT - 2
    assert large.get(kept[0]).tree == "mine" and counts(large)["old"] == COUNT - 2


def test_an_interrupted_update_is_finished_by_the_same_call(large: Memory) -> None:
    def update(**options: Any) -> int:
        return large.update_many(where="tree:work", add_tags=["done"], changes={"status": "stale"}, **options)

    with pytest.raises(Interrupted):
        update(progress=stop_after(2))
    some = large.count(tags="done")
    assert 0 < some < COUNT and large.doctor().problems == []
    assert update(dry_run=True) == COUNT - some
    assert update() == COUNT - some
    assert update() == 0
    assert large.count(tags="done", status="stale") == COUNT and large.audit_verify()["ok"]


def test_memories_that_move_below_the_source_again_are_moved_once(memory: Memory) -> None:
    for place in ("a.b.x", "a.b.b.y", "a.b"):
        memory.add(place, tree=place)
    with pytest.raises(Interrupted):
        memory.move("a.b", "a", progress=stop_after(1))
    assert memory.move("a.b", "a") == 1
    assert {record.content: record.tree for record in memory.list()} == {"a.b.x": "a.x", "a.b.b.y": "a.b.y", "a.b": "a"}


def test_found_by_the_new_path_after_a_move(large: Memory) -> None:
    large.move("work.part1", "archive.Later")
    assert large.search("later", limit=1000).total == COUNT // 5
    assert large.search("part1").total == 0
    versions, _ = large.history(large.search("later")[0].record.id)
    assert [version.deed for version in versions] == ["move", "present"]


def test_deleting_a_merged_memory_again_does_not_follow_a_circle(memory: Memory) -> None:
    one, two = memory.add("one").id, memory.add("two").id
    memory.delete(one, reason=f"merged into {two}")
    memory.delete(two, reason=f"merged into {one}")
    assert memory.count() == 0


def test_the_indexes_of_an_import_are_completed_in_short_transactions(
    large: Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_index, "_TEXT_CHUNK", 500)
    assert isinstance(large.store, SqliteStore)
    connection, added = large.store.connection, list[str]()
    lines = [f'{{"content":"later {number}"}}' for number in range(3_000)]
    with Memory.open(path) as other:
        monkeypatch.setattr(connection, "give_way", lambda: added.append(other.add(f"meanwhile {len(added)}").id))
        large.import_from("\n".join(lines).encode(), format="ndjson", embed=False)
        monkeypatch.undo()
    assert len(added) > 6, "others write after each part"
    assert large.search("later", limit=10_000).total == 3_000 and large.search("meanwhile").total == len(added)
    assert large.doctor().problems == []
    parts = connection.value("SELECT count(DISTINCT segid) FROM record_text_idx")
    assert parts <= 4
