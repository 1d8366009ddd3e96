"""Open SQLite databases that others may have made: nothing in them is executed, and nothing in them is changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import apsw

BUSY_MILLISECONDS = 10_000
_STEPS = 100_000
_FREE_STEPS = 20_000_000
_STEPS_PER_BYTE = 4
"""A query may take this many steps for each byte of its database. The longest queries of ordinary databases need less
than one; a page that contains itself would need them for ever."""
_LIMITS = {
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 200,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
}


def secure(db: apsw.Connection) -> None:
    """Never run the triggers, views and functions of a database, whoever made it."""
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)


@contextmanager
def open_input(path: Path) -> Iterator[apsw.Connection]:
    """Open a database for reading, without any change to its files or its folder.

    What SQLite can only read by writing, such as the log of a program that was killed, is read from a temporary copy.
    """
    with ExitStack() as stack:
        db = _open_input(path, stack)
        stack.callback(db.close)
        _restrict(db, path)
        yield db


def is_larger(db: apsw.Connection, size: int) -> bool:
    """Return True if a database has more bytes than this, so that one of its rows may have."""
    return int(db.pragma("page_count")) * int(db.pragma("page_size")) > size


def size_of(columns: Sequence[str]) -> str:
    """Return SQL for the number of bytes in some columns, which reads none of them."""
    if len(columns) == 1:
        return f"ifnull(octet_length({columns[0]}), 0)"
    # Halves, since SQLite limits the depth of expressions.
    middle = len(columns) // 2
    return f"({size_of(columns[:middle])} + {size_of(columns[middle:])})"


def accept_damaged_schema(db: apsw.Connection) -> None:
    """Let SQLite skip the tables whose definition is damaged; the database stays read-only."""
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    db.execute("PRAGMA writable_schema = ON")
    db.execute("SELECT count(*) FROM pragma_table_list").fetchall()


def copy_database(db: apsw.Connection, path: Path) -> None:
    """Copy a database, as a reader sees it now, to a new file."""
    copy = apsw.Connection(str(path))
    try:
        with copy.backup("main", db, "main") as backup:
            while not backup.done:
                backup.step(1_000)
    finally:
        copy.close()


def _open_input(path: Path, stack: ExitStack) -> apsw.Connection:
    log, shared, journal = (path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))
    has_log = _size(log) > 0
    if has_log and not shared.exists():
        return _open_copy(path, log, stack)
    if not log.exists() and _uses_log(path) or log.exists() and not shared.exists():
        # No program has it open, and opening it normally would leave an empty log next to it.
        return _open_unchanging(path)
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        db.set_busy_timeout(BUSY_MILLISECONDS)
        db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        return db
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        db.close()
        if has_log or _size(journal):
            return _open_copy(path, log if has_log else journal, stack)
        return _open_unchanging(path)
    except apsw.CorruptError:
        # A damaged definition of a table; the others may be readable.
        return db


def _open_copy(path: Path, log: Path, stack: ExitStack) -> apsw.Connection:
    """Open a copy of a database with its log, which SQLite completes there."""
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="memglot-")))
    for file in (path, log):
        shutil.copyfile(file, folder / file.name)
    return apsw.Connection(str(folder / path.name))


def _open_unchanging(path: Path) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(os.path.abspath(path))}?immutable=1", flags=flags)


def _uses_log(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(20)[18:19] == b"\2"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _restrict(db: apsw.Connection, path: Path) -> None:
    secure(db)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    for limit, value in _LIMITS.items():
        db.limit(limit, value)
    bound_work(db, _size(path))


def bound_work(db: apsw.Connection, size: int) -> None:
    """Interrupt any query that takes more steps than reading a database of this size can need."""
    allowed = _FREE_STEPS + _STEPS_PER_BYTE * size
    used = 0

    def count() -> bool:
        nonlocal used
        used += _STEPS
        return used > allowed

    def restart(*_: object) -> bool:
        nonlocal used
        used = 0
        return True

    db.set_progress_handler(count, _STEPS)
    db.set_exec_trace(restart)
