"""Undo: each import separately, in any order, and without overwriting later changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memglot import Memory
from memglot.cli.main import cli
from memglot.cli.session import Session
from memglot.formats.core.sidecar import encode_item
from memglot.model import Conflict, Document, Entity, Relation, Supersession, Tombstone

MINE, BROUGHT, OTHER = (f"0190a0b0-0000-7000-8000-00000000000{number}" for number in (1, 2, 3))
OLD = "0190a0b0-0000-7000-8000-000000000000"
KINDS = (Entity, Relation, Supersession, Document, Tombstone, Conflict)


def contents_of(memory: Memory) -> list[bytes]:
    """Return everything in a store."""
    found = [encode_item(record) for record in memory.list(with_deleted=True)]
    return found + [encode_item(thing) for kind in KINDS for thing in memory.store.things.select(kind)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with one memory."""
    with Memory.open(":memory:") as other:
        other.add("brought", id=BROUGHT)
        other.export(tmp_path / "brought.json", format="memories-json")
    return tmp_path / "brought.json"


@pytest.fixture
def mine(memory: Memory) -> Memory:
    memory.add("mine", id=MINE)
    return memory


def state(memory: Memory, id: str) -> str:
    return next(entry.state for entry in memory.imports() if entry.id == id)


def test_supersessions_of_one_memory_are_undone_separately(mine: Memory, tmp_path: Path) -> None:
    for id in (BROUGHT, OTHER):
        mine.add(id, id=id)
    mine.supersede(MINE, BROUGHT, reason="r1")
    mine.supersede(MINE, OTHER, reason="q1")
    mine.export(tmp_path / "a.json", format="memories-json")
    with Memory.open(":memory:") as other:
        other.import_from(tmp_path / "a.json")
        other.supersede(MINE, BROUGHT, reason="r2")
        other.export(tmp_path / "b.json", format="memories-json")
    mine.import_from(tmp_path / "b.json")
    assert [one.reason for one in mine.chain(MINE)] == ["q1", "r2"]
    mine.supersede(MINE, OTHER, reason="q2")
    assert mine.undo("last").notes == []
    assert [one.reason for one in mine.chain(MINE)] == ["r1", "q2"]


@pytest.mark.parametrize("force", [False, True])
def test_two_imports_are_undone_out_of_order(mine: Memory, tmp_path: Path, force: bool) -> None:
    before = contents_of(mine)
    imports = []
    with Memory.open(":memory:") as other:
        other.add("seed", id=BROUGHT)
        for aliases in ([], ["Ann"]):
            other.add_entity("Anna", "person", aliases=aliases)
            other.export(tmp_path / "x.json", format="memories-json", force=True)
            imports.append(mine.import_from(tmp_path / "x.json").import_id or "")
    first, second = imports
    result = mine.undo(first, force=force)
    if force:
        assert result.notes == [] and contents_of(mine) == before
        return
    assert "kept 1 other item changed since" in result.notes[0]
    assert state(mine, first) == "partly undone" and len(list(mine.entities())) == 1
    assert mine.undo(second).notes == []
    assert mine.undo(first).notes == []
    assert contents_of(mine) == before and state(mine, first) == state(mine, second) == "undone"


def test_a_change_before_the_import_does_not_block_its_undo(mine: Memory, file: Path) -> None:
    found = mine.import_from(file).import_id or ""
    mine.update(BROUGHT, title="t")
    assert "kept 1 memory changed since" in mine.undo(found).notes[0]
    assert mine.undo(found, force=True).imported == 1
    mine.import_from(file)
    result = mine.undo("last")
    assert (result.imported, result.notes) == (1, [])


@pytest.mark.parametrize("deed", ["link", "linked", "supersede", "superseded", "delete", "undelete", "merge"])
def test_changes_to_a_memory_since_the_import_are_detected(mine: Memory, file: Path, deed: str) -> None:
    before = contents_of(mine)
    found = mine.import_from(file).import_id or ""
    if deed == "link":
        mine.link(BROUGHT, "knows", MINE)
    elif deed == "linked":
        mine.link(MINE, "knows", BROUGHT)
    elif deed == "supersede":
        mine.supersede(BROUGHT, MINE)
    elif deed == "superseded":
        mine.supersede(MINE, BROUGHT)
    elif deed in ("delete", "undelete"):
        mine.delete(BROUGHT)
        if deed == "undelete":
            mine.undelete(BROUGHT)
    else:
        mine.update(MINE, content="brought")
        mine.consolidate()
        assert mine.count() == 1
    after = contents_of(mine)
    result = mine.undo(found)
    assert (result.imported, result.merged) == (0, 0)
    assert "kept 1 memory changed since" in result.notes[0] and state(mine, found) == "partly undone"
    assert contents_of(mine) == after
    forced = mine.undo(found, force=True)
    assert (forced.imported, forced.notes, state(mine, found)) == (1, [], "undone")
    assert BROUGHT not in {record.id for record in mine.list()}
    assert mine.get(MINE).status == "active"
    for kind in KINDS:
        assert not [thing for thing in mine.store.things.select(kind) if BROUGHT in encode_item(thing).decode()]
    if deed not in ("supersede", "merge"):
        assert contents_of(mine) == before


