"""Inputs that were once imported twice, or came back changed from an export: all of them obey the laws now."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from round_trips import NAMES, SHAPES, Shape, check_laws

from conftest import SHARED

SLOT = "sha256:" + "0" * 64


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


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_shared_inputs_obey_the_laws(shape: Shape, tmp_path: Path) -> None:
    for path in sorted((SHARED / "fixtures" / "damaged").glob("[itv]*-*/in.*")):
        if path.parent.name.startswith(("idem", "trip", "verify")):
            check_laws(path, shape, tmp_path / path.parent.name)
