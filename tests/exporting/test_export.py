"""Exporting: folders are kept up to date, files are never incomplete, and proofs detect changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from memglot import MemglotError, Memory, convert
from memglot.exporting.verify import verify_path
from memglot.report import Report

FORMATS = [("json", "out.json"), ("ndjson", "out.ndjson"), ("yaml", "out.yaml"), ("markdown", "out")]


@pytest.fixture
def filled(memory: Memory) -> Memory:
    for number in range(4):
        memory.add(
            f"memory {number}",
            id=f"0194a000-000{number}-7000-8000-000000000000",
            tags=[f"t{number}"],
            tree=f"a.b{number}",
        )
    return memory


def state(path: Path) -> str:
    return verify_path(path, Report()).state


@pytest.mark.parametrize(("format", "name"), FORMATS)
def test_verify_finds_a_cut_tail_a_dropped_and_an_edited_record(
    filled: Memory, tmp_path: Path, format: str, name: str
) -> None:
    path = tmp_path / name
    filled.export(path, format=format)
    assert state(path) == "whole"
    for change in (_cut, _drop, _edit):
        other = tmp_path / f"{change.__name__}-{name}"
        filled.export(other, format=format)
        change(other)
        assert state(other) != "whole", change.__name__


def _cut(path: Path) -> None:
    if path.is_dir():
        (path / "0194a000-0003-7000-8000-000000000000.md").unlink()
        return
    text = path.read_text()
    path.write_text(
        text[: text.rindex("0194a000-0003")].rstrip().rstrip('{"id:- ,\n') + ("}\n]" if path.suffix == ".json" else "")
    )


def _drop(path: Path) -> None:
    if path.is_dir():
        (path / "0194a000-0001-7000-8000-000000000000.md").unlink()
        return
    with Memory.open(":memory:") as other:
        other.import_from(path)
        other.delete("0194a000-0001-7000-8000-000000000000")
        reduced = other.export(format=path.suffix[1:]).content
    assert reduced is not None
    # Put the digest of the complete file on the remaining records.
    whole, end = path.read_text(), "sha256:"
    digest = whole[whole.index(end) : whole.index(end) + 71]
    text = reduced.decode()
    path.write_text(text.replace(text[text.index(end) : text.index(end) + 71], digest))


def _edit(path: Path) -> None:
    if path.is_dir():
        path = path / "0194a000-0002-7000-8000-000000000000.md"
    path.write_text(path.read_text().replace("memory 2", "memory two"))


def test_a_folder_is_kept_up_to_date(filled: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    filled.export(folder, format="markdown")
    kept = folder / "0194a000-0001-7000-8000-000000000000.md"
    os.utime(kept, (1, 1))
    (folder / "mine.md").write_text("a note of the user's own")
    filled.delete("0194a000-0000-7000-8000-000000000000")
    filled.update("0194a000-0002-7000-8000-000000000000", content="changed")
    filled.export(folder, format="markdown")
    assert kept.stat().st_mtime == 1
    assert not (folder / "0194a000-0000-7000-8000-000000000000.md").exists()
    assert (folder / "mine.md").exists()
    assert "changed" in (folder / "0194a000-0002-7000-8000-000000000000.md").read_text()
    (folder / "mine.md").unlink()
    assert state(folder) == "whole"


def test_files_of_others_are_not_overwritten(filled: Memory, tmp_path: Path) -> None:
    file, folder = tmp_path / "notes.json", tmp_path / "notes"
    file.write_text("mine")
    folder.mkdir()
    (folder / "mine.md").write_text("mine")
    for path, format in ((file, "json"), (folder, "markdown"), (file, "markdown")):
        with pytest.raises(MemglotError, match="already exists"):
            filled.export(path, format=format)
    assert file.read_text() == (folder / "mine.md").read_text() == "mine"
    filled.export(file, format="json", force=True)
    filled.export(folder, format="markdown", force=True)
    assert (folder / "mine.md").read_text() == "mine"


@pytest.mark.parametrize(("format", "name"), FORMATS)
def test_a_failed_export_leaves_nothing(
    filled: Memory, tmp_path: Path, format: str, name: str, monkeypatch: Any
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("memglot.files.os.replace", fail)
    with pytest.raises((MemglotError, OSError)):
        filled.export(tmp_path / name, format=format)
    assert list(tmp_path.iterdir()) == []


def test_a_malicious_proof_affects_no_file_outside(filled: Memory, tmp_path: Path) -> None:
    folder, outside = tmp_path / "vault", tmp_path / "outside.md"
    outside.write_text("mine")
    filled.export(folder, format="markdown")
    proof = folder / ".memglot.json"
    entry = '"../outside.md":"' + "0" * 64 + '",\n'
    proof.write_text(proof.read_text().replace('"files":{\n', '"files":{\n' + entry))
    assert state(folder) == "altered"
    filled.export(folder, format="markdown")
    assert outside.read_text() == "mine"


def test_layouts(filled: Memory, tmp_path: Path) -> None:
    filled.export(tmp_path / "kind", format="markdown", layout="kind")
    filled.export(tmp_path / "tree", format="markdown", layout="tree")
    assert (tmp_path / "kind" / "semantic" / "0194a000-0001-7000-8000-000000000000.md").exists()
    assert (tmp_path / "tree" / "a" / "b1" / "0194a000-0001-7000-8000-000000000000.md").exists()
    with Memory.open(":memory:") as copy:
        assert copy.import_from(tmp_path / "tree").imported == 4
        assert list(copy.list()) == list(filled.list())


def test_filters_and_limits(filled: Memory) -> None:
    assert filled.export(format="ndjson", tags=["t1"]).count == 1
    assert filled.export(format="ndjson", tree="a", limit=2).count == 2
    assert filled.export(format="ndjson", kind="nothing").content == b""
    assert filled.export(format="json", kind="nothing").content == b"[]\n"


def test_a_stream_reports_what_it_cannot_store(filled: Memory) -> None:
    filled.delete("0194a000-0001-7000-8000-000000000000")
    assert filled.export(format="json").losses == {"tombstone": 1}


def test_two_processes_write_one_store(tmp_path: Path) -> None:
    import subprocess
    import sys

    store = str(tmp_path / "store.db")
    code = (
        "import sys; from memglot import Memory\n"
        "with Memory.open(sys.argv[1]) as m:\n"
        "    for n in range(40): m.add(f'{sys.argv[2]} {n}')\n"
        "    text = b''.join(b'{\"content\":\"%s line %d\"}\\n' % (sys.argv[2].encode(), n) for n in range(3000))\n"
        "    assert m.import_from(text, format='ndjson').imported == 3000\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, store, name]) for name in ("ann", "bo")]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    with Memory.open(store) as memory:
        assert memory.count() == 2 * 3040
        assert memory.search("line").total == 6000
        assert memory.audit_verify()["ok"]
        assert memory.doctor().ok


@pytest.mark.parametrize(("format", "name"), FORMATS)
def test_sidecars_are_verified_too(filled: Memory, tmp_path: Path, format: str, name: str) -> None:
    filled.delete("0194a000-0001-7000-8000-000000000000", reason="a reason")
    path = tmp_path / name
    filled.export(path, format=format)
    assert state(path) == "whole"
    beside = path / ".memglot.json" if path.is_dir() else path.with_name(name + ".memglot")
    text = beside.read_text()
    beside.write_text(text.replace("a reason", "no reason"))
    assert state(path) == "altered"
    if not path.is_dir():
        beside.write_text(text[: text.index('{"end"')])
        assert state(path) == "altered"


def test_losses_of_records_without_ids_are_named_by_their_text(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text('{"content": "first text", "tree": "a"}\n{"content": "second text"}\n')
    result = convert(tmp_path / "a.ndjson", tmp_path / "b.jsonl", to="mcp-graph", plain=True)
    assert {"field": "tree", "records": ["first text"]} in result.dropped
    assert {"field": "id", "records": ["first text", "second text"]} in result.dropped
