"""A copy of a store's file without its write-ahead log is reported; every complete copy is not."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from memglot import Memory
from memglot.editing.backup import restore
from memglot.errors import DamagedStore, NotAStore
from memglot.files import sqlite_files
from memglot.store.sqlite import log_mark


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Memory]:
    """A store in use, with 22 memories of which 21 are only in the log."""
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        memory.add("The first memory")
    with Memory.open(path) as memory:
        for number in range(21):
            memory.add(f"Memory {number}")
        yield memory


def file_of(memory: Memory) -> Path:
    return Path(memory.store.url)


def copied(memory: Memory, name: str = "copy.db", *, log: bool = False) -> Path:
    path = file_of(memory).with_name(name)
    copy(file_of(memory), path)
    if log:
        copy(f"{file_of(memory)}-wal", f"{path}-wal")
    return path


def copy(source: Path | str, target: Path | str) -> None:
    """Copy a file in another process: a process that opens and closes its own store loses its locks."""
    subprocess.run([sys.executable, "-c", COPY, str(source), str(target)], check=True)


def checked(path: Path) -> tuple[int, list[str]]:
    """Return the number of memories in a store, and what `doctor` reports."""
    with Memory.open(path, write=False) as memory:
        return memory.count(), memory.doctor().problems


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)


COPY = "import shutil, sys; shutil.copy(*sys.argv[1:])"
BACK_UP = """
import sqlite3, sys
source, target = sqlite3.connect(sys.argv[1]), sqlite3.connect(sys.argv[2])
source.backup(target)
target.close()
source.execute("VACUUM INTO ?", (sys.argv[3],))
"""
KILLED_AFTER_THE_MARK = """
import os, signal, sys
from memglot import Memory
from memglot.store.sqlite.log_mark import LogMark
memory = Memory.open(sys.argv[1])
db = memory.store.connection.db
LogMark(db, sys.argv[1]).begin(db)
db.execute("ROLLBACK")
os.kill(os.getpid(), signal.SIGKILL)
"""
KILLED_AFTER_A_WRITE = """
import os, signal, sys
from memglot import Memory
memory = Memory.open(sys.argv[1])
memory.add("Written just before the kill")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_copy_without_its_log_is_reported(live: Memory) -> None:
    count, problems = checked(copied(live))
    assert count == 1
    assert [problem.partition(":")[0] for problem in problems] == ["operations after number 1 may be missing"]


def test_a_note_says_so_whenever_such_a_copy_is_opened(live: Memory) -> None:
    note = "operations after number 1 may be missing; run `memglot doctor` for details"
    for write in (False, True):
        with Memory.open(copied(live), write=write) as memory:
            assert memory.notes == [note]


def test_the_report_stays_until_the_loss_is_accepted(live: Memory) -> None:
    path = copied(live)
    with Memory.open(path) as memory:
        memory.add("Written later")
    assert "operations after number 1 may be missing" in checked(path)[1][0]
    with Memory.open(path) as memory:
        assert memory.doctor(fix=True).ok
    assert checked(path) == (2, [])


def test_restore_refuses_such_a_copy(live: Memory) -> None:
    with pytest.raises(NotAStore, match="operations after number 1 may be missing"):
        restore(copied(live), str(file_of(live).with_name("restored.db")))


@pytest.mark.parametrize("write", [False, True])
def test_backup_refuses_such_a_copy(live: Memory, write: bool) -> None:
    path = file_of(live).with_name("backup.db")
    with Memory.open(copied(live), write=write) as memory:
        with pytest.raises(DamagedStore, match="operations after number 1 may be missing"):
            memory.backup(path)
    assert not path.exists()


