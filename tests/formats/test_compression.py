"""Compressed files are read and written in every format that is a single file, within limits."""

from __future__ import annotations

import gzip
import io
import os
import random
import sys
import tarfile
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings

from memglot import Memory
from memglot.errors import Unreadable, UsageError
from memglot.exporting.convert import convert
from memglot.exporting.diff import diff
from memglot.exporting.verify import verify, verify_path
from memglot.formats import registry
from memglot.formats.base import Format, ReadOptions, WriteOptions
from memglot.formats.core import compression
from memglot.formats.core.read import read_items
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.model import Item, to_builtins
from memglot.report import Report
from strategies import stores

SINGLE = [format for format in registry.formats() if format.write is not None and not format.writing.makes_folder]
FOLDERS = [format for format in registry.formats() if format.writing.makes_folder]
HAS_ZSTD = find_spec("compression") is not None and find_spec("compression.zstd") is not None
ENDINGS = [".gz", *([".zst"] if HAS_ZSTD else [])]
LINES = "".join(f'{{"id":"0194a000-{n:04d}-7000-8000-{n:012d}","content":"Note {n}"}}\n' for n in range(400))


def write(items: list[Item], format: Format, path: Path) -> None:
    assert format.write is not None
    format.write(iter(items), Target(path), Report(), WriteOptions())


def read(path: Path | bytes, format: Format | None = None) -> tuple[list[object], list[str]]:
    report = Report()
    found = [(type(item).__name__, to_builtins(item)) for item in read_items([path], format, report, ReadOptions())]
    return sorted(found, key=repr), [str(fault) for fault in report.faults()]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("format", SINGLE, ids=lambda format: format.name)
