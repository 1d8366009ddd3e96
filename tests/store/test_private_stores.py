"""Stores in memglot's own folder are made private when they are opened; a note names others that are not."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import memglot.files
from memglot import Memory
from memglot.store.location import open_input_store

if os.name == "nt":
    pytest.skip("Windows has no modes", allow_module_level=True)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """memglot's own folder for data."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MEMGLOT_STORE", raising=False)
    return tmp_path / "data" / "memglot"


def make(path: Path | None = None) -> None:
    """Make a store with one memory."""
    with Memory.open(path) as memory:
        memory.add("x")


@pytest.mark.parametrize("write", [True, False])
def test_a_store_in_our_folder_is_made_private(own_folder: Path, write: bool) -> None:
    make()
    store = own_folder / "memglot.db"
    with Memory.open() as other:
        files = sorted(own_folder.iterdir())
        assert [file.name for file in files] == ["memglot.db", "memglot.db-shm", "memglot.db-wal"]
        for file in files:
            file.chmod(0o644)
        with Memory.open(write=write) as memory:
            assert not memory.notes and {mode_of(file) for file in files} == {0o600}
        other.add("y")
    assert mode_of(store) == 0o600 and mode_of(own_folder) == 0o700


def test_a_note_gives_the_command_for_a_store_elsewhere(tmp_path: Path, own_folder: Path) -> None:
    store = tmp_path / "my notes" / "store.db"
    make(store)
    store.chmod(0o644)
    with Memory.open(store) as memory, Memory.open(store, write=False) as reader:
        for found in (memory, reader):
            (note,) = found.notes
            assert f"(mode 644); `chmod 600 '{store}" in note
        memory.add("y")
        assert mode_of(store) == 0o644
        subprocess.run(shlex.split(note.split("`")[3]), check=True)
    with Memory.open(store) as memory:
        assert not memory.notes


def test_a_linked_store_in_our_folder_is_not_changed(tmp_path: Path, own_folder: Path) -> None:
    make(tmp_path / "store.db")
    (tmp_path / "store.db").chmod(0o640)
    own_folder.mkdir(parents=True)
    (own_folder / "memglot.db").symlink_to(tmp_path / "store.db")
    with Memory.open() as memory:
        assert len(memory.notes) == 1
    assert mode_of(tmp_path / "store.db") == 0o640


def test_stores_that_are_imported_or_cannot_be_changed_have_no_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store.db"
    make(store)
    store.chmod(0o644)
    imported = open_input_store(store)
    assert not imported.notes
    imported.close()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        assert memglot.files.open_to_others(store) == []
    assert memglot.files.open_to_others(store) == [store]
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: store.stat().st_uid + 1)
        assert memglot.files.open_to_others(store) == []
    read_only = os.statvfs_result((4096, 4096, 1, 1, 1, 1, 1, 1, os.ST_RDONLY, 255))
    with monkeypatch.context() as patch:
        patch.setattr(os, "statvfs", lambda _: read_only)
        assert memglot.files.open_to_others(store) == []


def test_a_store_of_an_earlier_version_has_the_note_once(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    db = apsw.Connection(str(store))
    db.execute((Path(__file__).parent / "versions" / "v4.sql").read_text(encoding="utf-8"))
    db.close()
    store.chmod(0o644)
    with Memory.open(store, write=False) as memory:
        assert len(memory.notes) == 1
