"""List what was deleted, and restore several memories at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memglot import MemglotError, Memory
from memglot.settings import BATCH_SIZE


def ids(memory: Memory, **filters: Any) -> list[str]:
    return [found.id for found in memory.deleted(**filters)[0]]


def test_the_newest_deletion_comes_first(memory: Memory) -> None:
    a, b, c = (memory.add(text, tree=tree).id for text, tree in (("a", "w.x"), ("b", "w"), ("c", "wide")))
    for id in (b, a, c):
        memory.delete(id, reason="old")
    found, total = memory.deleted(limit=2)
    assert [one.id for one in found] == [c, a] and total == 3
    assert [one.record.content for one in found if one.record] == ["c", "a"] and found[0].reason == "old"
    assert ids(memory, limit=2, offset=2) == [b] and ids(memory, tree="w") == [a, b]
    assert (
        ids(memory, tree="*.x") == [a]
        and ids(memory, since="2999") == []
        and ids(memory, tree="", limit=None) == [c, a, b]
    )


def test_several_are_restored_or_none(memory: Memory) -> None:
    a, b = (memory.add(text).id for text in "ab")
    memory.delete(a, b)
    with pytest.raises(MemglotError, match="no deleted memory"):
        memory.undelete_many(a, "0194a000-0009-7000-8000-000000000009")
    assert memory.count() == 0
    assert memory.undelete_many(a, b, a, dry_run=True) == 2 and memory.count() == 0
    assert memory.undelete_many(a, b, a) == 2 and memory.count() == 2
    assert memory.undelete_many(since="2000") == 0


def test_a_branch_is_restored_in_batches_without_what_was_merged(memory: Memory) -> None:
    lines = [f'{{"content":"note {number}","tree":"w.p{number % 3}"}}' for number in range(2 * BATCH_SIZE + 10)]
    memory.import_from("\n".join(lines).encode(), format="ndjson")
    kept = memory.add("same", tree="w.p0").id
    gone = memory.add("same", tree="w.p0").id
    memory.consolidate()
    count = memory.count()
    assert memory.delete_tree("w.p1") < memory.delete_tree("w")
    sizes: list[int] = []
    assert memory.undelete_many(tree="w", dry_run=True) == count and memory.count() == 0
    assert memory.undelete_many(tree="w", progress=lambda done, total: sizes.append(done)) == count
    assert len(sizes) > 2 and memory.count() == count and memory.doctor().problems == []
    assert [record.id for record in memory.list() if record.content == "same"] == [kept]
    assert memory.undelete(gone).content == "same"


def test_memories_that_a_source_deleted_are_listed(memory: Memory) -> None:
    id = memory.add("gone there", tree="w").id
    memory.update(id, status="deleted")
    ((found,), total) = memory.deleted(tree="w")
    assert (found.id, total, found.reason) == (id, 1, "deleted in its source")
    assert memory.undelete_many(tree="w") == 1 and memory.get(id).status == "active"


def test_deletions_in_hidden_scopes_stay_hidden(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        secret, open_ = memory.add("secret", scope="health").id, memory.add("open").id
        memory.mark_sensitive("health")
        memory.delete(secret, open_)
    with Memory.open(path, sensitive=False) as view:
        assert ids(view) == [open_] and view.deleted()[1] == 1
        with pytest.raises(MemglotError):
            view.undelete_many(secret)
        assert view.undelete_many(since="2000") == 1
    with Memory.open(path) as memory:
        assert ids(memory) == [secret]
