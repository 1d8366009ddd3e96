"""Merge deletions, relations and metadata in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memglot import Memory
from memglot.model import Conflict, Relation, Tombstone

X, Y = (f"0194a000-000{number}-7000-8000-000000000000" for number in (1, 2))


def line(id: str, content: str, **more: Any) -> bytes:
    import msgspec

    return msgspec.json.encode({"id": id, "content": content, **more}) + b"\n"


def test_deletions_merge_in_any_order(tmp_path: Path) -> None:
    old, new = tmp_path / "old.ndjson", tmp_path / "new.ndjson"
    old.write_bytes(line(X, "x") + line(Y, "y"))
    with Memory.open(":memory:") as memory:
        memory.import_from(old)
        memory.delete(X)
        memory.export(new)
    for inputs in ([old, new], [new, old]):
        for together in (True, False):
            with Memory.open(":memory:") as memory:
                for given in [inputs] if together else [[one] for one in inputs]:
                    memory.import_from(*given, conflict="merge")
                assert [record.id for record in memory.list()] == [Y]
                assert memory.store.things.count(Tombstone) == 1
    with Memory.open(":memory:") as memory:
        memory.import_from(old)
        result = memory.import_from(new)
        assert memory.count() == 2 and any("--conflict merge" in note for note in result.notes)
        memory.import_from(new, conflict="merge")
        memory.undo("last")
        assert memory.count() == 2 and memory.store.things.count(Tombstone) == 0


def test_an_edit_of_meta_is_later_than_its_keys(memory: Memory) -> None:
    slot = {"clocks": {"meta.k": 1000}, "updated_at": 2000}
    memory.import_from(line(X, "x", meta={"k": 1, "memglot": slot}), format="ndjson")
    memory.update(X, meta={"k": 2})
    remote = line(X, "x", meta={"k": 3, "memglot": {"clocks": {"meta.k": 5000}, "updated_at": 9000}})
    memory.import_from(remote, format="ndjson", conflict="merge")
    assert memory.get(X).meta == {"k": 2}


def test_a_changed_relation_is_merged_on_request(memory: Memory) -> None:
    relation = {"id": "r", "subject": {"id": X}, "predicate": "knows", "object": {"id": Y}, "updated_at": 1}
    memory.import_from(line(X, "x", meta={"memglot": {"relations": [relation]}}), format="ndjson")
    relation |= {"predicate": "likes", "updated_at": 2}
    memory.import_from(line(X, "x", meta={"memglot": {"relations": [relation]}}), format="ndjson", conflict="merge")
    assert [found.predicate for found in memory.store.things.select(Relation)] == ["likes"]
    memory.undo("last")
    assert [found.predicate for found in memory.store.things.select(Relation)] == ["knows"]


def test_an_imported_deletion_is_reported_and_can_be_undone(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "new.ndjson"
    memory.import_from(line(X, "x") + line(Y, "y"), format="ndjson")
    with Memory.open(":memory:") as other:
        other.import_from(line(X, "x") + line(Y, "y"), format="ndjson")
        other.delete(X)
        other.export(path)
    dry = memory.import_from(path, conflict="merge", dry_run=True)
    assert "would delete 1 memory, as the file says" in dry.notes and memory.count() == 2
    result = memory.import_from(path, conflict="merge")
    assert memory.count() == 1 and any("deleted 1 memory, as the file says" in note for note in result.notes)
    memory.undo("last")
    assert memory.count() == 2
    assert memory.undo(list(memory.imports())[-1].id).imported == 2


def test_every_conflicting_value_is_kept(memory: Memory) -> None:
    for content in ("gamma", "beta", "alpha"):
        memory.import_from(line(X, content), format="ndjson", conflict="merge")
    store = memory.store
    kept = str([*store.things.select(Conflict), *store.history.revisions(key=X), memory.get(X)])
    assert all(content in kept for content in ("gamma", "beta", "alpha"))
