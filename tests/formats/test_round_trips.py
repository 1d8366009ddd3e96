"""Inputs that were once imported twice, or came back changed from an export: all of them obey the laws now."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from mutations import GOLDENS
from round_trips import NAMES, SHAPES, Shape, check_laws

from conftest import SHARED
from memglot import Memory

DAMAGED = SHARED / "fixtures" / "damaged"


class Case(NamedTuple):
    """An input, and the format that it was exported to."""

    input: str
    text: str
    format: str


CASES = {
    "a time before 1970": Case(
        "in.ndjson",
        '{"id":"0194a000-0001-7000-8000-000000000001","content":"a","meta":{"memglot":{"created_at":-5}}}',
        "csv",
    ),
    "a tag that mcp-memory-service adds": Case(
        "in.json", '{"memories":[{"content":"a","content_hash":"","tags":["untagged"],"metadata":{}}]}', "memories-json"
    ),
    "only deleted memories": Case(
        "in.json", '[{"id":"a","content":"b","type":"semantic","deleted":1,"createdAt":1711234567890}]', "agentos-json"
    ),
    "two memories with the same text": Case("in.json", '[{"content":"a"},{"content":"a"}]', "csv"),
    "two memories with the same text in a vault": Case("in.json", '[{"content":"a"},{"content":"a"}]', "obsidian"),
    "a count that no cell can hold": Case(
        "in.json", '[{"id":"a","content":"b","type":"semantic","retrieval_count":18446744073709551616}]', "csv"
    ),
    "only unknown keys in a carry slot": Case(
        "in.json", '[{"content":"a","meta":{"memglot":{"scope":"user","later":1}}}]', "markdown"
    ),
    "a line that the graph's server ignores": Case(
        "in.jsonl",
        '{"type":"entity","name":"a","entityType":"x","observations":["b"]}\n{"from":"a","to":"c"}',
        "mcp-graph",
    ),
    "an unknown key in a carry slot that a vault uses": Case(
        "in.json", '[{"content":"a","meta":{"memglot":{"scope":"user","text":1}}}]', "obsidian"
    ),
    "another tool's keys": Case("in.json", '[{"content":"b","createdAt":1711234567890}]', "ndjson"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_input_obeys_the_laws(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "input" / case.input
    path.parent.mkdir()
    path.write_text(case.text, encoding="utf-8")
    assert check_laws(path, SHAPES[NAMES.index(case.format)], tmp_path)


def test_a_note_of_agentos_that_was_read_by_itself_comes_back_from_a_folder(tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("---\nid: mt_1\ntype: episodic\nscope: user\nstrength: 1\ntags: []\ncreatedAt: 1711\n---\ntext\n")
    assert check_laws(note, SHAPES[NAMES.index("agentos-markdown")], tmp_path / "there")


def test_damaged_text_around_a_note_costs_no_memory(memory: Memory, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("---\nid: mt_1\ntype: episodic\nscope: user\nstrength: 1\ntags: []\n---\ntext\n")
    memory.import_from(note)
    brain = tmp_path / "brain.sqlite"
    memory.export(brain, format="agentos-sqlite")
    with closing(sqlite3.connect(brain)) as db, db:
        db.execute("UPDATE memory_traces SET metadata = replace(metadata, 'scope: user', 'scope:xuser')")
    with Memory.open(":memory:") as other, Memory.open(":memory:") as last:
        assert other.import_from(brain).imported == 1
        other.export(tmp_path / "notes", format="agentos-markdown")
        result = last.import_from(tmp_path / "notes")
        assert (result.imported, result.failed) == (1, 0)
        assert [(record.content, record.scope) for record in last.list()] == [("text", "user")]


def test_a_damaged_row_of_a_brain_stays_damaged_in_another_brain(memory: Memory, tmp_path: Path) -> None:
    for name in "ab":
        memory.add(f"text {name}", meta={"k": "v"})
    brain = tmp_path / "brain.sqlite"
    memory.export(brain, format="agentos-sqlite")
    with closing(sqlite3.connect(brain)) as db, db:
        db.execute("UPDATE memory_traces SET metadata = CAST(x'7b226b223aff7d' AS TEXT) WHERE content = 'text a'")
    assert check_laws(brain, SHAPES[NAMES.index("agentos-sqlite")], tmp_path / "there")


def test_an_object_in_a_column_of_a_graph_stays_one_in_a_brain(tmp_path: Path) -> None:
    node: dict[str, Any] = {
        "brain_id": "b",
        "id": "n1",
        "type": "city",
        "label": "Paris",
        "confidence": 1,
        "created_at": 1,
    }
    node["embedding"] = {"a": [1]}
    trace = {"brain_id": "b", "id": "mt_1", "content": "a", "type": "semantic"}
    program = tmp_path / "in.json"
    program.write_text(json.dumps({"traces": [trace], "nodes": [node]}))
    assert check_laws(program, SHAPES[NAMES.index("agentos-sqlite")], tmp_path / "there")


def test_a_note_that_is_not_text_comes_back_from_another_folder(tmp_path: Path) -> None:
    (tmp_path / "vault" / ".obsidian").mkdir(parents=True)
    (tmp_path / "vault" / "a.md").write_bytes(b"caf\xe9")
    (tmp_path / "vault" / "b.md").write_bytes(b"text")
    assert check_laws(tmp_path / "vault", SHAPES[NAMES.index("obsidian")], tmp_path)


def test_an_event_log_with_a_broken_line_comes_back_equal(tmp_path: Path) -> None:
    shutil.copytree(GOLDENS / "repo" / "broken-files" / "input", tmp_path / "in")
    log = tmp_path / "in" / ".memory" / "events.jsonl"
    log.write_bytes(b"{broken\n" + log.read_bytes())
    assert check_laws(tmp_path / "in", SHAPES[NAMES.index("repo")], tmp_path)


def test_an_edited_memory_comes_back_with_its_new_values(tmp_path: Path) -> None:
    path = tmp_path / "in.ndjson"
    path.write_text('{"content":"a"}\n{"content":"b"}\n')
    for number, shape in enumerate(SHAPES):
        assert check_laws(path, shape, tmp_path / str(number), Random(number))


@pytest.mark.parametrize("changes", [{"meta": {"a": 1}}, {"title": "New"}, {"tags": ["a"]}], ids=str)
def test_an_edited_note_without_text_keeps_its_content(changes: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "vault" / ".obsidian").mkdir(parents=True)
    (tmp_path / "vault" / "a.md").write_bytes(b" ")
    with Memory.open(":memory:") as memory, Memory.open(":memory:") as other:
        memory.import_from(tmp_path / "vault")
        (record,) = memory.list()
        edited = memory.update(record.id, **changes)
        memory.export(tmp_path / "out", format="obsidian")
        other.import_from(tmp_path / "out")
        (found,) = other.list()
    names = ("content", "title", "meta", "tags", "updated_at")
    assert [getattr(found, name) for name in names] == [getattr(edited, name) for name in names]


def test_a_last_access_at_the_start_of_1970_survives_a_merge(memory: Memory) -> None:
    row = '{"id":"a","content":"b","type":"semantic","lastAccessed":0,"strength":%s}'
    for strength in (0.5, 0.25):
        memory.import_from((row % strength).encode(), format="agentos-json")
    (record,) = memory.list()
    assert (record.strength, record.last_accessed) == (0.25, 0)


@pytest.mark.skipif(not DAMAGED.exists(), reason="the shared fixtures are not there")
@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_shared_inputs_obey_the_laws(shape: Shape, tmp_path: Path) -> None:
    inputs = sorted(DAMAGED.glob("*/in.*"))
    assert inputs
    for path in inputs:
        is_damaged = path.parent.name.startswith("traceback")
        check_laws(path, shape, tmp_path / path.parent.name, layout=not is_damaged)
