"""Hostile files: what is too large, too deep or ambiguous is refused alone, and the memories next to it are read."""

from __future__ import annotations

import sqlite3
import tracemalloc
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hostile import make_brain, make_service_database, make_store

from memglot import Memory, convert
from memglot.arguments import parse_size
from memglot.errors import UsageError
from memglot.exporting.diff import diff
from memglot.exporting.verify import verify
from memglot.formats import registry
from memglot.formats.base import ReadOptions
from memglot.formats.core import zip as zips
from memglot.formats.core.read import read_items
from memglot.report import Report

BIG = "x" * 4_000
LIMIT = 1_000


def read(path: Path, **options: Any) -> tuple[list[str], list[str]]:
    """Return the contents that an import finds, and its errors."""
    with Memory.open(":memory:") as memory:
        result = memory.import_from(path, **{"max_record": LIMIT, **options})
        errors = [str(error).replace(str(path), "") for error in result.errors]
        return sorted(record.content for record in memory.list()), errors


def conversation(text: str) -> dict[str, Any]:
    message = {"id": "m", "author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}
    answer = {"id": "n", "author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["answer"]}}
    nodes = {
        "m": {"id": "m", "parent": None, "children": ["n"], "message": message},
        "n": {"id": "n", "parent": "m", "children": [], "message": answer},
    }
    return {"title": "t", "id": text[:2], "current_node": "n", "mapping": nodes}


def trace(content: str) -> dict[str, Any]:
    return {"id": f"mt_{content[:3]}", "type": "semantic", "content": content, "strength": 0.5}


def row(id: int, content: str) -> dict[str, Any]:
    return {"id": f"0194a000-000{id}-7000-8000-000000000000", "content": content, "scope": "user"}


def encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()


THREE = [{"content": "a"}, {"content": BIG}, {"content": "b"}]
FILES = {
    "a.json": encoded(THREE),
    "indented.json": msgspec.json.format(encoded(THREE), indent=2),
    "nested.json": encoded([THREE[0], {"content": "x", "meta": {"a": [{"b": "}, {"}] * 400}}, THREE[2]]),
    "surrogates.json": f'[{{"content":"a"}},{{"content":"\\ud800{BIG}"}},{{"content":"b"}}]',
    "text.json": f'[{{"content":"a"}},"{BIG}",{{"content":"b"}}]',
    "number.json": f'[{{"content":"a"}},{"1" * 4_000},{{"content":"b"}}]',
    "a.ndjson": "\n".join(map(encoded, THREE)),
    "objects.json": "\n".join(msgspec.json.format(encoded(value), indent=2) for value in THREE),
    "a.csv": f"content\na\n{BIG}\nb\n",
    "quoted.csv": f'content\na\n"{BIG}"\nb\n',
    "lines.csv": 'content,title\na,\n"' + "x\n" * 2_000 + '""","' + 'y"",\n' * 20 + '"\nb,\n',
    "a.yaml": f"- content: a\n- content: {BIG}\n- content: b\n",
    "block.yaml": "- content: a\n- content: |\n" + "    x\n" * 2_000 + "- content: b\n",
    "conversations.json": encoded([conversation("a"), conversation(BIG), conversation("b")]),
    "agentos.json": encoded({"traces": [trace("a"), trace(BIG), trace("b")]}),
    "agentos.ndjson": "\n".join(encoded(trace(text)) for text in ("a", BIG, "b")),
    "memories.json": encoded(
        {"export_metadata": {}, "memories": [row(1, "a"), row(2, BIG), row(3, "b")]},
    ),
    "graph.jsonl": "\n".join(
        encoded({"type": "entity", "name": text[:3], "entityType": "x", "observations": [text]})
        for text in ("a", BIG, "b")
    ),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("zipped", [False, True])
def test_a_memory_that_is_too_large_is_refused_alone(tmp_path: Path, name: str, zipped: bool) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    if zipped:
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
            out.writestr(name, FILES[name])
    found, errors = read(path)
    assert len(errors) == 1 and "the memory is larger than 1,000 bytes" in errors[0]
    assert errors[0].startswith((":", f"/{name}:", " item", f"/{name} item"))
    assert len(found) == 2 and not any("xxx" in text for text in found)


def test_a_note_that_is_too_large_is_refused_alone(tmp_path: Path) -> None:
    for kind, folder in (("markdown", "notes"), ("obsidian", "vault")):
        place = tmp_path / folder
        place.mkdir()
        if kind == "obsidian":
            (place / ".obsidian").mkdir()
        for name, text in (("a", "a"), ("big", BIG), ("c", "c")):
            (place / f"{name}.md").write_text(text)
        found, errors = read(place)
        assert (found, len(errors)) == (["a", "c"], 1)
        assert "big.md" in errors[0] and "larger than 1,000 bytes" in errors[0]


@pytest.mark.parametrize("name", ["store", "brain", "service"])
@pytest.mark.parametrize("zipped", [False, True])
def test_a_row_that_is_too_large_is_refused_alone_and_not_read(tmp_path: Path, name: str, zipped: bool) -> None:
    path = make_store(tmp_path / "store.db")
    if name == "brain":
        path = make_brain(tmp_path / "brain.db", path)
    elif name == "service":
        path = make_service_database(tmp_path / "service.db")
    table = {"store": "records", "brain": "memory_traces", "service": "memories"}[name]
    with closing(sqlite3.connect(path)) as db:
        (count,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
        where = f"WHERE rowid = (SELECT min(rowid) FROM {table})"
        db.execute(f"UPDATE {table} SET content = replace(hex(zeroblob(30000000)), '0', 'x') {where}")
        if name == "store":
            db.execute("UPDATE blobs SET doc = hex(zeroblob(30000000))")
        db.commit()
        db.execute("PRAGMA journal_mode = DELETE")
    if zipped:
        with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as out:
            out.write(path, path.name)
        path = tmp_path / "a.zip"
    with Memory.open(":memory:") as memory:
        tracemalloc.start()
        result = memory.import_from(path, max_record="20MB")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (result.imported, result.failed) == (count - 1, 1)
        assert "larger than 20,000,000 bytes" in str(next(result.errors))
        assert peak < 20_000_000
    with Memory.open(":memory:") as memory:
        result = memory.import_from(path, max_record="200MB")
        assert not any("larger than" in str(error) for error in result.errors)


def test_the_limit_is_for_a_memory_and_not_for_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(encoded([{"content": f"{number}"} for number in range(2_000)]))
    found, errors = read(tmp_path / "a.json")
    assert (len(found), errors) == (2_000, [])


def test_a_field_that_never_closes_does_not_hide_the_rows_below(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,content\n1,a\n2,"open\n' + "".join(f"{n},row {n}\n" for n in range(3, 500)))
    found, errors = read(tmp_path / "a.csv")
    assert len(found) == 498 and len(errors) == 1


def test_every_command_that_reads_has_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(FILES["a.json"])
    with Memory.open(":memory:") as memory:
        assert memory.import_from(path, max_record="5kB").imported == 3
        memory.export(tmp_path / "notes.md.d", format="markdown")
        memory.sync_export(tmp_path / "memories.json")
        assert verify(tmp_path / "memories.json").ok
        assert not verify(tmp_path / "memories.json", max_record=LIMIT).ok
        assert not verify(tmp_path / "notes.md.d", max_record=LIMIT).ok
        assert len(memory.diff_with_remote(tmp_path / "memories.json", max_record="1k").unchanged) == 2
        assert memory.sync_import(tmp_path / "memories.json", max_record=LIMIT).failed == 1
    assert convert(path, tmp_path / "b.json", max_record=LIMIT).count == 2
    assert len(list(diff(path, tmp_path / "b.json"))) == 1
    assert list(diff(path, tmp_path / "b.json", max_record=LIMIT)) == []


@pytest.mark.parametrize(
    ("text", "size"),
    [("64MiB", 64 << 20), ("100MB", 100_000_000), ("1G", 1 << 30), ("1.5k", 1536), ("7", 7), ("9 B", 9), (12, 12)],
)
def test_sizes(text: str | int, size: int) -> None:
    assert parse_size(text, 1) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "1X", "many", "1e9", "5000G", "1 MiBB", True])
def test_bad_sizes(text: str | bool) -> None:
    with pytest.raises(UsageError, match="is not a valid size"):
        parse_size(text, 1)


@pytest.mark.parametrize("depth", [101, 301, 5_000])
@pytest.mark.parametrize("kind", ["json", "ndjson", "yaml", "csv", "md"])
def test_deep_nesting_is_refused_alone(tmp_path: Path, kind: str, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    place = tmp_path / "in"
    place.mkdir()
    (place / f"a.{kind}").write_text(
        {
            "json": f'[{{"content":"a"}},{{"content":"x","meta":{{"k":{nested}}}}},{{"content":"b"}}]',
            "ndjson": f'{{"content":"a"}}\n{{"content":"x","meta":{{"k":{nested}}}}}\n{{"content":"b"}}\n',
            "yaml": f"- content: a\n- content: x\n  meta: {{k: {nested}}}\n- content: b\n",
            "csv": f'content,metadata\na,\nx,"{nested}"\nb,\n',
            "md": f"---\nk: {nested}\n---\nx\n",
        }[kind]
    )
    if kind == "md":
        (place / "b.md").write_text("a\n")
        (place / "c.md").write_text("b\n")
    found, errors = read(place, max_record=None)
    assert found == ["a", "b"]
    assert len(errors) == 1 and "nested deeper than 100 levels" in errors[0]


def test_yaml_aliases_that_grow_are_refused(tmp_path: Path) -> None:
    lines = ["- content: a", "  meta:", "    a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"    a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (tmp_path / "a.yaml").write_text("\n".join([*lines, "- content: b", ""]))
    found, errors = read(tmp_path / "a.yaml", max_record=None)
    assert found == ["b"] and "YAML aliases expand this document" in errors[0]


def test_yaml_tags_make_no_objects(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        '- content: !!python/object/apply:os.system ["touch pwned"]\n- content: !!binary aGk=\n- content: !x b\n'
    )
    found, errors = read(tmp_path / "a.yaml")
    assert "b" in found and len(found) + len(errors) == 3
    assert not Path("pwned").exists()


def test_json_numbers_of_any_size(tmp_path: Path) -> None:
    huge = "9" * 5_000
    values = [huge, f"1e{huge}", f"0.{huge}", f"-{huge}", "1" * 19, "NaN", "1e999"]
    lines = [f'{{"content":"{number}","meta":{{"n":{value}}}}}' for number, value in enumerate(values)]
    (tmp_path / "a.ndjson").write_text("\n".join([*lines, '{"content":"last"}']))
    found, errors = read(tmp_path / "a.ndjson", max_record=None)
    assert "last" in found and len(found) + len(errors) == len(values) + 1


def test_lone_surrogates_in_json_are_kept_in_content_and_refused_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text(
        '{"content":"\\ud800"}\n{"content":"x","meta":{"k":"\\udfff"}}\n{"content":"\\ud83d\\ude00"}\n'
    )
    found, errors = read(tmp_path / "a.ndjson")
    assert found == ["😀", "\ufffd"] or sorted(found) == sorted(["\ufffd", "😀"])
    assert len(errors) == 1 and "a lone surrogate at byte" in errors[0]


def test_a_text_of_nothing_but_nul_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text('{"content":"' + "\\u0000" * 100_001 + '"}\n{"content":"b"}\n')
    found, errors = read(tmp_path / "a.ndjson", max_record=None)
    assert found == ["b"] and "contains 100,001 NUL characters" in errors[0]


# Zip archives


def test_a_zip_with_too_many_files_is_refused_before_its_directory_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zips, "MAX_ZIP_FILES", 20)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as out:
        for number in range(21):
            out.writestr(f"{number}.md", "x")

    def refuse(*_: object) -> None:
        raise AssertionError("the directory was read")

    found = path.read_bytes()
    at = found.rindex(b"PK\x05\x06")
    lying = found[: at + 8] + b"\1\0\1\0" + found[at + 12 :]
    monkeypatch.setattr(zipfile, "ZipFile", refuse)
    for data in (found, lying, found + b"comment"):
        path.write_bytes(data)
        _, errors = read(path)
        assert len(errors) == 1 and "holds more than 20 files" in errors[0]


def test_a_large_zip64_directory_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as out:
        for number in range(66_000):
            out.writestr(zipfile.ZipInfo(f"{number}.x"), "")
    with open(path, "rb") as file:
        assert zips._entries(file) == 66_000
    monkeypatch.setattr(zips, "MAX_ZIP_FILES", 65_999)
    assert "holds more than 65,999 files" in read(path)[1][0]


def test_files_of_a_zip_that_overlap_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("a.md", "x" * 100)
        out.writestr("b.md", "y" * 100)
        out.filelist[1].header_offset = 0
    found, errors = read(path)
    assert found == [] and "its files overlap" in errors[0]


def test_encrypted_and_nested_files_of_a_zip_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("inner.zip", b"PK\x05\x06" + b"\0" * 18)
        out.writestr("locked.md", "x")
        out.writestr("open.md", "fine")
    found = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := found.find(signature, at + 1)) >= 0:
            if b"locked.md" in found[at : at + 60]:
                found[at + flags] |= 1
    path.write_bytes(found)
    contents, errors = read(path)
    assert contents == ["fine"]
    assert len(errors) == 1 and "locked.md" in errors[0] and "encrypted" in errors[0]


def test_two_files_of_a_zip_with_one_path_are_not_mixed_up(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as out, pytest.warns(UserWarning, match="Duplicate name"):
        out.writestr("a.md", "one")
        out.writestr("a.md", "two")
    assert read(path) == (["one", "two"], [])


@pytest.mark.parametrize(
    ("format", "piece", "message"),
    [
        ("csv", b"1,a\n", "fewer than 16 bytes each"),
        (
            "mcp-graph",
            b'{"type":"entity","name":"a","entityType":"a","observations":[' + b'"a",' * 1_000 + b'"a"]}\n',
            "16",
        ),
        ("yaml", b"- content: a\n  meta: {a: " + b"[" * 90 + b"]" * 90 + b"}\n", "fewer than 8 characters each"),
    ],
)
def test_a_file_of_tiny_values_is_not_read_to_its_end(format: str, piece: bytes, message: str) -> None:
    start = b"id,content\n" if format == "csv" else b""
    report = Report()
    content = start + piece * (6_000_000 // len(piece))
    count = sum(1 for _ in read_items([content], registry.get(format), report, ReadOptions()))
    (fault,) = report.faults()
    assert message in str(fault)
    assert "the rest was not read" in str(fault)
    assert count > 1_000


def test_a_very_large_note_is_kept_with_its_first_links(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("[[b]] #first\n" + "[[b]]\n" * 100_000 + "x" * (4 << 20) + " #last\n")
    (tmp_path / "b.md").write_text("b")
    with Memory.open(":memory:") as memory:
        result = memory.import_from(tmp_path, format="obsidian")
        assert [note for note in result.notes if "a.md is very large" in note]
        (large,) = (record for record in memory.list() if len(record.content) > 1)
        assert large.tags == ["first"]
        assert large.content.endswith(" #last")
        memory.export(tmp_path / "out", format="obsidian")
    assert (tmp_path / "out" / "a.md").read_bytes() == (tmp_path / "a.md").read_bytes()
