"""Conflicts, deletions and removed relations: what a person sees after a merge and can do about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from memglot import MemglotError, Memory
from memglot.cli.main import cli
from memglot.cli.session import Session
from memglot.errors import UsageError
from memglot.model import Conflict, Relation, Tombstone, canonical_record

A, B = (f"0194a000-0001-7000-8000-00000000000{number}" for number in (1, 2))


def line(id: str, content: str, **slot: Any) -> bytes:
    return msgspec.json.encode({"id": id, "content": content, "meta": {"memglot": slot}}) + b"\n"


def make_conflict(memory: Memory, **fields: tuple[Any, Any]) -> None:
    """Give fields of a memory two values with the same timestamp."""
    for number in range(2):
        slot = {name: values[number] for name, values in fields.items()}
        memory.import_from(line(A, "x", updated_at=5, **slot), format="ndjson", conflict="merge")


def test_a_conflict_is_counted_listed_and_reported(memory: Memory) -> None:
    memory.import_from(line(A, "x", title="a", updated_at=5), format="ndjson")
    text = line(A, "x", title="b", updated_at=5)
    result = memory.import_from(text, format="ndjson", conflict="merge")
    assert (result.merged, result.conflicts, result.value()["conflicts"]) == (1, 1, 1)
    assert any("1 field has conflicting values" in note for note in result.notes)
    (conflict,) = memory.conflicts()
    assert conflict == Conflict(record=A, field="title", clock=5, values=["a", "b"])
    third = line(A, "x", title="c", updated_at=5)
    dry = memory.import_from(third, format="ndjson", conflict="merge", dry_run=True)
    assert any("1 field would have conflicting values" in note for note in dry.notes)
    assert not any("memglot conflicts" in note for note in dry.notes)
    again = memory.import_from(text, format="ndjson", conflict="merge")
    assert (again.import_id, again.conflicts) == (None, 0)


def test_a_third_value_joins_the_conflict_and_undo_removes_it(memory: Memory) -> None:
    make_conflict(memory, title=("a", "b"))
    before = canonical_record(memory.get(A))
    result = memory.import_from(line(A, "x", title="c", updated_at=5), format="ndjson", conflict="merge")
    assert result.conflicts == 1 and memory.conflicts()[0].values == ["a", "b", "c"]
    third, second, first = (entry.id for entry in memory.imports())
    memory.undo(third)
    assert memory.conflicts()[0].values == ["a", "b"]
    assert canonical_record(memory.get(A)) == before
    memory.undo(second)
    assert memory.conflicts() == [] and memory.get(A).title == "a"
    memory.undo(first)
    assert memory.count() == 0


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("title", ("a", "b")),
        ("temporal", ({"start": 1}, {"start": 1, "end": 3})),
        ("strength", (0.25, 0.5)),
        ("meta.k", ({"k": 1}, {"k": [2]})),
        ("source.task", ({"task": "t"}, {"task": "u"})),
        ("extra.t", ({"t": "s"}, {"t": 7})),
        ("extra.t.a", ({"t": {"a": 1, "b": 1}}, {"t": {"a": 2, "b": 1}})),
        ("extra.t.frontmatter.a.b", ({"t": {"frontmatter": {"a.b": 1}}}, {"t": {"frontmatter": {"a.b": 2}}})),
    ],
)
@pytest.mark.parametrize("take", [1, 2])
def test_resolving_is_a_later_edit_that_is_exported(
    field: str, values: tuple[Any, Any], take: int, tmp_path: Path
) -> None:
    with Memory.open(":memory:") as memory, Memory.open(":memory:") as other:
        for one in (memory, other):
            make_conflict(one, **{field.partition(".")[0]: values})
        (conflict,) = memory.conflicts(A[:30], field)
        head = memory.store.history.chain_head()[0]
        record = memory.resolve(A, take=take)
        assert memory.conflicts() == [] and record.updated_at > 5
        assert memory.store.history.chain_head()[0] == head + 1
        assert memory.audit_log(limit=1)[0].details == {"field": field}
        assert memory.history(A)[0][-2].deed == "resolve"
        memory.export(tmp_path / "x.ndjson")
        other.import_from(tmp_path / "x.ndjson", conflict="merge")
        assert other.conflicts() == [] and canonical_record(other.get(A)) == canonical_record(record)
        found: Any = msgspec.to_builtins(record)
        for key in field.split(".", 3 if field.startswith("extra") else 1):
            found = found[key]
        assert found == conflict.values[take - 1]


def test_null_removes_a_value_and_a_custom_value_is_validated(memory: Memory) -> None:
    make_conflict(memory, title=("a", "b"), meta=({"k": 1, "l": 1}, {"k": 2, "l": 1}), strength=(0.1, 0.2))
    with pytest.raises(MemglotError, match="several fields"):
        memory.resolve(A, value="c")
    with pytest.raises(MemglotError, match="no value `3`"):
        memory.resolve(A, "title", take=3)
    with pytest.raises(MemglotError, match="no value was given"):
        memory.resolve(A, "title")
    with pytest.raises(MemglotError):
        memory.resolve(A, "strength", value="strong")
    with pytest.raises(MemglotError, match="no conflict"):
        memory.resolve(A, "kind", take=1)
    assert len(memory.conflicts()) == 3
    memory.resolve(A, "meta.k", value=None)
    memory.resolve(A, "title", value="mine")
    memory.resolve(A, "strength", value=None)
    record = memory.get(A)
    assert (record.title, record.meta, record.strength) == ("mine", {"l": 1}, None)
    # An old file does not restore the removed values.
    make_conflict(memory, title=("a", "b"), meta=({"k": 1, "l": 1}, {"k": 2, "l": 1}), strength=(0.1, 0.2))
    assert canonical_record(memory.get(A)) == canonical_record(record) and memory.conflicts() == []


def test_an_edit_resolves_a_conflict_and_an_edit_of_another_field_does_not(memory: Memory) -> None:
    make_conflict(memory, title=("a", "b"))
    memory.update(A, tags=["t"])
    assert [conflict.clock for conflict in memory.conflicts()] == [5]
    memory.update(A, title="c")
    assert memory.conflicts() == []


def test_preferring_a_side_leaves_no_conflict_and_keeps_its_clock(memory: Memory) -> None:
    memory.import_from(line(A, "x", title="a", updated_at=9, clocks={"title": 5}), format="ndjson")
    text = line(A, "x", title="b", updated_at=8, clocks={"title": 5})
    memory.import_from(text, format="ndjson", conflict="prefer-local")
    assert (memory.get(A).title, memory.conflicts()) == ("a", [])
    memory.import_from(text, format="ndjson", conflict="prefer-remote")
    record = memory.get(A)
    assert (record.title, record.clocks, memory.conflicts()) == ("b", {"title": 5}, [])


def test_a_conflict_is_deleted_and_restored_with_its_memory(memory: Memory) -> None:
    make_conflict(memory, title=("a", "b"))
    before = memory.conflicts()
    memory.delete(A)
    assert memory.conflicts() == []
    memory.undelete(A)
    assert memory.conflicts() == before


# Deletion


def test_an_edit_after_the_deletion_restores_a_memory_completely(memory: Memory) -> None:
    memory.import_from(line(A, "x", title="t", updated_at=5), format="ndjson")
    memory.delete(A)
    gone = memory.store.things.get(Tombstone, A)
    assert gone is not None
    older = line(A, "x", kind="note", updated_at=7, clocks={"content": 1})
    edit = line(A, "x", meta={"k": 1}, updated_at=gone.deleted_at + 1, clocks={"content": 1})
    result = memory.import_from(older, format="ndjson", conflict="merge")
    assert (result.imported, result.skipped, memory.count()) == (0, 1, 0)
    assert memory.import_from(older, format="ndjson", conflict="merge").import_id is None
    assert [version.deed for version in memory.history(A)[0]] == ["delete", "deleted"]
    result = memory.import_from(edit, format="ndjson", conflict="merge")
    assert result.imported == 1 and memory.store.things.count(Tombstone) == 0
    record = memory.get(A)
    assert (record.title, record.kind, record.meta) == ("t", "note", {"k": 1})
    memory.undo("last")
    assert memory.count() == 0 and list(memory.store.things.select(Tombstone)) == [gone]
    assert memory.undelete(A).kind == "note"


def test_undo_reverts_an_imported_edit_of_a_deleted_memory(memory: Memory) -> None:
    memory.import_from(line(A, "x", updated_at=5), format="ndjson")
    memory.delete(A)
    memory.import_from(line(A, "x", kind="note", updated_at=7), format="ndjson", conflict="merge")
    memory.undo("last")
    assert memory.undelete(A).kind == "semantic"


def test_only_a_merge_restores_a_deleted_memory(memory: Memory) -> None:
    memory.import_from(line(A, "x", updated_at=5), format="ndjson")
    memory.delete(A)
    late = line(A, "x", updated_at=9_000_000_000_000_000)
    for policy in ("skip", "prefer-local", "prefer-remote"):
        assert memory.import_from(late, format="ndjson", conflict=policy).imported == 0


@pytest.mark.parametrize("how", ["undelete", "restore", "add"])
def test_a_restored_memory_is_not_deleted_by_the_old_deletion(how: str, tmp_path: Path) -> None:
    with Memory.open(":memory:") as memory, Memory.open(":memory:") as other:
        for one in (memory, other):
            one.import_from(line(A, "x", title="t", updated_at=5), format="ndjson")
        memory.delete(A)
        memory.export(tmp_path / "gone.ndjson")
        if how == "undelete":
            memory.undelete(A)
        elif how == "restore":
            memory.import_from(line(A, "x", title="t", updated_at=5), format="ndjson", restore_deleted=True)
        else:
            memory.add("x", id=A)
        other.import_from(tmp_path / "gone.ndjson", conflict="merge")
        memory.import_from(tmp_path / "gone.ndjson", conflict="merge")
        assert (memory.count(), other.count()) == (1, 0)
        if how != "add":
            assert memory.get(A).clocks == {"content": 5, "title": 5}
        memory.export(tmp_path / "back.ndjson")
        other.import_from(tmp_path / "back.ndjson", conflict="merge")
        assert other.count() == 1 and other.get(A).title == "t"


def test_a_removed_relation_stays_removed_until_it_is_added_again(tmp_path: Path) -> None:
    with Memory.open(":memory:") as memory, Memory.open(":memory:") as other:
        for one in (memory, other):
            one.import_from(line(A, "a", updated_at=5) + line(B, "b", updated_at=5), format="ndjson")
        assert memory.link(A, "knows", B).id == other.link(A, "knows", B).id
        memory.export(tmp_path / "old.ndjson")
        memory.unlink(A, "knows", B)
        assert memory.import_from(tmp_path / "old.ndjson", conflict="merge").import_id is None
        memory.export(tmp_path / "gone.ndjson")
        other.import_from(tmp_path / "gone.ndjson", conflict="merge")
        assert list(other.relations()) == []
        other.undo("last")
        assert len(list(other.relations())) == 1 and other.store.things.count(Tombstone) == 0
        made = memory.link(A, "knows", B)
        assert memory.store.things.count(Tombstone) == 0
        memory.export(tmp_path / "again.ndjson")
        other.import_from(tmp_path / "gone.ndjson", conflict="merge")
        other.import_from(tmp_path / "again.ndjson", conflict="merge")
        assert list(other.store.things.select(Relation)) == [made] and other.store.things.count(Tombstone) == 0


@pytest.mark.parametrize("how", ["take", "value", "update", "delete", "merge"])
def test_rejected_values_are_in_the_history(how: str, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "mine.db") as memory:
        make_conflict(memory, title=("LOSER A", "LOSER B"), meta=({"k": [1]}, {"k": 2}))
        had = memory.conflicts()
        if how == "take":
            memory.resolve(A, "title", take=1)
        elif how == "value":
            memory.resolve(A, "title", value="C")
        elif how == "update":
            memory.update(A, title="C")
        elif how == "delete":
            memory.delete(A)
        else:
            memory.import_from(line(A, "x", title="C", updated_at=9), format="ndjson", conflict="merge")
        versions, _ = memory.history(A)
        assert versions[-2].conflicts == had and len(versions[-1].conflicts) == (how != "delete")
    text = CliRunner().invoke(cli, ["history", A], obj=session(tmp_path / "mine.db")).output
    assert "    title had conflicting values:\n        1  LOSER A" in text and "        2  LOSER B" in text
    text = CliRunner().invoke(cli, ["history", A, "--json"], obj=session(tmp_path / "mine.db")).output
    value = msgspec.json.decode(text)["versions"][-2]
    assert [(one["field"], one["values"]) for one in value["conflicts"]] == [
        ("meta.k", [2, [1]]),
        ("title", ["LOSER A", "LOSER B"]),
    ]
    assert all(one["stands"] in (1, 2) for one in value["conflicts"])


# The command


def session(store: Path) -> Session:
    found = Session()
    found.store = str(store)
    return found


def run(store: Path, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["conflicts", *arguments], obj=session(store))
    return result.exit_code, result.output


def test_the_command_lists_shows_and_resolves(tmp_path: Path) -> None:
    store = tmp_path / "mine.db"
    with Memory.open(store) as memory:
        make_conflict(memory, title=("a", "b"), meta=({"k": None}, {"k": 2}))
    code, text = run(store)
    assert code == 0 and text.count("(in use)") == 2
    code, text = run(store, "--json")
    found = msgspec.json.decode(text)["conflicts"]
    assert [(one["id"], one["field"], one["values"]) for one in found] == [
        (A, "meta.k", [2, None]),
        (A, "title", ["a", "b"]),
    ]
    assert run(store, "show", A, "title")[1].count("\n") == 3
    for number in ("0", "-1", "3"):
        with pytest.raises(UsageError, match=f"this conflict has no value `{number}`"):
            CliRunner().invoke(
                cli, ["conflicts", "resolve", A, "title", "--take", number], obj=session(store), standalone_mode=False,
                catch_exceptions=False,
            )  # fmt: skip
    for wrong in (["resolve", A], ["resolve", A, "--take", "1", "--value", "x"], ["show"], ["list", A]):
        assert run(store, *wrong)[0] != 0
    assert run(store, "resolve", A, "meta.k", "--json-value", '{"n": 1}')[0] == 0
    code, text = run(store, "resolve", A, "--value", "mine", "--json")
    record = msgspec.json.decode(text)
    assert (record["title"], record["meta"]) == ("mine", {"k": {"n": 1}})
    assert run(store)[1] == "none\n"


def test_a_memory_with_the_maximum_timestamp_cannot_be_edited(memory: Memory) -> None:
    last = "9999-12-31T23:59:59.999999Z"
    for title in "ab":
        row = {"id": A, "content": "c", "content_hash": "", "created_at": 1.7e9, "updated_at": last, "title": title}
        text = msgspec.json.encode({"export_metadata": {"exporter_version": "memoryd-1"}, "memories": [row]})
        memory.import_from(text, format="memories-json")
    assert len(memory.conflicts()) == 1
    with pytest.raises(MemglotError, match="already the maximum"):
        memory.resolve(A, take=1)
    with pytest.raises(MemglotError, match="already the maximum"):
        memory.update(A, title="mine")
    memory.delete(A)
    assert memory.count() == 0