def test_a_merged_memory_is_restored_when_its_target_is_undone(mine: Memory, tmp_path: Path) -> None:
    with Memory.open(":memory:") as other:
        record = other.add("mine", id=OLD)
        record.created_at = 1
        with other.store.writing():
            other.store.records.replace(record)
        other.export(tmp_path / "old.json", format="memories-json")
    found = mine.import_from(tmp_path / "old.json").import_id or ""
    assert mine.consolidate().merged == 1
    assert [one.id for one in mine.list()] == [OLD]
    assert "kept 1 memory changed since" in mine.undo(found).notes[0]
    mine.undo(found, force=True)
    assert [one.id for one in mine.list()] == [MINE]


def test_an_import_that_only_marks_a_scope_reports_a_change(tmp_path: Path) -> None:
    with Memory.open(":memory:") as other:
        other.mark_sensitive("work")
        other.export(tmp_path / "marks.sqlite", format="sqlite")
    said = []
    for _ in range(2):
        found = CliRunner().invoke(
            cli, ["--store", str(tmp_path / "s.db"), "import", str(tmp_path / "marks.sqlite")], obj=Session()
        )
        assert found.exit_code == 0
        said.append(found.output)
    assert "nothing changed" not in said[0] and "marked 1 scope as sensitive" in said[0]
    assert "nothing changed" in said[1]


X, Y = (f"0194a000-000{number}-7000-8000-000000000000" for number in (1, 2))


def line(id: str, content: str, **more: Any) -> bytes:
    import msgspec

    return msgspec.json.encode({"id": id, "content": content, **more}) + b"\n"


def test_undelete_after_a_restoring_import_was_undone(memory: Memory) -> None:
    memory.import_from(line(X, "x"), format="ndjson")
    memory.delete(X)
    memory.import_from(line(X, "x"), format="ndjson", restore_deleted=True)
    memory.undo("last")
    assert memory.undelete(X[:13]).content == "x"
    result = memory.undo(list(memory.imports())[-1].id)
    assert any("--force" in note for note in result.notes)


def test_undo_of_an_import_that_merged_its_own_records(memory: Memory) -> None:
    memory.import_from(line(X, "x") + line(X, "x", tree="a"), format="ndjson", conflict="merge")
    assert memory.get(X).tree == "a"
    memory.undo("last")
    assert memory.count() == 0


def test_undo_does_not_restore_what_the_user_removed(memory: Memory) -> None:
    relation = {"id": "r", "subject": {"id": X}, "predicate": "knows", "object": {"id": Y}, "updated_at": 1}
    slot = {"relations": [relation]}
    memory.import_from(line(X, "x", meta={"memglot": slot}) + line(Y, "y"), format="ndjson")
    relation |= {"weight": 0.5, "updated_at": 2}
    memory.import_from(line(X, "x", meta={"memglot": slot}), format="ndjson", conflict="merge")
    memory.unlink(X, "knows", Y)
    result = memory.undo("last")
    assert list(memory.relations()) == [] and any("--force" in note for note in result.notes)


@pytest.mark.parametrize("change", ["delete", "update", "link"])
def test_changes_that_were_undone_do_not_keep_an_import(mine: Memory, file: Path, change: str) -> None:
    before = contents_of(mine)
    found = mine.import_from(file).import_id or ""
    if change == "delete":
        mine.delete(BROUGHT)
    elif change == "update":
        mine.update(BROUGHT, content="changed", tree="old")
    else:
        mine.link(BROUGHT, "knows", MINE)
    mine.undo()
    undo, *_ = mine.operations()
    if change != "link":
        # Done again, it is a change since.
        mine.undo(undo.id)
        assert mine.undo(found).kept == 1
        mine.undo(next(iter(mine.operations())).id)
    assert mine.undo(found).removed == 1 and state(mine, found) == "undone"
    assert [one for one in contents_of(mine) if b'"kind":"relation"' not in one] == before


class Interrupted(Exception):
    """Stands for a kill after a transaction."""


@pytest.mark.parametrize("force", [False, True])
def test_a_large_import_is_undone_in_short_transactions_and_can_be_interrupted(tmp_path: Path, force: bool) -> None:
    path, count = tmp_path / "store.db", 3_000
    ids = [f"0194a000-{number:04x}-7000-8000-000000000000" for number in range(count)]
    with Memory.open(path) as memory:
        memory.import_from(b"".join(line(id, "old") for id in ids[: count // 2]), format="ndjson")
        memory.link(ids[0], "knows", ids[1])
        before = contents_of(memory)
        new = b"".join(line(id, "new", meta={"k": 1}) for id in ids)
        found = memory.import_from(new, format="ndjson", conflict="prefer-remote").import_id or ""
        memory.update(ids[0], title="edited since")
        memory.link(ids[-1], "knows", ids[1])
        seen: list[tuple[int, int]] = []

        def stop(done: int, total: int) -> None:
            seen.append((done, total))
            with Memory.open(path) as other:
                other.delete(other.add("meanwhile").id)
            if len(seen) == 2:
                raise Interrupted

        with pytest.raises(Interrupted):
            memory.undo(found, force=force, progress=stop)
        assert seen[0][1] == count // 2 and 0 < memory.count() < count
        result = memory.undo(found, force=force)
        assert result.kept == (0 if force else 2)
        after = [one for one in contents_of(memory) if b'"reason"' not in one and b'"deleted_at"' not in one]
        assert memory.doctor().problems == []
        if force:
            assert after == [one for one in before if b'"deleted_at"' not in one]
        else:
            assert {*before} - {*after} and len(after) == len(before) + 2
            assert (memory.get(ids[0]).title, memory.get(ids[-1]).content) == ("edited since", "new")
        assert state(memory, found) == ("undone" if force else "partly undone")
