"""NUL and lone surrogates: content gets U+FFFD, the tool gets its original back, other fields are reported."""

from __future__ import annotations

import io
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot import Memory, verify
from memglot.formats.core.original_text import original_content, repair_content, without_original
from memglot.formats.syntax.json_surrogates import encode, replace_lone_surrogates
from memglot.formats.syntax.yaml_reader import YamlReader
from memglot.model import Record, check_content

ID = "0194a000-0001-7000-8000-000000000001"
BOTH = "nul \0 half \ud83d pair \U0001f600 kept \ufffd end \udc00"
NUL = "nul \0 pair \U0001f600 kept \ufffd end \0"
STORED = {BOTH: "nul \ufffd half \ufffd pair \U0001f600 kept \ufffd end \ufffd", NUL: NUL.replace("\0", "\ufffd")}


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


INPUTS: dict[str, tuple[str, str, bytes]] = {
    "json": ("a.json", BOTH, dumped([{"id": ID, "content": BOTH}, {"content": "next"}])),
    "ndjson": ("a.ndjson", BOTH, dumped({"id": ID, "content": BOTH}) + b"\n" + dumped({"content": "next"})),
    "yaml": ("a.yaml", BOTH, b"- content: " + dumped(BOTH) + b"\n- content: next\n"),
    "agentos-json": ("a.ndjson", BOTH, dumped({"id": "mt_1", "content": BOTH, "strength": 1}) + b"\n"),
    "agentos-program": ("a.json", BOTH, dumped({"traces": [{"id": "mt_1", "content": BOTH}], "nodes": []})),
    "mcp-graph": (
        "a.jsonl",
        BOTH,
        dumped({"type": "entity", "name": "x", "entityType": "t", "observations": ["first", BOTH, BOTH]}),
    ),
    "mcp-memory-v5": ("a.json", BOTH, dumped({"export_metadata": {}, "memories": [{"content": BOTH, "metadata": {}}]})),
    "memories-json": ("a.json", BOTH, dumped({"export_metadata": {}, "memories": [{"id": "x", "content": BOTH}]})),
    "markdown": ("a.md", NUL, f"---\nid: {ID}\n---\n\n{NUL}\n".encode()),
    "csv": ("a.csv", NUL, f'content,tags\n"{NUL}",t\nnext,u\n'.encode()),
}
OPTIONS: dict[str, dict[str, Any]] = {"agentos-program": {"format": "agentos-json", "dialect": "program"}}


def texts(name: str, data: bytes) -> list[str]:
    """Return the texts of a file as another program reads them."""
    if name == "yaml":
        return [value["content"] for value in YamlReader(io.BytesIO(data), unchecked="content").values()]
    if name in ("markdown", "csv"):
        return [data.decode()]
    lines = (
        [json.loads(line) for line in data.splitlines()] if name.endswith(("ndjson", "graph", "agentos-json")) else []
    )
    found = lines or json.loads(data)
    rows = found if isinstance(found, list) else found.get("traces") or found["memories"]
    return [text for row in rows for text in ([row["content"]] if "content" in row else row.get("observations", []))]


@pytest.mark.parametrize("name", INPUTS)
def test_content_is_repaired_and_its_tool_gets_the_original(memory: Memory, tmp_path: Path, name: str) -> None:
    file, original, data = INPUTS[name]
    options = OPTIONS.get(name, {"format": name})
    (tmp_path / file).write_bytes(data)
    result = memory.import_from(tmp_path / file)
    assert [str(fault) for fault in result.errors] == []
    record = next(record for record in memory.list() if record.content == STORED[original])
    memory.export(tmp_path / "out" / file, **options)
    written = (tmp_path / "out" / file).read_bytes()
    assert any(original in text for text in texts(name, written))
    assert verify(tmp_path / "out" / file).ok
    with Memory.open(":memory:") as other:
        # The original survives another format, and reaches its tool from there.
        other.import_from(tmp_path / "out" / file)
        assert other.get(record.id) == record
        other.export(tmp_path / "store.json", format="json")
        with Memory.open(":memory:") as third:
            third.import_from(tmp_path / "store.json", format="json")
            assert third.get(record.id) == record
            third.export(tmp_path / "again" / file, **options)
            assert any(original in text for text in texts(name, (tmp_path / "again" / file).read_bytes()))


@pytest.mark.parametrize("name", INPUTS)
def test_an_edited_content_is_written_as_it_is(memory: Memory, tmp_path: Path, name: str) -> None:
    file, original, data = INPUTS[name]
    (tmp_path / file).write_bytes(data)
    memory.import_from(tmp_path / file)
    for record in memory.list():
        memory.update(record.id, content=f"{record.id} edited \ufffd")
    memory.export(tmp_path / "out" / file, **OPTIONS.get(name, {"format": name}))
    found = "".join(texts(name, (tmp_path / "out" / file).read_bytes()))
    assert "edited \ufffd" in found and "\0" not in found and "\ud83d" not in found