def test_such_a_copy_in_a_read_only_folder_is_reported(live: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "disc"
    folder.mkdir()
    with Memory.open(copied(live)):
        pass
    shutil.copy(tmp_path / "copy.db", folder / "store.db")
    copy(file_of(live), folder / "other.db")
    folder.chmod(0o500)
    try:
        for name in ("store.db", "other.db"):
            assert len(checked(folder / name)[1]) == 1
    finally:
        folder.chmod(0o700)


def test_a_store_in_use_is_intact(live: Memory) -> None:
    assert checked(file_of(live)) == (22, [])
    assert live.doctor().ok


def test_complete_copies_are_intact(live: Memory, tmp_path: Path) -> None:
    live.backup(tmp_path / "backup.db")
    assert run(BACK_UP, file_of(live), tmp_path / "api.db", tmp_path / "vacuum.db").returncode == 0
    restore(tmp_path / "backup.db", str(tmp_path / "restored.db"))
    others = [tmp_path / name for name in ("backup.db", "api.db", "vacuum.db", "restored.db")]
    for path in (*others, copied(live, "with-log.db", log=True)):
        assert checked(path) == (22, []), path


def test_a_copy_of_a_closed_store_is_intact(live: Memory) -> None:
    path = file_of(live)
    live.close()
    shutil.copy(path, path.with_name("copy.db"))
    assert checked(path.with_name("copy.db")) == (22, [])


def test_an_old_copy_put_in_the_place_of_the_store_is_intact(live: Memory, tmp_path: Path) -> None:
    live.backup(tmp_path / "old.db")
    live.add("Added after the backup")
    path = file_of(live)
    live.close()
    shutil.copy(tmp_path / "old.db", path)
    assert checked(path) == (22, [])


@pytest.mark.parametrize("code", [KILLED_AFTER_THE_MARK, KILLED_AFTER_A_WRITE])
def test_a_killed_process_leaves_an_intact_store(tmp_path: Path, code: str) -> None:
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        memory.add("The first memory")
    count = 1 + (code == KILLED_AFTER_A_WRITE)
    assert run(code, path).returncode == -signal.SIGKILL
    assert checked(path) == (count, [])
    for name in ("store.db", "store.db-wal"):
        shutil.copy(tmp_path / name, tmp_path / name.replace("store", "copy"))
    with Memory.open(tmp_path / "copy.db"):
        pass
    assert not (tmp_path / "copy.db-wal").exists()
    assert checked(tmp_path / "copy.db") == (count, [])
    restore(tmp_path / "copy.db", str(path), force=True)
    assert checked(tmp_path / "store.db.before-restore") == (count, [])


def test_another_program_may_merge_the_log_of_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    assert run(KILLED_AFTER_A_WRITE, path).returncode == -signal.SIGKILL
    other = sqlite3.connect(path)
    other.execute("SELECT count(*) FROM records").fetchall()
    other.close()
    assert not Path(f"{path}-wal").exists()
    assert checked(path) == (1, [])


def test_a_lost_log_of_a_killed_process_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    assert run(KILLED_AFTER_A_WRITE, path).returncode == -signal.SIGKILL
    Path(f"{path}-wal").unlink()
    assert len(checked(path)[1]) == 1


def test_a_large_log_is_merged_and_the_file_marked_again(live: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file_of(live).stat().st_size
    monkeypatch.setattr(log_mark, "_LARGE", 10)
    live.add("This transaction merges the log first, and then " + "x" * 100_000)
    assert file_of(live).stat().st_size > before
    count, problems = checked(copied(live))
    assert count == 22
    assert len(problems) == 1
    size = Path(f"{file_of(live)}-wal").stat().st_size
    for number in range(20):
        live.add(f"The log is used again from its start: {number}")
    assert Path(f"{file_of(live)}-wal").stat().st_size <= size


def test_the_file_is_marked_after_a_long_read_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        memory.add("The first memory")
    with Memory.open(path, write=False) as reader, Memory.open(path) as memory:
        with reader.store.reading():
            assert reader.count() == 1
            memory.add("Written while somebody reads")
        memory.add("Written afterwards")
        assert len(checked(copied(memory))[1]) == 1
        assert checked(path) == (3, [])


def test_a_failed_transaction_leaves_an_intact_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Memory.open(path) as memory:
        memory.add("The first memory")
    with Memory.open(path) as memory:
        with pytest.raises(ZeroDivisionError), memory.store.writing():
            raise ZeroDivisionError
        assert memory.doctor().ok
    assert checked(path) == (1, [])
    db = apsw.Connection(str(path))
    assert db.execute("SELECT value FROM state WHERE name = 'log'").get == "empty"
    db.close()


WRITER = """
import sys
from memglot import Memory
for turn in range(3):
    with Memory.open(sys.argv[1]) as memory:
        for number in range(12):
            print(memory.add(f"{sys.argv[2]} {turn} {number}").id, flush=True)
"""


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[Writers]:
    """Processes that open one store, write to it and close it, again and again."""
    with Memory.open(tmp_path / "store.db") as memory:
        memory.add("The first memory")
    found = Writers(tmp_path)
    yield found
    found.wait()
    assert checked(found.path) == (1 + 3 * 36, [])


class Writers:
    """Three processes, each of which reports what it has stored."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "store.db"
        self._logs = [folder / f"log{number}" for number in range(3)]
        self._processes = []
        for log in self._logs:
            with open(log, "w") as out:
                self._processes.append(subprocess.Popen([sys.executable, "-c", WRITER, self.path, log], stdout=out))

    def running(self) -> Iterator[set[str]]:
        """Yield the ids of all memories stored so far, until the processes end."""
        while any(process.poll() is None for process in self._processes):
            yield {id for log in self._logs for id in log.read_text().splitlines()}

    def wait(self) -> None:
        assert [process.wait() for process in self._processes] == [0, 0, 0]


def test_every_copy_next_to_writers_is_complete_or_reported(tmp_path: Path, writers: Writers) -> None:
    reported = 0
    for acknowledged in writers.running():
        path = tmp_path / "copy.db"
        before = writers.path.stat()
        shutil.copy(writers.path, path)
        if writers.path.stat() != before:
            # Half of the copy may be from before the change.
            continue
        with Memory.open(path) as memory:
            problems = memory.doctor().problems
            missing = acknowledged - {record.id for record in memory.list()}
        assert problems or not missing, f"{len(missing)} of {len(acknowledged)} are missing"
        reported += bool(problems)
        for file in sqlite_files(path):
            file.unlink(missing_ok=True)
    assert reported


def test_no_check_or_backup_next_to_writers_is_reported(tmp_path: Path, writers: Writers) -> None:
    for acknowledged in writers.running():
        with Memory.open(writers.path, write=False) as memory:
            assert memory.doctor().problems == []
            memory.backup(tmp_path / "backup.db", force=True)
        count, problems = checked(tmp_path / "backup.db")
        assert problems == []
        assert count > len(acknowledged)


def test_writers_may_merge_a_large_log_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of them got an error, which said that another process had been writing for 10 s."""
    monkeypatch.setattr(log_mark, "_LARGE", 1)
    path = tmp_path / "store.db"
    Memory.open(path).close()

    def add(writer: int) -> int:
        with Memory.open(path) as memory:
            return len([memory.add(f"{writer} {number}").id for number in range(25)])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(add, range(8))) == [25] * 8
    with Memory.open(path, write=False) as memory:
        assert memory.count() == 200 and memory.doctor().problems == []
