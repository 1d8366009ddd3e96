"""Edits that other tools make without saying when: a three-way merge with what the tool said before."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SHARED
from memglot import Memory
from memglot.formats import registry
from memglot.merging.registers import clock_of
from memglot.model import LATEST, Conflict, Record, derive_id
from memglot.model.fingerprints import fingerprint
from memglot.results import ImportResult
from memglot.store.query import Filter

ID = derive_id("agentos", "", "mt_1")
AT = 1_700_000_000_000


def trace(content: str = "one", id: str = "mt_1", **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "semantic", "content": content, "createdAt": AT, "strength": 1, **more}


def say(memory: Memory, *traces: dict[str, Any], **options: Any) -> ImportResult:
    """Import what AgentOS says now."""
    text = b"".join(json.dumps(found).encode() + b"\n" for found in traces)
    return memory.import_from(text, format="agentos-json", **options)


def counts(result: ImportResult) -> tuple[int, int, int, int]:
    return result.imported, result.merged, result.conflicts, len(result.notes)


def test_an_edit_in_the_tool_is_taken_over(memory: Memory) -> None:
    say(memory, trace("one", tags=["a", "b"], metadata={"k": 1, "gone": 2}))
    result = say(memory, trace("two", type="episodic", tags=["b", "c"], metadata={"k": 3, "new": 4}))
    assert counts(result) == (0, 1, 0, 0)
    record = memory.get(ID)
    assert (record.content, record.kind, record.tags, record.meta) == (
        "two",
        "episodic",
        ["b", "c"],
        {"k": 3, "new": 4},
    )
    assert say(memory, trace("two", type="episodic", tags=["b", "c"], metadata={"k": 3, "new": 4})).import_id is None


def test_an_edit_here_stays_while_the_tool_says_the_same(memory: Memory) -> None:
    say(memory, trace("one", metadata={"k": 1}))
    memory.update(ID, content="mine")
    assert counts(say(memory, trace("one", metadata={"k": 1}))) == (0, 0, 0, 0)
    # An edit of another value does not bring the old content back.
    assert counts(say(memory, trace("one", metadata={"k": 2}))) == (0, 1, 0, 0)
    record = memory.get(ID)
    assert (record.content, record.meta) == ("mine", {"k": 2})


def test_edits_on_both_sides_are_a_conflict_and_the_local_value_is_used(memory: Memory) -> None:
    say(memory, trace("one"))
    memory.update(ID, content="mine")
    result = say(memory, trace("theirs"))
    assert counts(result) == (0, 1, 1, 1)
    (conflict,) = memory.store.things.select(Conflict)
    assert (conflict.field, sorted(conflict.values)) == ("content", ["mine", "theirs"])
    assert memory.get(ID).content == "mine"
    assert say(memory, trace("theirs")).import_id is None
    # The tool's next edit joins the conflict instead of replacing the value that nobody has decided against.
    assert counts(say(memory, trace("more"))) == (0, 1, 1, 1)
    (conflict,) = memory.store.things.select(Conflict)
    assert sorted(conflict.values) == ["mine", "more", "theirs"]
    memory.resolve(ID, "content", value="theirs")
    assert say(memory, trace("more")).import_id is None
    assert memory.get(ID).content == "theirs"


def test_tags_that_both_sides_changed_are_merged_one_by_one(memory: Memory) -> None:
    say(memory, trace(tags=["a", "b", "c"]))
    memory.update(ID, tags=["b", "c", "mine"])
    assert counts(say(memory, trace(tags=["a", "b", "theirs"]))) == (0, 1, 0, 0)
    assert memory.get(ID).tags == ["b", "mine", "theirs"]
    assert say(memory, trace(tags=["a", "b", "theirs"])).import_id is None


def test_the_same_edit_on_both_sides_is_not_a_conflict(memory: Memory) -> None:
    say(memory, trace("one"))
    memory.update(ID, content="two")
    assert counts(say(memory, trace("two"))) == (0, 0, 0, 0)
    # Both agreed on it, so the next edit of the tool is the only one.
    assert counts(say(memory, trace("three"))) == (0, 1, 0, 0)
    assert memory.get(ID).content == "three"


def test_a_value_of_an_earlier_exchange_is_not_an_edit(memory: Memory) -> None:
    for content in ("one", "two", "three"):
        say(memory, trace(content))
    for content in ("one", "two"):
        result = say(memory, trace(content))
        assert result.import_id is None and memory.get(ID).content == "three"
        assert any("went back in time" in note for note in result.notes)
    assert say(memory, trace("one"), conflict="prefer-remote").merged == 1
    assert memory.get(ID).content == "one"


def test_rows_of_one_memory_that_differ_change_nothing_again(memory: Memory) -> None:
    id = "0194a000-0001-7000-8000-000000000001"
    written = {"content": fingerprint("a"), "meta.k": fingerprint("mine")}
    slot, meta = (json.dumps(value).replace('"', '""') for value in ({"base": written}, {"k": "mine"}))
    text = f'id,content,metadata,memglot\n{id},a,,\n{id},a,"{meta}","{slot}"\n'.encode()
    assert counts(memory.import_from(text, format="csv"))[:3] == (1, 1, 0)
    before = memory.get(id)
    assert before.meta == {"k": "mine"}
    # The first row has no `k`, as when it was imported first, so this is not a removal.
    assert memory.import_from(text, format="csv").import_id is None
    assert memory.get(id) == before


def test_a_source_that_is_new_here_only_fills_in_what_is_empty(memory: Memory) -> None:
    memory.add("here", id=ID, meta={"k": 1}, tags=["a"])
    result = say(memory, trace("there", metadata={"k": 2, "l": 3}, tags=["b"]))
    record = memory.get(ID)
    assert (record.content, record.meta, record.tags) == ("here", {"k": 1, "l": 3}, ["a", "b"])
    assert result.conflicts == 0
    assert any("without edit times" in note for note in result.notes)
    # From now on it is known what the source said.
    assert counts(say(memory, trace("there", metadata={"k": 5, "l": 3}, tags=["b"]))) == (0, 1, 0, 0)
    assert memory.get(ID).meta == {"k": 5, "l": 3}


def test_a_deletion_flag_is_a_field_and_a_missing_row_is_not_a_deletion(memory: Memory) -> None:
    say(memory, trace("one"), trace("other", id="mt_2"))
    assert say(memory, trace("other", id="mt_2")).import_id is None
    assert memory.get(ID).status == "active"
    say(memory, trace("one", deleted=1))
    assert memory.get(ID).status == "deleted"
    say(memory, trace("one"))
    # The tool said "active" before: an old copy does not bring the memory back.
    assert memory.get(ID).status == "deleted"


def test_bookkeeping_of_a_tool_never_conflicts(memory: Memory) -> None:
    say(memory, trace(strength=1.0, retrievalCount=1, metadata={"decay": {"stability": 1}}))
    memory.update(ID, strength=0.7)
    before = memory.get(ID)
    recalled = trace(strength=0.5, retrievalCount=4, lastAccessed=AT + 5, metadata={"decay": {"stability": 9}})
    assert counts(say(memory, recalled)) == (0, 1, 0, 0)
    record = memory.get(ID)
    assert (record.strength, record.access_count, record.extra["agentos"]["decay"]) == (0.5, 4, {"stability": 9})
    # A recall is not an edit.
    assert record.updated_at == before.updated_at


def test_the_clock_of_a_taken_value_is_the_time_of_the_file(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "traces.json"

    def write(content: str, seconds: int) -> None:
        path.write_text(json.dumps([trace(content)]), encoding="utf-8")
        os.utime(path, (seconds, seconds))
        memory.import_from(path)

    write("one", 1_700_000_000)
    write("two", 1_710_000_000)
    assert clock_of(memory.get(ID), "content") == 1_710_000_000_000_000
    # Never before the value that it replaces, and never in the future.
    write("three", 1_600_000_000)
    assert clock_of(memory.get(ID), "content") == 1_710_000_000_000_001
    write("four", 4_000_000_000)
    assert clock_of(memory.get(ID), "content") < 4_000_000_000_000_000


def test_undo_restores_what_the_source_said(memory: Memory) -> None:
    say(memory, trace("one"))
    edit = say(memory, trace("two"))
    assert edit.import_id is not None
    memory.undo(edit.import_id)
    assert memory.get(ID).content == "one"
    assert counts(say(memory, trace("two"))) == (0, 1, 0, 0)


def test_a_dry_run_remembers_nothing(memory: Memory) -> None:
    say(memory, trace("one"))
    for _ in range(2):
        assert counts(say(memory, trace("two"), dry_run=True)) == (0, 1, 0, 0)
    assert memory.store.history.bases([ID]) == []
    assert counts(say(memory, trace("two"))) == (0, 1, 0, 0)


def test_a_memory_of_an_earlier_version_is_compared_with_its_stored_value(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "a.db") as memory:
        say(memory, trace("one"), trace("other", id="mt_2"))
        memory.update(derive_id("agentos", "", "mt_2"), content="mine")
    with sqlite3.connect(tmp_path / "a.db") as db:
        db.execute("DELETE FROM bases")
    with Memory.open(tmp_path / "a.db") as memory:
        assert counts(say(memory, trace("two"), trace("other", id="mt_2"))) == (0, 1, 0, 0)
        assert sorted(record.content for record in memory.list()) == ["mine", "two"]


def test_a_tree_and_tags_of_the_import_are_not_edits_of_the_source(memory: Memory) -> None:
    say(memory, trace("one", tags=["a"]), tree="work", tags=["imported"])
    assert say(memory, trace("one", tags=["a"]), tree="work", tags=["imported"]).import_id is None
    assert counts(say(memory, trace("two", tags=["a"]))) == (0, 1, 0, 0)
    record = memory.get(ID)
    assert (record.content, record.tree, record.tags) == ("two", "work", ["a", "imported"])


@pytest.mark.parametrize("title", [None, "T"], ids=["without a slot", "with an older slot"])
def test_tags_of_a_later_import_are_added(title: str | None, memory: Memory) -> None:
    line = trace("one", tags=["a"], metadata={"memglot": {"title": title}} if title else {})
    say(memory, line)
    assert say(memory, line, tags=["later"]).merged == 1
    assert memory.get(ID).tags == ["a", "later"]
    assert say(memory, line, tags=["later"]).import_id is None
    assert say(memory, line).import_id is None


def test_bases_stay_in_their_store(memory: Memory, tmp_path: Path) -> None:
    say(memory, trace("one"))
    say(memory, trace("two"))
    assert memory.store.history.bases([ID])
    for name in ("part.db", "all.ndjson", "sync.json"):
        path = tmp_path / name
        memory.export(path, format="memories-json" if name == "sync.json" else None, limit=5)
        with Memory.open(tmp_path / f"{name}.other") as other:
            other.import_from(path)
            assert other.get(ID).content == "two"
            assert other.store.history.bases([ID]) == []
            # There, AgentOS is a source that never said anything.
            assert counts(say(other, trace("three"))) == (0, 0, 0, 1)


WRITABLE = [
    (name, dialect)
    for name in registry.names()
    if (format := registry.get(name)).write is not None and not format.merging.has_clocks
    for dialect in (None, *format.dialects)
]


def mixed(memory: Memory) -> list[Record]:
    """Memories with fields that hardly a format has a place for."""
    memory.add("plain")
    memory.add("A title, a tree", title="T", tree="a.b", tags=["x", "y, z"], meta={"n": 1.0, "o": {"p": [1, 2.5]}})
    memory.add("日本語 and\nlines", kind="decision", scope="user:7", temporal=("2024-01-01", "2024-02-01"))
    first, *_ = memory.list()
    memory.update(first.id, content="edited here", tags=["z"])
    say(memory, trace("from AgentOS", metadata={"k": 1}, tags=["t"]))
    return list(memory.store.records.select(Filter(with_deleted=True)))


@pytest.mark.parametrize(("format", "dialect"), WRITABLE)
@pytest.mark.parametrize("plain", [False, True], ids=["carry", "plain"])
def test_a_round_trip_through_a_format_is_not_an_edit(format: str, dialect: str, plain: bool, tmp_path: Path) -> None:
    with Memory.open(":memory:") as memory:
        before = mixed(memory)
        path = tmp_path / (
            "out" if registry.get(format).writing.makes_folder else f"out{registry.get(format).extensions[0]}"
        )
        memory.export(path, format=format, dialect=dialect, plain=plain)
        result = memory.import_from(path, format=format)
        assert (result.merged, result.conflicts) == (0, 0), result.notes
        after = {record.id: record for record in memory.store.records.select(Filter(with_deleted=True))}
        assert [after[record.id] for record in before] == before


def change_json(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    for row in value["memories"]:
        change(row)
    path.write_text(json.dumps(value), encoding="utf-8")


@pytest.mark.parametrize("format", ["mcp-memory-v5", "memories-json"])
def test_edits_of_visible_fields_win_over_the_carry_slot(format: str, memory: Memory, tmp_path: Path) -> None:
    record = memory.add("text", kind="my own kind", tags=["a", "b"], title="T", scope="s", meta={"k": 1}, tree="x")
    path = tmp_path / "memories.json"
    memory.export(path, format=format)

    def edit(row: dict[str, Any]) -> None:
        row |= {"memory_type": "decision", "tags": ["b", "c"], "content": "edited", "content_hash": ""}
        row["metadata"] |= {"k": 2, "import_info": {"imported_at": "2026"}}
        if format == "memories-json":
            row["frontmatter"]["title"] = "Other"

    change_json(path, edit)
    assert counts(memory.import_from(path)) == (0, 1, 0, 0)
    found = memory.get(record.id)
    assert (found.kind, found.tags, found.content) == ("decision", ["b", "c"], "edited")
    assert found.meta == {"k": 2, "import_info": {"imported_at": "2026"}}
    assert (found.title, found.scope, found.tree) == ("Other" if format == "memories-json" else "T", "s", "x")
    assert memory.import_from(path).import_id is None
    memory.update(record.id, content="mine")
    assert memory.import_from(path).import_id is None
    change_json(path, lambda row: row.update(content="again", content_hash=""))
    assert memory.import_from(path).conflicts == 1


def test_what_mcp_memory_service_makes_of_a_row_is_not_an_edit(memory: Memory, tmp_path: Path) -> None:
    memory.add("text", kind="my own kind", tags=["a, b", "c"], scope="s", title="T")
    memory.add("untagged")
    before = list(memory.list())
    for trip in range(3):
        path = tmp_path / f"{trip}.json"
        memory.export(path, format="mcp-memory-v5")

        def store(row: dict[str, Any], trip: int = trip) -> None:
            keys = ("content", "content_hash", "tags", "created_at", "updated_at", "memory_type", "metadata")
            kept = {key: row[key] for key in keys}
            row.clear()
            row.update(kept, export_source="elsewhere")
            row["tags"] = [part.strip() for tag in row["tags"] for part in tag.split(",")] or ["untagged"]
            if row["memory_type"] not in ("note", "decision"):
                row["memory_type"] = "observation"
            row["metadata"]["import_info"] = {"imported_at": f"2026-0{trip + 1}"}

        change_json(path, store)
        result = memory.import_from(path)
        assert (result.imported, result.merged, result.conflicts) == (0, 2, 0)
        assert memory.import_from(path).import_id is None
    for old, new in zip(before, memory.list(), strict=True):
        assert new.meta.pop("import_info") == {"imported_at": "2026-03"}
        assert (new.kind, new.tags, new.scope, new.title) == (old.kind, old.tags, old.scope, old.title)


def test_an_edit_in_a_brain_wins_over_the_carry_slot(memory: Memory, tmp_path: Path) -> None:
    record = memory.add("text", title="T", tree="x", tags=["a"])
    memory.export(tmp_path / "brain.sqlite", format="agentos-sqlite")
    with sqlite3.connect(tmp_path / "brain.sqlite") as brain:
        brain.execute("UPDATE memory_traces SET content = 'edited', type = 'procedural', tags = '[\"b\"]'")
    assert counts(memory.import_from(tmp_path / "brain.sqlite")) == (0, 1, 0, 0)
    found = memory.get(record.id)
    assert (found.content, found.kind, found.tags, found.title) == ("edited", "procedural", ["b"], "T")
    # On a machine that has never seen the memory, the edit is there too, and the rest is ours.
    with Memory.open(":memory:") as other:
        other.import_from(tmp_path / "brain.sqlite")
        (copy,) = other.list()
        assert (copy.id, copy.content, copy.title, copy.tree) == (record.id, "edited", "T", "x")
        assert clock_of(copy, "content") > clock_of(record, "content")


def test_an_edit_of_a_slot_and_one_here_are_both_kept(memory: Memory, tmp_path: Path) -> None:
    record = memory.add("text", title="T", meta={"k": 1})
    path = tmp_path / "brain.sqlite"
    for number in range(3):
        memory.export(path, format="agentos-sqlite", force=True)
        with sqlite3.connect(path) as brain:
            brain.execute("UPDATE memory_traces SET content = ?", (f"there {number}",))
        memory.update(record.id, title=f"T{number}")
        assert counts(memory.import_from(path)) == (0, 1, 0, 0)
        found = memory.get(record.id)
        assert (found.content, found.title) == (f"there {number}", f"T{number}")


def test_three_tools_edit_one_memory(memory: Memory, tmp_path: Path) -> None:
    record = memory.add("text", kind="note", tags=["t"], meta={"k": 1})
    brain, rows, vault = tmp_path / "brain.sqlite", tmp_path / "rows.json", tmp_path / "vault"
    memory.export(brain, format="agentos-sqlite")
    memory.export(rows, format="mcp-memory-v5")
    memory.export(vault, format="obsidian")
    with sqlite3.connect(brain) as db:
        db.execute("UPDATE memory_traces SET content = 'from the brain'")
    change_json(rows, lambda row: row.update(memory_type="decision"))
    (note,) = vault.rglob("*.md")
    note.write_text(note.read_text(encoding="utf-8").replace("- t\n", "- t\n  - v\n"), encoding="utf-8")
    for path in (brain, rows, vault):
        assert memory.import_from(path).conflicts == 0
    found = memory.get(record.id)
    assert (found.content, found.kind, found.tags) == ("from the brain", "decision", ["t", "v"])
    # The other two tools still have the old text, which is not an edit; a second edit of it is a conflict.
    for path in (rows, vault, brain):
        assert memory.import_from(path).import_id is None
    change_json(rows, lambda row: row.update(content="from the service"))
    assert memory.import_from(rows).conflicts == 1
    assert memory.get(record.id).content == "from the brain"


def with_slot(content: str, **slot: Any) -> dict[str, Any]:
    """Return a trace with a carry slot whose base says that another content was written."""
    base = {"content": "000000000000", "kind": fingerprint("semantic"), "strength": fingerprint(1)}
    return trace(content, metadata={"memglot": {"title": "T", "base": base, **slot}})


def test_an_edit_of_the_latest_possible_time_stays_in_range(memory: Memory, tmp_path: Path) -> None:
    say(memory, with_slot("new", updated_at=LATEST, clocks={"kind": LATEST}))
    assert say(memory, with_slot("newer", updated_at=LATEST, clocks={"kind": LATEST})).failed == 0
    record = memory.get(ID)
    assert max(record.updated_at, *record.clocks.values()) <= LATEST
    for format in ("csv", "memories-json", "json"):
        memory.export(tmp_path / format, format=format)


@pytest.mark.parametrize("name", ["extra.a%2eb", "meta", "extra", "source", "source.machine", "nonsense", "", "a" * 99])
def test_a_hostile_base_changes_nothing(name: str, memory: Memory) -> None:
    written = {"content": fingerprint("x"), "kind": fingerprint("semantic"), "strength": fingerprint(1)}
    slot = {"meta": {"k": 1}, "base": {**written, "meta.m": fingerprint(2), name: "1"}}
    line = trace("x", metadata={"memglot": slot, "m": 2})
    for policy in ("merge", "prefer-remote"):
        say(memory, line, conflict=policy)
        assert memory.get(ID).meta == {"k": 1, "m": 2}
    assert say(memory, line).import_id is None


def test_a_slot_proves_an_edit_back_to_an_earlier_value(memory: Memory, tmp_path: Path) -> None:
    record, path = memory.add("zero", title="T"), tmp_path / "brain.sqlite"
    for _ in range(2):
        memory.export(path, format="agentos-sqlite", force=True)
        with sqlite3.connect(path) as brain:
            brain.execute("UPDATE memory_traces SET content = 'one'")
        assert counts(memory.import_from(path)) == (0, 1, 0, 0)
        assert memory.get(record.id).content == "one"
        memory.update(record.id, content="zero")
    # The same file again is not an edit.
    assert memory.import_from(path).merged == 0


def test_bookkeeping_may_return_to_an_earlier_state(memory: Memory) -> None:
    for state in ("hot", "cold", "hot"):
        say(memory, trace(metadata={"decay": {"state": state}}))
        assert memory.get(ID).extra["agentos"]["decay"] == {"state": state}


def test_a_view_finds_what_its_owner_imported(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory.open(path) as memory:
        say(memory, trace("one"))
        memory.add("secret", scope="hidden")
        memory.mark_sensitive("hidden")
    with Memory.open(path, sensitive=False) as view:
        assert counts(say(view, trace("two"))) == (0, 1, 0, 0)
        assert view.get(ID).content == "two"


def test_only_the_file_that_brought_a_memory_is_its_source(memory: Memory, tmp_path: Path) -> None:
    other, rows = tmp_path / "m.ndjson", tmp_path / "o.csv"
    other.write_text(json.dumps({"id": ID, "content": "zero"}) + "\n", encoding="utf-8")
    rows.write_text("content\nsomething else\n", encoding="utf-8")
    memory.import_from(other, rows)
    say(memory, trace("stale copy"))
    assert memory.get(ID).content == "zero"


FIELDS = ("content", "kind", "meta")
EVENTS = st.lists(
    st.tuples(st.sampled_from(["there", "here", "import", "export"]), st.sampled_from(FIELDS), st.integers(0, 3)),
    max_size=14,
)


class Tool:
    """A tool that keeps one trace without edit times."""

    def __init__(self) -> None:
        self.values: dict[str, str] = dict.fromkeys(FIELDS, "0")

    def trace(self) -> dict[str, Any]:
        return trace(self.values["content"], type=self.values["kind"], metadata={"m": self.values["meta"]})

    def take(self, memory: Memory) -> None:
        """Become what memglot exports."""
        content = memory.export(format="agentos-json").content
        assert content is not None
        found = json.loads(content.splitlines()[0])
        self.values = {"content": found["content"], "kind": found["type"], "meta": found["metadata"]["m"]}


def edit(memory: Memory, field: str, value: str) -> None:
    changes: dict[str, Any] = {field: {"m": value} if field == "meta" else value}
    memory.update(ID, **changes)


def value_of(record: Record, field: str) -> str:
    found = getattr(record, field)
    return str(found["m"]) if field == "meta" else found


@given(EVENTS)
def test_no_history_loses_an_edit(events: list[Any]) -> None:
    """Compare with a plain three-way merge of each field, which also knows all earlier values of the tool."""
    with Memory.open(":memory:") as memory:
        tool = Tool()
        say(memory, tool.trace())
        here, said = dict(tool.values), {field: ["0"] for field in FIELDS}
        held = dict(here)
        conflicts: set[str] = set()
        for number, (event, field, _) in enumerate(events, 1):
            if event == "there":
                tool.values[field] = str(number)
            elif event == "here":
                here[field] = f"h{number}"
                edit(memory, field, here[field])
                conflicts.discard(field)
            elif event == "export":
                tool.take(memory)
                for name in FIELDS:
                    said[name].append(here[name])
                    held[name] = here[name]
            else:
                say(memory, tool.trace())
                for name in FIELDS:
                    now = tool.values[name]
                    if now == here[name]:
                        said[name].append(now)
                        held[name] = now
                    elif now not in said[name]:
                        if here[name] == held[name] and name not in conflicts:
                            here[name] = now
                        else:
                            conflicts.add(name)
                        said[name].append(now)
                        held[name] = here[name]
            record = memory.get(ID)
            assert {name: value_of(record, name) for name in FIELDS} == here
            names = {{"meta.m": "meta"}.get(found.field, found.field) for found in memory.store.things.select(Conflict)}
            assert names == conflicts


@given(EVENTS, st.lists(st.integers(0, 1), max_size=6))
def test_machines_converge_after_one_of_them_followed_a_tool(events: list[Any], ways: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder, Memory.open(":memory:") as one, Memory.open(":memory:") as two:
        tool, path = Tool(), Path(folder) / "sync.json"
        stores = (one, two)

        def send(number: int) -> None:
            stores[number].sync_export(path, force=True)
            stores[1 - number].sync_import(path)

        say(one, tool.trace())
        send(0)
        turns = iter(ways)
        for number, (event, field, machine) in enumerate(events, 1):
            if event == "there":
                tool.values[field] = str(number)
            elif event == "here":
                edit(stores[machine % 2], field, f"h{number}")
            elif event == "import":
                say(one, tool.trace())
            elif (way := next(turns, None)) is not None:
                send(way)
        for way in (0, 1, 0, 1):
            send(way)
        found = [[msgspec.to_builtins(store.get(ID)), store.conflicts()] for store in stores]
        assert found[0] == found[1]
        # Nothing is left to exchange with the tool's last export either.
        say(one, tool.trace())
        assert say(one, tool.trace()).import_id is None


@pytest.mark.skipif(not (SHARED / "fixtures/clockless").exists(), reason="the shared fixtures are not there")
def test_a_real_brain_before_and_after_work_in_agentos(memory: Memory) -> None:
    folder = SHARED / "fixtures/clockless"
    expected = json.loads((folder / "expect.json").read_text(encoding="utf-8"))
    memory.import_from(folder / "brain-before.sqlite")
    result = memory.import_from(folder / "brain-after.sqlite")
    assert (result.imported, result.failed, result.conflicts) == (len(expected["added"]), 0, 0)
    records = memory.store.records.select(Filter(with_deleted=True))
    found = {place.id: record for record in records for place in record.foreign}
    assert {found[id].status for id in expected["forgotten"]} == {"deleted"}
    assert all(id in found for id in expected["added"])
    assert {id: found[id].content for id in expected["edited"]} == expected["edited"]
    assert memory.import_from(folder / "brain-after.sqlite").import_id is None
    old = memory.import_from(folder / "brain-before.sqlite")
    assert old.conflicts == 0
    assert {id: memory.get(found[id].id).content for id in expected["edited"]} == expected["edited"]
    assert any("went back in time" in note for note in old.notes)
