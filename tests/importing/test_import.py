"""Importing: dedup, conflicts, tombstones, undo, dry runs, batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from memglot import MemglotError, Memory
from memglot.importing.plan import BatchPlan, Planner
from memglot.merging.records import merge_records
from memglot.model import Conflict, Record, Tombstone
from memglot.testing.samples import make, one_of_each_thing, whole_record

ID = "0194a000-0001-7000-8000-00000000000%d"


def lines(*values: dict[str, Any]) -> bytes:
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


def numbered(count: int, content: str = "memory") -> bytes:
    return lines(*({"id": f"0194a000-0001-7000-8000-{n:012x}", "content": f"{content} {n}"} for n in range(count)))


def test_importing_twice_changes_nothing_and_reports_it(memory: Memory) -> None:
    first = memory.import_from(numbered(2500), format="ndjson")
    head = memory.store.history.chain_head()
    second = memory.import_from(numbered(2500), format="ndjson")
    assert (first.imported, first.skipped) == (2500, 0)
    assert (second.imported, second.skipped, second.import_id, second.notes) == (0, 2500, None, [])
    assert list(second.skipped_ids) == list(first.ids)
    assert memory.store.history.chain_head() == head
    assert len(list(memory.imports())) == 1


def test_each_batch_is_planned_once_and_a_repeated_import_leaves_the_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[tuple[int, bool]] = []
    plan_records = Planner.plan_records

    def plan(planner: Planner, records: list[Record]) -> BatchPlan:
        planned.append((len(records), planner._store.is_writing))
        return plan_records(planner, records)

    monkeypatch.setattr(Planner, "plan_records", plan)
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        memory.import_from(numbered(1500), format="ndjson")
        assert planned == [(1000, True), (500, True)], "inside the transaction of the batch"
    before = path.read_bytes()
    with Memory.open(path) as memory:
        assert memory.import_from(numbered(1500), format="ndjson").skipped == 1500
        assert planned[2:] == [(500, True)], "the first batch is not even read"
    assert path.read_bytes() == before


def test_counts_add_up_and_batches_are_logged(memory: Memory) -> None:
    text = numbered(1500) + b'{"content":""}\n' + numbered(3) + lines({"content": "no id"})
    result = memory.import_from(text, format="ndjson")
    assert result.imported + result.merged + result.skipped + result.failed == 1500 + 1 + 3 + 1
    assert (result.imported, result.skipped, result.failed) == (1501, 3, 1)
    assert [event.details["count"] for event in memory.audit_log()] == [501, 1000]
    assert memory.audit_verify()["ok"]


def test_a_skipped_record_that_differs_is_reported_with_a_flag_to_import_it(memory: Memory) -> None:
    memory.import_from(numbered(2, "old"), format="ndjson")
    result = memory.import_from(numbered(2, "new"), format="ndjson")
    assert result.skipped == 2
    assert any("--conflict prefer-remote" in note for note in result.notes)
    taken = memory.import_from(numbered(2, "new"), format="ndjson", conflict="prefer-remote")
    assert (taken.merged, taken.skipped) == (2, 0)
    assert [record.content for record in memory.list()] == ["new 0", "new 1"]
    assert memory.search("old", mode="fulltext").total == 0
    again = memory.import_from(numbered(2, "new"), format="ndjson", conflict="prefer-remote")
    assert (again.merged, again.skipped, again.import_id) == (0, 2, None)


def test_content_dedup_skips_duplicates_and_merges_tags(memory: Memory) -> None:
    memory.add("same", tags=["a"])
    text = lines({"content": "same", "meta": {"memglot": {"tags": ["b"]}}}, {"content": "new"}, {"content": "new"})
    result = memory.import_from(text, format="ndjson", dedup="content")
    assert (result.imported, result.skipped) == (1, 2)
    assert [record.tags for record in memory.list() if record.content == "same"] == [["a", "b"]]
    memory.undo("last")
    assert [(record.content, record.tags) for record in memory.list()] == [("same", ["a"])]


def test_merging_and_content_dedup_settle_at_once(memory: Memory) -> None:
    def row(number: int, content: str, tag: str, at: int) -> dict[str, Any]:
        slot = {"tags": [tag], "created_at": at, "updated_at": at}
        return {"id": ID % number, "content": content, "meta": {"memglot": slot}}

    def import_rows(*values: dict[str, Any]) -> tuple[int, int, int]:
        result = memory.import_from(lines(*values), format="ndjson", dedup="content", conflict="merge")
        return result.imported, result.merged, result.skipped

    first = [row(1, "same", "z", 5), row(2, "same", "a", 5), row(3, "old", "z", 5)]
    assert import_rows(*first) == (2, 0, 1)
    assert import_rows(*first) == (0, 0, 3)
    # A stored memory gets a new text, and a new memory has its old text.
    second = [row(4, "old", "b", 5), row(3, "new", "z", 6), row(5, "same", "b", 5)]
    assert import_rows(*second) == (1, 1, 1)
    assert import_rows(*second) == (0, 0, 3)
    assert sorted((record.content, record.tags) for record in memory.list()) == [
        ("new", ["z"]),
        ("old", ["b"]),
        ("same", ["a", "b", "z"]),
    ]


def test_a_deleted_memory_stays_deleted(memory: Memory) -> None:
    memory.import_from(numbered(2), format="ndjson")
    memory.import_from(lines({"content": "without id"}), format="ndjson")
    for record in list(memory.list()):
        memory.delete(record.id)
    result = memory.import_from(numbered(2) + lines({"content": "without id"}), format="ndjson")
    assert (result.imported, result.skipped, memory.count()) == (0, 3, 0)
    assert any("--restore-deleted" in note for note in result.notes)
    restored = memory.import_from(numbered(2), format="ndjson", restore_deleted=True)
    assert (restored.imported, memory.count()) == (2, 2)
    memory.undo("last")
    assert memory.count() == 0
    assert memory.store.things.count(Tombstone) == 3


def test_undo_restores_the_old_state_and_leaves_no_tombstone(memory: Memory) -> None:
    kept = memory.add("kept", id=ID % 1)
    memory.add("mine", id=ID % 2)
    before = list(memory.list())
    result = memory.import_from(
        lines({"id": ID % 2, "content": "theirs"}, {"content": "new"}), format="ndjson", conflict="prefer-remote"
    )
    assert (result.imported, result.merged) == (1, 1)
    assert result.import_id is not None
    undone = memory.undo(result.import_id)
    assert (undone.imported, undone.merged) == (1, 1)
    assert list(memory.list()) == before
    assert memory.store.things.count(Tombstone) == 0
    assert memory.search("mine").total == 1
    assert memory.search("theirs").total == 0
    assert memory.get(kept.id) == kept
    assert next(memory.imports()).state == "undone"
    assert memory.doctor().ok


def test_undo_keeps_what_was_changed_since_unless_forced(memory: Memory) -> None:
    memory.import_from(numbered(2), format="ndjson")
    edited = next(memory.list()).id
    memory.update(edited, content="edited")
    result = memory.undo("last")
    assert result.imported == 1
    assert any("--force" in note for note in result.notes)
    assert [record.content for record in memory.list()] == ["edited"]
    assert memory.undo("last", force=True).imported == 1
    assert memory.count() == 0


def test_an_undone_import_can_be_imported_again(memory: Memory) -> None:
    memory.import_from(numbered(3), format="ndjson")
    memory.undo("last")
    assert memory.import_from(numbered(3), format="ndjson").imported == 3


def test_a_dry_run_reports_the_same_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    text = numbered(1200) + b'{"content":""}\n' + numbered(5)
    with Memory.open_for_dry_run(str(path)) as memory:
        dry = memory.import_from(text, format="ndjson", dry_run=True)
    assert not path.exists()
    with Memory.open(str(path)) as memory:
        real = memory.import_from(text, format="ndjson")
    assert (dry.imported, dry.skipped, dry.failed) == (real.imported, real.skipped, real.failed) == (1200, 5, 1)
    assert (dry.exit_code, dry.notes) == (1, real.notes)
    before = path.read_bytes()
    with Memory.open_for_dry_run(str(path)) as memory:
        again = memory.import_from(text, format="ndjson", dry_run=True)
    assert (again.imported, again.skipped) == (0, 1205)
    assert path.read_bytes() == before


def test_a_prefix_and_tags_are_given_to_all(memory: Memory) -> None:
    text = lines({"content": "a"}, {"content": "b", "tree": "x", "meta": {"memglot": {"tags": ["t"]}}})
    memory.import_from(text, format="ndjson", tree="in.here", tags=["t", "u"])
    assert {(record.tree, tuple(record.tags)) for record in memory.list()} == {
        ("in.here", ("t", "u")),
        ("in.here.x", ("t", "u")),
    }
    with pytest.raises(MemglotError):
        memory.import_from(text, format="ndjson", tree="not/a.tree")


def test_each_format_keeps_a_complete_store(memory: Memory, tmp_path: Path) -> None:
    record = whole_record()
    other = make("plain")
    things = one_of_each_thing()
    for thing in things:
        for field in ("record", "owner", "newer"):
            if getattr(thing, field, None):
                setattr(thing, field, record.id)
    things[0].subject = type(things[0].subject)(record.id)  # type: ignore[union-attr]
    with memory.store.writing():
        memory.store.records.add([record, other])
        memory.store.things.put(things)
    for name in ("out.json", "out.ndjson", "out.yaml", "folder"):
        path = tmp_path / name
        memory.export(path, format="markdown" if name == "folder" else None, include_embeddings=True)
        with Memory.open(":memory:") as copy:
            result = copy.import_from(path)
            assert (result.imported, list(result.errors)) == (2, [])
            assert list(copy.list(with_deleted=True)) == list(memory.list(with_deleted=True))
            for thing in things:
                assert list(copy.store.things.select(type(thing))) == [thing]
            again = copy.import_from(path)
            assert (again.imported, again.import_id) == (0, None)
            copy.undo("last")
            assert copy.count() == 0
            assert all(copy.store.things.count(type(thing)) == 0 for thing in things)


def test_merging_uses_the_later_clock_and_keeps_a_conflict() -> None:
    local = Record(id=ID % 1, content="a", title="old", updated_at=1, created_at=1, tags=["x"], meta={"k": 1, "l": 1})
    remote = Record(id=ID % 1, content="b", title="new", updated_at=2, created_at=2, tags=["y"], meta={"k": 2, "m": 3})
    merged, conflicts = merge_records(local, remote)
    assert (merged.content, merged.title, merged.tags, conflicts) == ("b", "new", ["x", "y"], [])
    assert merged.meta == {"k": 2, "l": 1, "m": 3}
    assert (merged.created_at, merged.updated_at) == (1, 2)
    assert merge_records(remote, local)[0] == merged
    remote.updated_at = 1
    merged, conflicts = merge_records(local, remote)
    assert {conflict.field for conflict in conflicts} == {"content", "title", "meta.k"}
    assert merge_records(remote, local)[0] == merged


def test_a_field_that_one_side_leaves_out_never_wins() -> None:
    local = Record(id=ID % 1, content="a", title="t", kind="note", tags=["x"], updated_at=1)
    remote = Record(id=ID % 1, content="a", updated_at=9)
    merged, conflicts = merge_records(local, remote)
    assert (merged.title, merged.kind, merged.tags, conflicts) == ("t", "note", ["x"], [])


def test_merging_a_conflict_keeps_both_values_in_the_store(memory: Memory) -> None:
    memory.import_from(numbered(1, "a"), format="ndjson")
    result = memory.import_from(numbered(1, "b"), format="ndjson", conflict="merge")
    assert result.merged == 1
    assert memory.import_from(numbered(1, "b"), format="ndjson", conflict="merge").import_id is None
    (conflict,) = memory.store.things.select(Conflict)
    assert conflict.values == ["a 0", "b 0"]
