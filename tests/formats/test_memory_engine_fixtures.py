"""The 90 inputs of Memory Engine's rules have the expected results, or the better ones listed here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memglot import Memory, Record, Temporal
from memglot.exporting.verify import verify_path
from memglot.model import parse_time
from memglot.report import Report

FOLDER = Path(__file__).parents[3] / "shared" / "fixtures" / "memory-engine"
CASES: list[dict[str, Any]] = (
    msgspec.json.decode((FOLDER / "expectations.json").read_bytes())["cases"] if FOLDER.is_dir() else []
)

# Where we do better than the tool, whose behaviour is not documented.
BETTER: dict[str, dict[str, Any]] = {
    "json-uppercase-id": {"imported": 1, "ids": ["0197c3d0-0001-7abc-8def-0000000000ff"]},
    "json-one-bad-item-fails-file": {"imported": 2},
    "json-empty-array": {"imported": 0, "outcome": "import"},
    "tree-bad-tilde": {"imported": 1, "records": [{"tree": "home.notes"}]},
    "temporal-yaml-object": {"imported": 1},
    "md-frontmatter-content-key": {"imported": 1, "records": [{"content": "from body"}]},
    "md-leading-blank-line": {"imported": 1, "records": [{"content": "\n---\ntree: a.b\n---\nbody"}]},
    "json-nul-char": {"imported": 1},
    "md-invalid-utf8": {"imported": 0, "outcome": "error", "records": []},
}


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_case(case: dict[str, Any], memory: Memory) -> None:
    expected = {**case["expect"], **BETTER.get(case["case"], {})}
    if case["case"] in BETTER and "outcome" not in BETTER[case["case"]]:
        expected["outcome"] = "import"
    path = FOLDER / case["input"]
    given: Any = path.read_bytes() if case["via"] == "content" else str(path)
    result = memory.import_from(given, format=case["format"], lenient=case["via"] == "pack")
    assert result.imported == expected["imported"]
    if expected["outcome"] == "error":
        assert result.exit_code == 2
        assert [str(fault) for fault in result.errors]
    for id in expected.get("ids", []):
        assert memory.get(id)
    if "records" in expected:
        stored = [memory.get(id) for id in result.ids]
        assert [
            _compared_fields(record, wanted) for record, wanted in zip(stored, expected["records"], strict=True)
        ] == [_wanted(wanted) for wanted in expected["records"]]


def _compared_fields(record: Record, wanted: dict[str, Any]) -> dict[str, Any]:
    return {key: getattr(record, key) for key in wanted}


def _wanted(value: dict[str, Any]) -> dict[str, Any]:
    if "temporal" not in value:
        return value
    start, end = parse_time(value["temporal"]["start"]), value["temporal"].get("end")
    end = parse_time(end) if end else None
    return {**value, "temporal": Temporal(start, end if end != start else None)}


@pytest.mark.parametrize("format", ["json", "ndjson", "yaml"])
@pytest.mark.parametrize("key", ["createdAt", "retrievalCount", "emotions", "mapping"])
def test_a_key_of_another_tool_does_not_change_the_format_of_an_export(format: str, key: str, tmp_path: Path) -> None:
    source = [{"content": "gone"}, {"content": "a", key: {}}, {"content": "b", key: {}}]
    with Memory.open(":memory:") as memory:
        memory.import_from(json.dumps(source).encode(), format="json")
        memory.delete(next(record.id for record in memory.list() if record.content == "gone"))
        memory.export(tmp_path / f"out.{format}")
        assert verify_path(tmp_path / f"out.{format}", Report()).state == "whole"
        result = memory.import_from(tmp_path / f"out.{format}")
        assert (result.format, result.imported, result.skipped) == (format, 0, 2)
