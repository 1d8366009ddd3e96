"""Zip archives are read as folders, with limits for malicious ones."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from memglot import Memory
from memglot.errors import Unreadable
from memglot.formats.core import zip
from memglot.model import Tombstone


def make_zip(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, text in files.items():
            out.writestr(name, text)
    return path


def test_a_zip_is_a_folder(memory: Memory, tmp_path: Path) -> None:
    path = make_zip(
        tmp_path / "export.zip", **{"b/notes.json": '[{"content":"one"},{"content":""}]', "a.md": "two", "x.png": "?"}
    )
    result = memory.import_from(path)
    assert [memory.get(id).content for id in result.ids] == ["two", "one"]
    assert [str(fault) for fault in result.errors] == [f"{path}/b/notes.json:1: `content` is empty"]
    assert any("x.png" in note for note in result.notes)


def test_paths_that_leave_the_archive_and_links_are_refused(memory: Memory, tmp_path: Path) -> None:
    path = make_zip(tmp_path / "evil.zip", **{"../out.md": "x", "/etc/x.md": "x", "a\\b.md": "x", "fine.md": "fine"})
    link = zipfile.ZipInfo("link.md")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "a") as out:
        out.writestr(link, "/etc/passwd")
    result = memory.import_from(path)
    assert [record.content for record in memory.list()] == ["fine"]
    assert len(list(result.errors)) == 3
    assert any("symbolic link" in note for note in result.notes)


def test_a_bomb_is_refused(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip, "MAX_ZIP_BYTES", 1000)
    path = make_zip(tmp_path / "bomb.zip", **{"a.md": "x" * 2000})
    result = memory.import_from(path)
    assert (result.imported, result.exit_code) == (0, 2)
    assert "it holds more than" in next(result.errors).error


def test_a_truncated_or_altered_zip_is_reported(memory: Memory, tmp_path: Path) -> None:
    path = make_zip(tmp_path / "cut.zip", **{"a.md": "x" * 5000})
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    assert memory.import_from(path).exit_code == 2
    path.write_bytes(whole.replace(whole[40:44], b"\xff\xff\xff\xff", 1))
    assert memory.import_from(path).exit_code == 2
    assert memory.count() == 0


def test_a_store_in_a_zip_is_merged(memory: Memory, tmp_path: Path) -> None:
    with Memory.open(str(tmp_path / "other.db")) as other:
        other.add("x")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(tmp_path / "other.db", "inside/other.db")
    assert memory.import_from(tmp_path / "all.zip").imported == 1


X, Y = (f"0194a000-000{number}-7000-8000-000000000000" for number in (1, 2))


def line(id: str, content: str, **more: Any) -> bytes:
    import msgspec

    return msgspec.json.encode({"id": id, "content": content, **more}) + b"\n"


def test_a_zip_of_an_export_is_imported_completely(memory: Memory, tmp_path: Path) -> None:
    import zipfile

    memory.add("x", id=X)
    memory.add("y", id=Y)
    memory.delete(X)
    memory.export(tmp_path / "vault", format="markdown")
    memory.export(tmp_path / "all.json")
    (tmp_path / "old.json").write_bytes((tmp_path / "all.json").read_bytes())
    (tmp_path / "old.json.memglot.ndjson").write_bytes((tmp_path / "all.json.memglot").read_bytes())
    for names in (
        ["vault/.memglot.json", f"vault/{Y}.md"],
        ["all.json", "all.json.memglot"],
        ["old.json", "old.json.memglot.ndjson"],
    ):
        with zipfile.ZipFile(tmp_path / "out.zip", "w", zipfile.ZIP_LZMA) as out:
            for name in names:
                out.write(tmp_path / name, name)
        with Memory.open(":memory:") as other:
            result = other.import_from(tmp_path / "out.zip")
            assert (result.imported, other.store.things.count(Tombstone), list(result.errors)) == (1, 1, [])
    whole = (tmp_path / "out.zip").read_bytes()
    (tmp_path / "out.zip").write_bytes(whole[:60] + b"\xff\xff\xff" + whole[63:])
    (tmp_path / "good.json").write_bytes(line(X, "x"))
    result = memory.import_from(tmp_path / "out.zip", tmp_path / "good.json", restore_deleted=True)
    assert result.imported == 1 and len(list(result.errors)) >= 1
    with pytest.raises(Unreadable, match="no such file or folder"):
        memory.import_from("a" * 300)
