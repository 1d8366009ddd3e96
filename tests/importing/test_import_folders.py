"""Import folders: which files are read, and which are skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent import reached, text_of
from memglot import Memory

SECRET = "0194a000-0001-7000-8000-000000000001"


def test_importing_a_folder_skips_the_store_in_it(tmp_path: Path) -> None:
    """The store was read as one of the files, which revealed the number of hidden memories."""
    with Memory.open(tmp_path / "store.db") as memory:
        memory.add("the salary", id=SECRET, scope="finance")
        memory.add("open")
        memory.mark_sensitive("finance")
    (tmp_path / "a.json").write_text('[{"content": "x"}]')
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "store.db.json").write_text('[{"content": "y"}]')
    with reached("here-auto", tmp_path / "store.db", cwd=tmp_path) as one:
        found = one.call_raw("me_memory_import", {"path": "."})
        assert found.structured_content is not None
        counts = {name: found.structured_content[name] for name in ("imported", "skipped", "failed", "errors")}
        assert counts == {"imported": 2, "skipped": 0, "failed": 0, "errors": []}
        assert "store.db-wal" not in text_of(found)


def test_importing_a_folder_skips_the_data_of_memglot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memglot.store.own_files.data_folder", lambda: tmp_path / "data" / "memglot")
    clients = tmp_path / "data" / "memglot" / "clients"
    clients.mkdir(parents=True)
    (clients / "x.json").write_text('[{"content": "a server that was replaced, with its keys"}]')
    (tmp_path / "a.json").write_text('[{"content": "x"}]')
    with Memory.open(":memory:") as memory:
        assert memory.import_from(tmp_path).imported == 1
        assert memory.import_from(clients).imported == 1, "whoever names it means it"


def test_errors_about_hidden_scopes_name_the_file(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store.db") as memory:
        memory.add("the salary", scope="finance")
        memory.mark_sensitive("finance")
    for name, scope in (("a", "finance"), ("b", "user"), ("c", "finance"), ("d", "user")):
        (tmp_path / "in").mkdir(exist_ok=True)
        with Memory.open(":memory:") as other:
            other.add(name, scope=scope)
            other.export(tmp_path / "in" / f"{name}.json")
    with Memory.open(tmp_path / "store.db", sensitive=False) as view:
        result = view.import_from(tmp_path / "in")
        assert [Path(fault.source).name for fault in result.errors] == ["a.json", "c.json"]
        assert (result.imported, result.failed) == (2, 2)


def test_file_names_that_are_not_valid_utf8(memory: Memory, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    for name in (b"\xff.json", b"\xfe.txt"):
        with open(os.path.join(folder, name), "w") as out:
            out.write('{"content":""}')
    result = memory.import_from(tmp_path)
    assert "\\udcff.json" in next(result.errors).source
    assert any("\\udcfe.txt" in note for note in result.notes)


def test_deep_folders(memory: Memory, tmp_path: Path) -> None:
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        for _ in range(300):
            os.mkdir("d")
            os.chdir("d")
        Path("a.md").write_text("deep")
    finally:
        os.chdir(here)
    assert memory.import_from(tmp_path).imported == 1
