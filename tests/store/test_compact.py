"""Compacting a store: space is given back, nothing else changes, and others are in nobody's way."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest

from memglot import Memory
from memglot.errors import FullStore, LockedStore, ReadOnlyStore
from memglot.store.sqlite import connection

COUNT = 3_000


def _filled(path: Path) -> Memory:
    memory = Memory.open(path)
    lines = (f'{{"content": "memory {number} {"word " * 60}"}}\n' for number in range(COUNT))
    memory.import_from("".join(lines).encode(), format="ndjson", embed=False)
    memory.add("the one that stays", tags=["kept"])
    memory.undo(next(memory.imports()).id)
    return memory


def _pages(path: Path) -> int:
    with sqlite3.connect(path) as db:
        size: int = db.execute("PRAGMA page_count").fetchone()[0]
    db.close()
    return size


def test_space_is_given_back_and_nothing_else_changes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with _filled(path) as memory:
        before = [memory.history(record.id) for record in memory.list()], list(memory.imports()), memory.stats()
        done = memory.compact()
        assert done.freed > done.before / 2 and not done.waiting
        assert path.stat().st_size == done.after == done.before - done.freed
        after = [memory.history(record.id) for record in memory.list()], list(memory.imports()), memory.stats()
        assert after[:2] == before[:2] and {**after[2], "bytes": 0} == {**before[2], "bytes": 0}
        assert memory.doctor().ok and memory.search("stays")[0].record.tags == ["kept"]
        again = memory.compact()
        assert again.freed == 0 and again.after == done.after
    assert path.stat().st_size == done.after
    assert Memory.open(path, write=False).doctor().ok


def test_others_use_the_store_meanwhile_and_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with _filled(path) as memory, Memory.open(path) as other:
        other.add("written before")
        reading = other.store.records.select()
        next(reading)
        done = memory.compact()
        assert done.waiting > 0, "somebody reads an earlier state"
        assert len(list(reading)) == 1
        other.add("written afterwards")
        memory.add("and here")
        assert memory.count() == other.count() == 4
        assert memory.compact().waiting == 0
        assert memory.doctor().ok and other.doctor().ok


def test_a_copy_without_the_log_is_noticed_after_compacting(tmp_path: Path) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    with _filled(path) as memory, Memory.open(path) as other:
        other.add("the other process knows the file")
        memory.compact()
        other.add("only in the log")
        memory.add("and this")
        shutil.copy(path, copy)
    with Memory.open(copy, write=False) as torn:
        assert any("may be missing" in note for note in torn.notes)


def test_a_store_that_is_being_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "WRITER_SECONDS", 0.05)
    path = tmp_path / "store.db"
    with _filled(path) as memory:
        writer = apsw.Connection(str(path))
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(LockedStore):
            memory.compact()
        writer.execute("ROLLBACK")
        writer.close()
        assert memory.compact().freed > 0


def test_a_disk_that_is_too_small_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage(NamedTuple):
        free: int

    path = tmp_path / "store.db"
    with _filled(path) as memory:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1_000))
        with pytest.raises(FullStore, match="1,000 are free") as caught:
            memory.compact()
        assert "nothing was changed" in str(caught.value.hint)
        monkeypatch.undo()
        assert memory.doctor().ok and memory.compact().freed > 0


def test_stores_that_cannot_be_compacted(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    _filled(path).close()
    with Memory.open(path, write=False) as memory, pytest.raises(ReadOnlyStore):
        memory.compact()
    with Memory.open(":memory:") as memory:
        assert memory.compact().freed == 0


def test_ctrl_c_stops_it_and_leaves_the_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    _filled(path).close()
    before = _pages(path)
    code = """
import os, signal, sys
from memglot.cli.main import main
from memglot.store.sqlite import compact
run = compact.compact
def stopped(connection):
    set_handler = connection.db.set_progress_handler
    class Db:
        def __getattr__(self, name):
            return getattr(db, name)
        def set_progress_handler(self, handler, steps=100):
            if handler is None:
                return set_handler(None)
            def interrupting():
                os.kill(os.getpid(), signal.SIGINT)
                return handler()
            return set_handler(interrupting, 100)
    db = connection.db
    connection.db = Db()
    try:
        return run(connection)
    finally:
        connection.db = db
import memglot.store.sqlite.store as store
store.compact = stopped
main(sys.argv[1:])
"""
    command = [sys.executable, "-c", code, "--store", str(path), "compact"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ.copy())
    assert done.returncode == 130, done.stderr
    assert _pages(path) == before
    with Memory.open(path) as memory:
        assert memory.doctor().ok and memory.compact().freed > 0


def test_a_store_that_does_not_exist_is_not_created(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "memglot", "--store", "not there.db", "compact"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode and "no store at" in done.stderr
    assert not list(tmp_path.iterdir())