def test_a_brain_returns_texts_with_surrogates_as_text(memory: Memory, tmp_path: Path) -> None:
    memory.add("one")
    brain = tmp_path / "brain.sqlite"
    memory.export(brain, format="agentos-sqlite", plain=True)
    with sqlite3.connect(brain) as db:
        raw = BOTH.encode("utf-8", "surrogatepass")
        for id, scope, content in (
            ("mt_1", b"user", raw),
            ("mt_2", b"user", NUL.encode()),
            ("mt_3", b"us\xffer", b"x"),
        ):
            values = "('brain', ?, 'semantic', CAST(? AS TEXT), CAST(? AS TEXT), 1)"
            names = "(brain_id, id, type, scope, content, created_at)"
            db.execute(f"INSERT INTO memory_traces {names} VALUES {values}", (id, scope, content))
    with Memory.open(":memory:") as other:
        result = other.import_from(brain)
        assert [(fault.item, fault.error) for fault in result.errors] == [(4, "`scope`: invalid UTF-8 at byte 2")]
        assert {record.content for record in other.list()} == {"one", *STORED.values()}
        other.export(tmp_path / "out.sqlite", format="agentos-sqlite")
    with sqlite3.connect(tmp_path / "out.sqlite") as db:
        db.text_factory = bytes
        found = list(db.execute("SELECT id, typeof(content), content FROM memory_traces ORDER BY id"))
    assert [row for row in found if row[0] in (b"mt_1", b"mt_2")] == [
        (b"mt_1", b"text", raw),
        (b"mt_2", b"text", NUL.encode()),
    ]
    assert verify(tmp_path / "out.sqlite").ok


@pytest.mark.parametrize(
    ("format", "text", "error"),
    [
        (
            "ndjson",
            rb'{"content":"a"}' + b"\n" + rb'{"content":"\ud800","meta":{"k":"x\ud800"}}',
            "a lone surrogate at byte 50",
        ),
        ("json", rb'[{"content":"a"}, {"content":"b","\udc00":1}]', "a lone surrogate at byte 34"),
        ("yaml", b'- content: a\n- content: "\\ud800"\n  tree: "\\ud800"\n', "a lone surrogate at byte 42"),
        ("csv", b"content,tags\na,t\nb,x\0\n", "`tags` contains NUL at character 1"),
        (
            "agentos-json",
            rb'{"content":"a"}' + b"\n" + rb'{"content":"b","type":"\u0000"}',
            "`type` contains NUL at character 0",
        ),
    ],
)
def test_other_fields_are_reported_with_their_place(memory: Memory, format: str, text: bytes, error: str) -> None:
    result = memory.import_from(text, format=format)
    assert (result.imported, result.failed) == (1, 1)
    assert [fault.error for fault in result.errors] == [error]


@given(st.text(st.characters(categories=["Cs", "Ll"]) | st.sampled_from('\0\ufffd\\"'), min_size=1))
def test_any_content_is_restored(text: str) -> None:
    record = Record(content=text, extra={"x": 1})
    repair_content(record, "tool")
    check_content(record.content)
    assert original_content(record, "tool") == text
    assert without_original(record.extra, "tool") == {"x": 1}
    raw = encode({"k": text})
    assert json.loads(raw) == json.loads(json.dumps({"k": text}))
    assert len(replace_lone_surrogates(raw)) == len(raw)
    without = re.sub("[\ud800-\udfff]", "\ufffd", json.loads(raw)["k"])
    assert json.loads(replace_lone_surrogates(raw)) == {"k": without}


@pytest.mark.parametrize(
    "kept", [1, {}, {"replaced": 1}, {"replaced": [[0, 65]]}, {"replaced": [[9, 0]]}, {"replaced": [1]}]
)
def test_a_foreign_value_restores_nothing(kept: Any) -> None:
    record = Record(content="\0b")
    repair_content(record, "tool")
    known = record.extra["tool.text"]
    record.extra["tool.text"] = {**known, **kept} if isinstance(kept, dict) else kept
    expected = "\0b" if kept == {} else "\ufffdb"
    assert original_content(record, "tool") == expected


def test_objects_with_surrogates_are_split_like_any_other(memory: Memory) -> None:
    rows = [
        {"content": f"{number} \ud800 }},{{ " + "x" * 30_000, "meta": {"a": [1, {"b": "c"}]}} for number in range(20)
    ]
    for data in (json.dumps(rows), json.dumps(rows, indent=2), "\n".join(map(json.dumps, rows))):
        with Memory.open(":memory:") as fresh:
            result = fresh.import_from(data.encode(), format="json")
            assert (result.imported, [str(fault) for fault in result.errors]) == (20, [])


def test_a_lone_surrogate_at_the_end_of_a_file_is_read(tmp_path: Path) -> None:
    for text in ('{"a":1,\n"content":"\\ud800"}', '[\n{"content":\n"\\udc00"}]', '[{"content":"\\ud800"}]'):
        (tmp_path / "a.json").write_text(text)
        with Memory.open(":memory:") as memory:
            result = memory.import_from(tmp_path / "a.json")
            assert (result.imported, list(result.errors)) == (1, []), text


def test_a_lone_surrogate_next_to_a_long_number_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"content":"\\ud800","meta":{"n":1%s}}]' % ("0" * 5_000))
    with Memory.open(":memory:") as memory:
        result = memory.import_from(tmp_path / "a.json")
        assert result.failed == 1


def test_the_place_of_a_lone_surrogate_outside_content_is_named(tmp_path: Path) -> None:
    text = '{"content":"\\ud800","meta":{"a":"\\ud800","b":"x\\udfff"}}'
    (tmp_path / "a.ndjson").write_text(text)
    with Memory.open(":memory:") as memory:
        (error,) = memory.import_from(tmp_path / "a.ndjson").errors
        assert f"lone surrogate at byte {text.index('x') + 1}" in str(error)
