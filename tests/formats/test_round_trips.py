"""Inputs that were once imported twice, or came back changed from an export: all of them obey the laws now."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from mutations import GOLDENS
from round_trips import NAMES, SHAPES, Shape, check_laws

from conftest import SHARED
from memglot import Memory


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


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_shared_inputs_obey_the_laws(shape: Shape, tmp_path: Path) -> None:
    for path in sorted((SHARED / "fixtures" / "damaged").glob("[itv]*-*/in.*")):
        if path.parent.name.startswith(("idem", "trip", "verify")):
            check_laws(path, shape, tmp_path / path.parent.name)
