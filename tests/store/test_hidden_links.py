"""Merged memories, removed links and imported items that lead to hidden memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from memglot import Memory
from memglot.model import Conflict, Relation, Supersession, Thing
from memglot.store.sqlite.things import SqliteThings

SCOPE = "finance"


def visible(path: Path) -> Memory:
    return Memory.open(path, sensitive=False)


def exports(memory: Memory) -> str:
    found = [memory.export(format=format).content for format in ("json", "ndjson")]
    found.append(memory.sync_export(plaintext=True, include_audit_chain=True).content)
    return "".join((content or b"").decode() for content in found)


@pytest.fixture
def merged(tmp_path: Path) -> tuple[Path, str, str]:
    """A store with a memory that became sensitive after a duplicate was merged into it."""
    path = tmp_path / "merged.db"
    with Memory.open(path) as memory:
        first, second = (memory.add("the same salary") for _ in range(2))
        memory.consolidate()
        (kept,) = memory.list()
        gone = second.id if kept.id == first.id else first.id
        memory.update(kept.id, scope=SCOPE)
        memory.mark_sensitive(SCOPE)
    return path, kept.id, gone


def test_memory_merged_into_a_hidden_one_is_hidden(merged: tuple[Path, str, str]) -> None:
    path, kept, gone = merged
    with visible(path) as memory:
        assert kept not in exports(memory) and gone not in exports(memory)
        unknown = "0194a000-0001-7000-8000-000000000001"
        for call in (memory.history, memory.undelete, memory.get):
            with pytest.raises(Exception) as refused:
                call(gone)
            with pytest.raises(type(refused.value)) as missing:
                call(unknown)
            assert str(refused.value) == str(missing.value).replace(unknown, gone)
        assert "tombstone" not in memory.stats()["things"]


def test_undo_restores_no_duplicate_of_a_hidden_memory(merged: tuple[Path, str, str]) -> None:
    path, kept, _ = merged
    with visible(path) as memory:
        memory.import_from(b'[{"content": "the weather"}]', format="json")
        memory.undo("last")
        assert not list(memory.list())
    with Memory.open(path) as memory:
        assert [record.id for record in memory.list()] == [kept]


def test_long_chain_of_merges_into_a_hidden_memory(tmp_path: Path) -> None:
    path = tmp_path / "chain.db"
    ids = [f"0194a000-{number:04x}-7000-8000-000000000000" for number in range(40)]
    with Memory.open(path) as memory:
        for number, id in enumerate(ids[:-1]):
            memory.add("a step", id=id)
            memory.delete(id, reason=f"merged into {ids[number + 1]}")
        memory.add("the last step", id=ids[-1], scope=SCOPE)
        memory.mark_sensitive(SCOPE)
    with visible(path) as memory:
        assert not any(id in exports(memory) for id in ids)


def test_removed_links_to_hidden_memories_are_hidden(tmp_path: Path) -> None:
    path = tmp_path / "removed.db"
    with Memory.open(path) as memory:
        open_id, secret = memory.add("the office").id, memory.add("the salary", scope=SCOPE).id
        memory.supersede(secret, open_id)
        memory.supersede(open_id, secret)
        removed = memory.link(open_id, "cites", secret).id
        memory.unlink(open_id, "cites", secret)
        memory.mark_sensitive(SCOPE)
    with visible(path) as memory:
        assert secret not in exports(memory) and removed not in exports(memory)
        assert "tombstone" not in memory.stats()["things"]
        target = tmp_path / "copy.db"
        memory.export(target, format="sqlite")
        assert secret.encode() not in target.read_bytes()


def test_consolidation_keeps_the_links_of_hidden_memories(tmp_path: Path) -> None:
    path = tmp_path / "links.db"
    with Memory.open(path) as memory:
        first, second = (memory.add("twice").id for _ in range(2))
        secret = memory.add("the salary", scope=SCOPE).id
        memory.link(secret, "cites", first)
        memory.link(second, "uses", secret)
        memory.supersede(first, secret)
        memory.supersede(second, secret)
        memory.mark_sensitive(SCOPE)
    with visible(path) as memory:
        assert memory.consolidate().merged == 1
        assert secret not in exports(memory)
    with Memory.open(path) as memory:
        (kept,) = (record.id for record in memory.list() if record.scope != SCOPE)
        ends = {(one.subject.id, one.object.id) for one in memory.store.things.select(Relation)}
        assert ends == {(secret, kept), (kept, secret)}
        assert [(one.newer, one.older) for one in memory.store.things.select(Supersession)] == [(kept, secret)]


def test_deletion_in_a_view_restores_no_hidden_duplicate(tmp_path: Path) -> None:
    path = tmp_path / "deleted.db"
    with Memory.open(path) as memory:
        for _ in range(2):
            memory.add("the same salary", scope=SCOPE)
        memory.consolidate()
        (kept,) = memory.list()
        memory.update(kept.id, scope="user")
        memory.mark_sensitive(SCOPE)
    with visible(path) as memory:
        memory.delete(kept.id)
    with Memory.open(path) as memory:
        memory.import_from(b'[{"content": "the weather"}]', format="json")
        memory.undo("last")
        assert not list(memory.list())


def relation_file(folder: Path, *, scope: str) -> Path:
    """An export of two memories and a relation between them that belongs to a scope."""
    with Memory.open(":memory:") as memory:
        ids = [f"0194a000-000{number}-7000-8000-000000000000" for number in (1, 2)]
        for id in ids:
            memory.add(f"memory {id}", id=id)
        relation = memory.link(ids[0], "uses", ids[1])
        relation.scope = scope
        with memory.store.writing():
            memory.store.things.put([relation])
        path = folder / f"{scope}.json"
        memory.export(path)
    return path


@pytest.mark.parametrize("dry_run", [True, False])
def test_import_leaves_hidden_items_with_the_same_key_alone(tmp_path: Path, dry_run: bool) -> None:
    path = tmp_path / "keys.db"
    with Memory.open(path) as memory:
        memory.import_from(relation_file(tmp_path, scope=SCOPE))
        memory.mark_sensitive(SCOPE)
    with visible(path) as memory:
        result = memory.import_from(relation_file(tmp_path, scope="user"), dry_run=dry_run, conflict="prefer-remote")
        assert (result.imported, result.failed, result.skipped) == (0, 0, 2)
        assert not list(memory.relations())
    with Memory.open(path) as memory:
        assert [relation.scope for relation in memory.relations()] == [SCOPE]


def test_links_can_be_removed_again_if_the_default_scope_is_hidden(tmp_path: Path) -> None:
    path = tmp_path / "default.db"
    with Memory.open(path) as memory:
        first, second = (memory.add(text, scope="work").id for text in ("one", "two"))
        memory.mark_sensitive("user")
    with visible(path) as memory:
        for _ in range(3):
            memory.link(first, "uses", second)
            assert memory.unlink(first, "uses", second) == 1


def test_fail_fast_import_into_a_view_stops_at_a_hidden_scope(tmp_path: Path) -> None:
    with Memory.open(":memory:") as memory:
        memory.add("the salary", scope=SCOPE)
        file = tmp_path / "memories.json"
        memory.sync_export(file)
    path = tmp_path / "fast.db"
    with Memory.open(path) as memory:
        memory.mark_sensitive(SCOPE)
    with visible(path) as memory:
        result = memory.import_from(file, fail_fast=True)
        assert (result.imported, result.failed, len(list(result.errors))) == (0, 1, 1)


def test_import_into_a_view_does_not_count_all_conflicts_for_each_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "conflicts.db"
    texts = [f"memory {number}" for number in range(50)]
    with Memory.open(path) as memory:
        things = [Conflict(record=memory.add(text).id, field="title", clock=1, values=["a", "b"]) for text in texts]
        with memory.store.writing():
            memory.store.things.put(things)
        memory.mark_sensitive(SCOPE)
    read = 0

    def counted(things: SqliteThings, kind: type[Thing], owners: Sequence[str] | None = None) -> Iterator[Thing]:
        nonlocal read
        for thing in select(things, kind, owners):
            read += isinstance(thing, Conflict)
            yield thing

    select = SqliteThings.select
    monkeypatch.setattr(SqliteThings, "select", counted)
    content = msgspec.json.encode([{"content": text} for text in texts])
    with visible(path) as memory:
        assert memory.import_from(content, format="json", dedup="content", tags=["new"]).skipped == 50
        assert read < 10 * len(texts)
        assert memory.count(tags=["new"]) == 50