@settings(max_examples=15)
@given(items=stores())
def test_a_compressed_file_is_the_same_file(format: Format, ending: str, items: list[Item]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        name = "out" + format.extensions[0]
        plain, first, second = Path(folder, name), Path(folder, name + ending), Path(folder, "2", name + ending)
        for path in (plain, first, second):
            write(items, format, path)
        if format.family != "sqlite":
            assert Source.file(first).whole() == plain.read_bytes()
            assert first.read_bytes() == second.read_bytes()
        assert read(first, format) == read(plain, format) and read(first) == read(plain)
        verdict = verify_path(first, Report())
        assert (verdict.state, verdict.problems) == ("whole", []) or not items
        sidecars = {path.name.removesuffix(".memglot") for path in Path(folder).glob("*.memglot")}
        assert sidecars in (set(), {plain.name, first.name})


@pytest.mark.parametrize("format", FOLDERS, ids=lambda format: format.name)
def test_a_folder_is_not_written_to_a_compressed_file(memory: Memory, tmp_path: Path, format: Format) -> None:
    memory.add("x")
    with pytest.raises(UsageError, match=f"`{format.name}` is a folder of files, so it cannot be the gzip file"):
        memory.export(tmp_path / "notes.gz", format=format.name)
    assert list(tmp_path.iterdir()) == []


def test_a_compressed_archive_of_a_folder_is_refused(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one")
    with tarfile.open(tmp_path / "notes.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a.md", "a.md")
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as zipped:
        zipped.writestr("a.md", "one")
    (tmp_path / "notes.zip.gz").write_bytes(gzip.compress((tmp_path / "notes.zip").read_bytes()))
    (tmp_path / "twice.json.gz").write_bytes(gzip.compress(gzip.compress(b'[{"content":"x"}]')))
    for name, reason in {
        "notes.tar.gz": "is an archive of a folder, but not memoryd's bundle",
        "notes.zip.gz": "holds an archive",
        "twice.json.gz": "is compressed twice",
    }.items():
        result = memory.import_from(tmp_path / name)
        (error,) = result.errors
        assert (result.exit_code, reason in error.error, "unpack it" in (error.hint or "")) == (2, True, True), error


def test_every_command_reads_and_writes_compressed_files(tmp_path: Path) -> None:
    exported, store = tmp_path / "all.ndjson.gz", tmp_path / "copy.db.gz"
    with Memory.open(tmp_path / "one.db") as one, Memory.open(tmp_path / "two.db") as two:
        id = one.add("A note", tags=["x"]).id
        assert one.export(exported).count == 1 and one.export(store).format == "sqlite"
        assert two.import_from(exported).imported == 1 and two.import_from(store).imported == 0
        assert two.import_from(exported.read_bytes()).imported == 0
        one.update(id, content="An edited note")
        one.sync_export(tmp_path / "memories.json.gz")
        assert two.diff_with_remote(tmp_path / "memories.json.gz").value()["remote_total"] == 1
        assert two.sync_import(tmp_path / "memories.json.gz").merged == 1
        assert two.get(id).content == "An edited note"
    assert verify(exported).ok and verify(store).ok and verify(tmp_path / "memories.json.gz").ok
    assert convert(exported, tmp_path / "notes.tsv.gz").count == 1
    assert list(diff(exported, tmp_path / "notes.tsv.gz")) == []
    assert gzip.decompress((tmp_path / "notes.tsv.gz").read_bytes()).startswith(b"id\tcontent\ttitle")


def test_machines_sync_with_a_compressed_file(tmp_path: Path) -> None:
    path = tmp_path / "memories.json.gz"
    with Memory.open(tmp_path / "one.db") as one, Memory.open(tmp_path / "two.db") as two:
        one.add("From one")
        assert one.sync(path).is_written
        written = path.read_bytes()
        assert compression.compression_of(written) == "gzip"
        assert not one.sync(path).is_written and path.read_bytes() == written
        two.add("From two")
        two.sync(path)
        one.sync(path)
        assert sorted(record.content for record in one.list()) == ["From one", "From two"]
    assert verify(path).ok


def test_a_file_and_its_compressed_copy_have_the_same_memories(memory: Memory, tmp_path: Path) -> None:
    rows = b"id,content\n1,one\n2,two\n"
    (tmp_path / "rows.csv").write_bytes(rows)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(rows))
    assert memory.import_from(tmp_path / "rows.csv").imported == 2
    assert memory.import_from(tmp_path / "rows.csv.gz").imported == 0


def test_folders_and_zips_may_contain_compressed_files(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.ndjson.gz").write_bytes(gzip.compress(b'{"content":"one"}\n'))
    (folder / "b.txt.gz").write_bytes(gzip.compress(b"unknown"))
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as zipped:
        zipped.writestr("c.json.gz", gzip.compress(b'[{"content":"two"}]'))
        zipped.writestr("d.json.gz", gzip.compress(gzip.compress(b"[]")))
    result = memory.import_from(folder, tmp_path / "c.zip")
    assert sorted(record.content for record in memory.list()) == ["one", "two"]
    assert [fault.error for fault in result.errors] == ["it is compressed twice, or holds an archive"]
    assert any("b.txt.gz" in note for note in result.notes)


def test_the_content_decides_and_not_the_name(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "plain.json.gz").write_text('[{"content":"plain"}]')
    (tmp_path / "packed.json").write_bytes(gzip.compress(b'[{"content":"packed"}]'))
    (tmp_path / "packed").write_bytes(gzip.compress("id;content\n1;table\n".encode("utf-16")))
    memory.import_from(*sorted(tmp_path.iterdir()))
    assert sorted(record.content for record in memory.list()) == ["packed", "plain", "table"]


@pytest.mark.parametrize("extension", [".ndjson", ".json", ".csv", ".yaml"])
@pytest.mark.parametrize("part", [0.2, 0.5, 0.9, 0.999])
def test_a_truncated_file_keeps_what_comes_before(tmp_path: Path, extension: str, part: float) -> None:
    source = random.Random(part)
    words = [source.randbytes(30).hex() for _ in range(8_000)]
    items = "".join(f'{{"content":"{word}"}}\n' for word in words).encode()
    whole = tmp_path / f"whole{extension}.gz"
    convert(items, whole, to=registry.by_extension(extension).name)  # type: ignore[union-attr]
    cut = tmp_path / f"cut{extension}.gz"
    packed = whole.read_bytes()
    cut.write_bytes(packed[: int(len(packed) * part)])
    report = Report()
    found = [item.content for item in read_items([cut], None, report, ReadOptions())]  # type: ignore[union-attr]
    (fault,) = report.faults()
    assert "its compressed data are damaged after" in fault.error and "(they end in the middle)" in fault.error
    assert found == words[: len(found)]
    # At most what a reader holds at once is missing.
    assert len(found) >= part * len(words) - 3_000


def test_other_damage_is_an_error_too(memory: Memory, tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(LINES.encode()))
    changed, followed = tmp_path / "changed.ndjson.gz", tmp_path / "followed.ndjson.gz"
    followed.write_bytes(packed + b"rubbish")
    packed[-8] ^= 1
    changed.write_bytes(packed)
    for path, reason in {changed: "incorrect data check", followed: "something else follows"}.items():
        result = memory.import_from(path)
        assert memory.count() == 400 and result.exit_code == 1
        assert reason in next(result.errors).error
        assert verify(path).state != "whole"
    (tmp_path / "head.json.gz").write_bytes(b"\x1f\x8b\x08")
    assert memory.import_from(tmp_path / "head.json.gz").exit_code == 2


def test_several_compressed_parts_are_one_file(memory: Memory, tmp_path: Path) -> None:
    parts = [gzip.compress(line.encode()) for line in LINES.splitlines(keepends=True)]
    path = tmp_path / "parts.ndjson.gz"
    path.write_bytes(b"".join(parts) + bytes(70_000))
    assert memory.import_from(path).imported == 400
    assert memory.import_from(gzip.compress(b"") + b"".join(parts[:3])).skipped == 3


def test_a_bomb_is_refused(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "MAX_UNPACKED_BYTES", 100_000)
    bomb = gzip.compress(b'{"content":"x"}\n' + b" " * 30_000_000)
    result = memory.import_from(bomb)
    assert (result.imported, result.exit_code) == (1, 1)
    assert "it holds more than" in next(result.errors).error
    # A large file that is not much larger than before is no bomb.
    rows = "".join(f'{{"content":"{random.Random(n).random()}"}}\n' for n in range(10_000))
    assert memory.import_from(gzip.compress(rows.encode())).imported == 10_000
    # Neither are many parts, unless they are empty.
    assert "it holds more than" in next(memory.import_from(gzip.compress(b"") * 5_000).errors).error


def test_a_large_value_is_refused_alone_in_flat_memory(memory: Memory) -> None:
    large = b'{"content":"' + b"x" * 40_000_000 + b'"}\n'
    result = memory.import_from(gzip.compress(large + b'{"content":"small"}\n'), max_record="1MB")
    assert (result.imported, result.failed) == (1, 1)


def test_a_stream_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "notes.ndjson.gz"
    path.write_bytes(gzip.compress(LINES.encode()))
    source = Source.file(path)
    with source.as_file() as copy:
        assert copy.read_text() == LINES
    again = source.reopen()
    assert again is not None
    with again:
        assert again.read() == LINES.encode()
    assert source.extension == ".ndjson" and source.inner_path == tmp_path / "notes.ndjson"
    assert 0 < source.consumed <= os.path.getsize(path)
    source.close()


def test_reads_stop_before_an_error() -> None:
    packed = gzip.compress(random.Random(0).randbytes(500_000))
    source = Source("cut", io.BytesIO(packed[:300_000]))
    found = source.stream.read()
    assert 250_000 < len(found) < 300_000
    with pytest.raises(Unreadable):
        source.stream.read()
    with pytest.raises(Unreadable):
        Source("cut", io.BytesIO(packed[:100_000])).whole()


@pytest.mark.skipif(HAS_ZSTD, reason="this Python has Zstandard")
def test_zstandard_needs_a_later_python(memory: Memory, tmp_path: Path) -> None:
    memory.add("x")
    with pytest.raises(UsageError, match="this Python cannot write `.zst`"):
        memory.export(tmp_path / "out.json.zst")
    (tmp_path / "in.json.zst").write_bytes(b"\x28\xb5\x2f\xfd\x04\x00\x11")
    assert "this Python cannot read `.zst`" in next(memory.import_from(tmp_path / "in.json.zst").errors).error


@pytest.mark.parametrize("name", ["notes.docx", "notes.parquet", "notes.txt", "notes.docx.gz", "notes.tar.gz"])
def test_an_unknown_extension_is_not_written(memory: Memory, tmp_path: Path, name: str) -> None:
    memory.add("x")
    for attempt in (lambda: memory.export(tmp_path / name), lambda: convert(LINES.encode(), tmp_path / name)):
        with pytest.raises(UsageError, match="no format has the extension") as raised:
            attempt()
        assert "`.csv`" in (raised.value.hint or "") and "--format" in (raised.value.hint or "")
    assert list(tmp_path.iterdir()) == []
    assert memory.export(tmp_path / name, format="json").format == "json"


def test_a_name_without_extension_is_json(memory: Memory, tmp_path: Path) -> None:
    memory.add("x")
    for name in ("notes", ".notes", "notes.gz"):
        assert memory.export(tmp_path / name).format == "json"
    assert memory.import_from(tmp_path / "notes.gz").skipped == 1
    (tmp_path / "notes.txt").write_text('[{"content":"by shape"}]')
    assert memory.import_from(tmp_path / "notes.txt").imported == 1


def test_tsv_has_tabs(memory: Memory, tmp_path: Path) -> None:
    memory.add('a, "b"\tc')
    memory.add("d;e")
    path = tmp_path / "notes.tsv"
    memory.export(path)
    first, *_ = path.read_text().splitlines()
    assert first.split("\t")[:3] == ["id", "content", "title"]
    with Memory.open(":memory:") as other:
        assert other.import_from(path).imported == 2
        assert list(other.list()) == list(memory.list())
    assert verify(path).ok


def test_tsv_is_read_with_tabs_if_it_has_some(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("content\ttags; more\none, two\tx\n")
    (tmp_path / "b.tsv").write_text("content\nthree, four\n")
    # Earlier versions wrote commas.
    (tmp_path / "c.tsv").write_text("content,title\nfive,six\n")
    memory.import_from(tmp_path)
    assert sorted(record.content for record in memory.list()) == ["five", "one, two", "three, four"]


def test_an_installed_zstandard_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages for earlier versions of Python have the same interface, so they can stand in for it in this test."""
    if not HAS_ZSTD:
        backport = pytest.importorskip("backports.zstd")
        monkeypatch.setitem(sys.modules, "compression.zstd", backport)
    items = tmp_path / "a.ndjson.zst"
    assert convert(LINES.encode(), items).count == 400
    first = items.read_bytes()
    assert compression.compression_of(first) == "zstd" and verify(items).ok
    assert convert(LINES.encode(), items, force=True).count == 400 and items.read_bytes() == first
    items.write_bytes(first + first)
    assert len(read(items)[0]) == 800
    items.write_bytes(first[:-20])
    assert "its compressed data are damaged" in read(items)[1][0]
