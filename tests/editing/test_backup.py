"""Back up, restore and verify a store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import memglot
from memglot import MemglotError, Memory
from memglot.store.sqlite import connection

LEAVE = (
    "import os, signal, sys; from memglot import Memory\n"
    "memory = Memory.open(sys.argv[1])\n"
    "for number in range(20): memory.add(f'memory {number}')\n"
    "os.kill(os.getpid(), signal.SIGKILL)\n"
)


def left_open(path: Path) -> Path:
    """Return a store whose last changes are still in its write-ahead log."""
    done = subprocess.run([sys.executable, "-c", LEAVE, str(path)])
    assert done.returncode == -signal.SIGKILL
    assert os.path.getsize(f"{path}-wal") > 0
    return path


def test_restore_includes_the_log_and_keeps_the_old_store(tmp_path: Path) -> None:
    backup, store = left_open(tmp_path / "live.db"), tmp_path / "store.db"
    assert memglot.restore(backup, str(store)) == (store, 20)
    for number in range(2):
        with Memory.open(store) as memory:
            memory.add(f"since the backup {number}")
        for _ in range(2):
            # The second time, the store is what the backup contains, and there is nothing to keep.
            memglot.restore(backup, str(store), force=True)
    asides = sorted(path.name for path in tmp_path.glob("store.db.before*"))
    assert asides == ["store.db.before-restore", "store.db.before-restore-2"]
    with Memory.open(store, write=False) as memory:
        assert memory.count() == 20
    with Memory.open(tmp_path / asides[1], write=False) as memory:
        assert memory.count() == 21


def test_a_restore_that_stops_before_it_replaces_the_store_leaves_it_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup, store = left_open(tmp_path / "live.db"), tmp_path / "store.db"
    with Memory.open(store) as memory:
        memory.add("mine")
    replace = os.replace

    def stop(source: str | Path, target: str | Path) -> None:
        if Path(target) == store:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        memglot.restore(backup, str(store), force=True)
    monkeypatch.undo()
    with Memory.open(store, write=False) as memory:
        assert [record.content for record in memory.list()] == ["mine"]
    memglot.restore(backup, str(store), force=True)
    assert sorted(path.name for path in tmp_path.glob("*before*")) == ["store.db.before-restore"]
    with Memory.open(tmp_path / "store.db.before-restore", write=False) as memory:
        assert [record.content for record in memory.list()] == ["mine"]


def test_restore_over_a_store_in_use_or_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    backup, store = left_open(tmp_path / "live.db"), tmp_path / "store.db"
    with Memory.open(store) as memory:
        memory.add("mine")
        with pytest.raises(MemglotError, match="locked: another process has had it open"):
            memglot.restore(backup, str(store), force=True)
        assert memory.count() == 1
    store.write_bytes(store.read_bytes()[:9000])
    memglot.restore(backup, str(store), force=True)
    assert memglot.verify(store).ok
    store.unlink()
    (tmp_path / "store.db-wal").write_bytes(b"stale")
    memglot.restore(backup, str(store))
    assert memglot.verify(store).ok


def test_a_backup_onto_itself_is_rejected(store_path: str) -> None:
    with Memory.open(store_path) as memory:
        memory.add("x")
        with pytest.raises(MemglotError, match="exists"):
            memory.backup(store_path, force=True)
        assert memory.count() == 1


def test_verify_finds_deleted_rows(store_path: str) -> None:
    import apsw

    with Memory.open(store_path) as memory:
        memory.add("a")
        memory.add("b")
    db = apsw.Connection(store_path)
    db.execute("DELETE FROM records WHERE seq = 2")
    db.close()
    assert any("instead of 2" in problem for problem in memglot.verify(store_path).problems)


def test_restore_that_cannot_write_leaves_the_store(tmp_path: Path) -> None:
    backup, store = tmp_path / "backup.db", tmp_path / "store.db"
    for path, content in ((backup, "theirs " * 200_000), (store, "mine")):
        with Memory.open(path) as memory:
            memory.add(content)
    command = f"ulimit -f 1000; trap '' XFSZ; {sys.executable} -m memglot --store {store} restore {backup} --force"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 3 and "cannot write" in done.stderr
    assert not list(tmp_path.glob("*before*")) and not list(tmp_path.glob(".*part*"))
    with Memory.open(store, write=False) as memory:
        assert [record.content for record in memory.list()] == ["mine"]
