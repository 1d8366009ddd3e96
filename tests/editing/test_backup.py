"""Back up, restore and verify a store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

import memglot
from memglot import MemglotError, Memory
from memglot.editing import rotation
from memglot.errors import DamagedStore
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


def test_a_damaged_store_replaces_no_backup(tmp_path: Path) -> None:
    store, copy = tmp_path / "store.db", tmp_path / "copy.db"
    with Memory.open(store) as memory:
        for number in range(200):
            memory.add(f"note {number} " + "about alpha " * 60)
        memory.backup(copy)
        assert memglot.verify(copy).ok
    before = copy.read_bytes()
    db = apsw.Connection(str(store))
    db.execute("UPDATE records SET content = 'edited outside' WHERE seq = 3")
    db.close()
    with Memory.open(store) as memory:
        for force in (False, True):
            for path in (copy, tmp_path / "second.db") if force else (tmp_path / "second.db",):
                with pytest.raises(DamagedStore, match="does not match its digest") as raised:
                    memory.backup(path, force=force)
                assert "--salvage" in str(raised.value.hint)
    assert copy.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "store.db"]


def test_backups_at_the_same_time(tmp_path: Path) -> None:
    store, copy = tmp_path / "store.db", tmp_path / "copy.db"
    with Memory.open(store) as memory:
        memory.add("x" * 100_000)
    command = [sys.executable, "-m", "memglot", "--store", str(store), "backup", str(copy), "--force"]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [(process.communicate()[1], process.returncode) for process in running] == [("", 0)] * 4
    assert memglot.verify(copy).ok
    assert not list(tmp_path.glob(".*"))


def test_a_folder_gets_a_file_with_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "now", lambda: 1_731_000_000_000_000)
    folder = tmp_path / "backups"
    folder.mkdir()
    with Memory.open(tmp_path / "mine.db") as memory:
        memory.add("x")
        first, second = memory.backup(folder), memory.backup(folder)
    assert first.path == folder / "mine-20241107T172000Z.db" and second.path == folder / "mine-20241107T172000Z-2.db"
    assert memglot.verify(first.path).ok and first.memories == 1 and first.removed == []


def test_old_backups_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, store = tmp_path / "backups", tmp_path / "mine.db"
    end = datetime(2026, 3, 20, 12, tzinfo=UTC)
    monkeypatch.setattr(rotation, "now", lambda: int(end.timestamp() * 1_000_000))
    with Memory.open(store) as memory:
        memory.add("x")
        made = memory.backup(folder, keep="1d").path
        content = made.read_bytes()
        for day in range(1, 400):
            name = (end - timedelta(days=day)).strftime("mine-%Y%m%dT%H%M%SZ.db")
            (folder / name).write_bytes(content)
        others = ["mine-1.db", "other-20250101T120000Z.db", "notes.txt", "mine-20250102T120000Z.txt"]
        for name in others:
            (folder / name).write_bytes(content)
        (folder / "mine-20250303T030303Z.db").write_bytes(content[:5000])
        (folder / "mine-20250304T030303Z.db").write_bytes(content.replace(b"records", b"recorts"))
        result = memory.backup(folder, keep="7d,4w,12m")
    left = sorted(path.name for path in folder.iterdir())
    assert set(others) < set(left)
    kept = [name for name in left if name not in others]
    days = ["20260314", "20260315", "20260316", "20260317", "20260318", "20260319", "20260320"]
    weeks = ["20260301", "20260308"]
    months = [
        *("20250430", "20250531", "20250630", "20250731", "20250831", "20250930"),
        *("20251031", "20251130", "20251231", "20260131", "20260228"),
    ]
    broken = ["20250303", "20250304"]
    assert sorted({name[5:13] for name in kept}) == sorted([*days, *weeks, *months, *broken])
    # Two backups of this second: the newer one stays.
    assert result.path.name == "mine-20260320T120000Z-2.db" and result.path.exists() and not made.exists()
    assert len(result.removed) == 400 - 20 + 1 and len(result.notes) == 2


def test_the_newest_backup_is_never_removed(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    with Memory.open(tmp_path / "mine.db") as memory:
        memory.add("x")
        first = memory.backup(folder, keep="1y")
        later = folder / "mine-29990101T000000Z.db"
        first.path.rename(later)
        second = memory.backup(folder, keep="1h")
        assert later.exists() and second.path.exists() and second.removed == []
        for wrong in ("", "7", "0d", "7d,7d", "7x", "d"):
            with pytest.raises(MemglotError, match="which backups to keep"):
                memory.backup(folder, keep=wrong)
        with pytest.raises(MemglotError, match="is a file"):
            memory.backup(later, keep="7d")
