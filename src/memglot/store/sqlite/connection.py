"""Connection to a store file: opening, migrations, transactions, queries."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, TypeAlias, TypeVar
from urllib.parse import quote

import apsw
import msgspec

from memglot.database import bound_work, copy_database, open_input, secure
from memglot.display import quoted
from memglot.errors import (
    BadRecord,
    DamagedStore,
    LockedStore,
    NewerStore,
    NoStore,
    NotAStore,
    ReadOnlyStore,
    StoreError,
)
from memglot.files import create_database, create_folders
from memglot.settings import BUSY_SECONDS, WRITER_SECONDS
from memglot.store.sqlite.failures import FAILURES, translate
from memglot.store.sqlite.functions import register
from memglot.store.sqlite.log_mark import LogMark, lost_after, settle
from memglot.store.sqlite.migrations import MIGRATIONS
from memglot.store.sqlite.schema import APPLICATION_ID, SCHEMA, TABLES

T = TypeVar("T")
CACHE = -32768
"""Size of the page cache, in KiB, as SQLite's negative number."""
_TEXTS = ("chain_hash", "languages", "vector_model")
"""Names of the values in `state` that are texts."""
_RETRY_SECONDS = (0.001, 0.005)
"""Shortest and longest wait before a locked store is tried again."""
_LATE_RETRY_SECONDS = (0.0005, 0.001)
"""The same after a second of waiting."""
_CHECK_SECONDS = 0.05
_LONG_SECONDS = 0.02
"""Others wait for a transaction this long, and would hardly get a turn between two of them."""


_TABLE_NAMES = msgspec.json.encode(TABLES).decode()
_STRANGE_TABLES = """
SELECT name FROM sqlite_schema AS entry
WHERE type IN ('table', 'view') AND name COLLATE NOCASE IN (SELECT value FROM json_each(?))
AND (type <> 'table' OR rootpage = 0 OR EXISTS (SELECT 1 FROM pragma_table_xinfo(entry.name) WHERE hidden > 1))
"""
"""Tables that are views, virtual, or have computed columns: reading them would execute what they say."""
OnDamage: TypeAlias = Callable[[BadRecord, bool], None]
"""Called with each row that is skipped because it cannot be read, and whether it is a memory."""


class Connection:
    """An open database file. Opening it for writing applies the missing migrations."""

    def __init__(self, path: str, *, write: bool, as_input: bool = False) -> None:
        """Open a file. With `as_input` neither it nor its folder changes, and nothing in it is executed."""
        self.url = path
        self.is_current = False
        """Whether the file had the newest version when it was opened."""
        self.notes: list[str] = []
        self.on_damage: OnDamage | None = None
        """Without it, a row that cannot be read is an error."""
        self.max_row: int | None = None
        """Rows with more bytes than this are not read."""
        self.write = write
        self._files = ExitStack()
        self._mark: LogMark | None = None
        self._depth = 0
        self._held = 0.0
        """Seconds for which the last transaction kept others from writing."""
        self.db = self._open(path, as_input)
        try:
            self._prepare()
            if as_input and not self.is_current:
                self._use_upgraded_copy()
        except FAILURES as error:
            self.close()
            self.translate(error)
        except BaseException:
            self.close()
            raise

    def _open(self, path: str, as_input: bool) -> apsw.Connection:
        if path == ":memory:":
            return apsw.Connection(path)
        there = os.path.exists(path)
        if not there and not self.write:
            raise NoStore(path)
        if os.path.isdir(path):
            raise NotAStore(path, "it is a folder")
        try:
            if self.write:
                create_folders(Path(os.path.abspath(path)).parent)
                if not there:
                    create_database(path)
                return apsw.Connection(path)
            return self._files.enter_context(open_input(Path(path))) if as_input else open_reading(path)
        except (apsw.Error, OSError) as error:
            self.translate(error)

    def _use_upgraded_copy(self) -> None:
        """Read a store of an earlier version from a temporary copy of the newest version."""
        copy = Path(self._files.enter_context(TemporaryDirectory(prefix="memglot-"))) / "upgraded.db"
        copy_database(self.db, copy)
        self.db = apsw.Connection(str(copy))
        self._files.callback(self.db.close)
        self._set("journal_mode=OFF")
        self._set("synchronous=OFF")
        self._secure()
        bound_work(self.db, copy.stat().st_size)
        with self._transaction():
            self._migrate()

    def _secure(self) -> None:
        retry_when_locked(self.db)
        secure(self.db)
        register(self.db)

    def _prepare(self) -> None:
        self._secure()
        version = self._version()
        if version > len(MIGRATIONS):
            raise NewerStore(
                f"`{self.url}` is a store of version {version}, and this memglot reads versions up to "
                f"{len(MIGRATIONS)}",
                "`pip install --upgrade memglot`",
            )
        if version and (found := list(self.rows(_STRANGE_TABLES, (_TABLE_NAMES,)))):
            raise DamagedStore(self.url, f"{quoted(str(found[0][0]))} is not an ordinary table")
        self.is_current = version == len(MIGRATIONS)
        if not self.write:
            return
        if not version:
            # Set before there is a write-ahead log, so that the file itself shows from the start what it is.
            self._set(f"application_id={APPLICATION_ID}")
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "temp_store=FILE",
            f"cache_size={CACHE}",
        ):
            self._set(pragma)
        if not self.is_current:
            with self.writing():
                self._migrate()
        if self.url != ":memory:":
            self._mark = LogMark(self.db, self.url)

    def _set(self, pragma: str) -> None:
        """Set a pragma, with retries: SQLite rejects some at once while another process creates the store."""
        until = time.monotonic() + WRITER_SECONDS
        while True:
            try:
                # A pragma that returns a row stops a string of several statements, so each runs by itself.
                self.db.execute(f"PRAGMA {pragma}").fetchall()
                return
            except apsw.BusyError:
                if time.monotonic() >= until:
                    raise
                time.sleep(random.uniform(*_RETRY_SECONDS))

    def _version(self) -> int:
        # One statement, because another process may be creating the store right now.
        sql = (
            "SELECT (SELECT count(*) FROM sqlite_schema), application_id, user_version "
            "FROM pragma_application_id, pragma_user_version"
        )
        tables, application, version = next(self.rows(sql))
        if application != APPLICATION_ID and (version or tables):
            raise NotAStore(self.url, "it is a database of another program")
        if version == 0 and not self.write:
            raise NoStore(self.url)
        return int(version)

    def _migrate(self) -> None:
        # Another process may have been faster while this one waited for the lock.
        version = int(self.value("PRAGMA user_version"))
        if version < len(MIGRATIONS):
            for statements in MIGRATIONS[version:] if version else (SCHEMA,):
                self.db.execute(statements)
            self.db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def close(self) -> None:
        """Close the file."""
        if self._mark is not None:
            self._mark.close(self.db)
        self.db.close()
        self._files.close()

    def lost_after(self) -> int | None:
        """Return the number of the last operation if the store was copied without its write-ahead log."""
        return lost_after(self.db, self.url)

    # Transactions

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Open a write transaction; nested calls join it."""
        if not self.write:
            raise ReadOnlyStore(self.url)
        with self._transaction():
            yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._depth += 1
        try:
            if self._depth == 1:
                self._begin()
                self._held = -time.monotonic()
            yield
            if self._depth == 1:
                self.db.execute("COMMIT")
                self._held += time.monotonic()
        except BaseException as error:
            if self._depth == 1 and self.db.in_transaction:
                with suppress(apsw.CorruptError):
                    self.db.execute("ROLLBACK")
            if isinstance(error, FAILURES):
                self.translate(error)
            raise
        finally:
            self._depth -= 1

    def _begin(self) -> None:
        if self._mark is None:
            self.db.execute("BEGIN IMMEDIATE")
        else:
            self._mark.begin(self.db)

    def checkpoint(self) -> None:
        """Merge the write-ahead log into the file, as far as nobody reads an earlier state of it."""
        if self._mark is not None:
            self._mark.merge_next()
        with self.writing():
            pass

    def give_way(self) -> None:
        """After a long transaction, pause so that waiting writers, who may be slow to wake up, get a turn."""
        if not self.is_writing and self._held >= _LONG_SECONDS:
            time.sleep(max(2 * max(_RETRY_SECONDS), self._held / 4))

    @property
    def is_writing(self) -> bool:
        """Return True inside a write transaction."""
        return self._depth > 0

    @property
    def is_resting(self) -> bool:
        """Return True if no read or write is under way, not even an unfinished iteration."""
        return self.db.txn_state() == apsw.SQLITE_TXN_NONE

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read from one snapshot inside."""
        if self.db.in_transaction:
            yield
            return
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            # A statement that found damage ends the transaction, or makes its end fail again.
            if self.db.in_transaction:
                with suppress(apsw.CorruptError):
                    self.db.execute("COMMIT")

    # Queries

    def rows(self, sql: str, bindings: Any = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query."""
        try:
            yield from self.db.execute(sql, bindings)
        except FAILURES as error:
            self.translate(error)

    def read(self, convert: Callable[[tuple[Any, ...]], T], sql: str, bindings: Any = ()) -> Iterator[T]:
        """Yield what the rows of a query contain."""
        try:
            for row in self.db.execute(sql, bindings):
                yield convert(row)
        except FAILURES as error:
            self.translate(error)

    def readable(
        self, convert: Callable[[tuple[Any, ...]], T], sql: str, bindings: Any = (), *, is_memory: bool
    ) -> Iterator[T]:
        """Yield what the rows of a query contain; with `on_damage`, skip rows that cannot be read."""
        if self.on_damage is None:
            yield from self.read(convert, sql, bindings)
            return
        for row in self._rows_with_bytes(sql, bindings):
            try:
                value = convert(row)
            except FAILURES as error:
                self.on_damage(BadRecord(str(error)), is_memory)
                continue
            yield value

    def _rows_with_bytes(self, sql: str, bindings: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query. A text that is not valid UTF-8, which SQLite does not check, is bytes."""
        done = 0
        try:
            try:
                for row in self.db.execute(sql, bindings):
                    done += 1
                    yield row
            except UnicodeDecodeError:
                yield from self._rest_with_bytes(sql, bindings, done)
        except FAILURES as error:
            self.translate(error)

    def _rest_with_bytes(self, sql: str, bindings: Any, done: int) -> Iterator[tuple[Any, ...]]:
        names = [f"column{number}" for number in range(len(self.db.execute(sql, bindings).get_description()))]
        parts = [
            f"typeof({name}), CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
            for name in names
        ]
        # With `MATERIALIZED` the query runs as it is, and keeps its order.
        sql = f"WITH found ({', '.join(names)}) AS MATERIALIZED ({sql}) SELECT {', '.join(parts)} FROM found"
        for values in self.db.execute(f"{sql} LIMIT -1 OFFSET {done}", bindings):
            yield tuple(map(_text_or_bytes, values[::2], values[1::2]))

    def value(self, sql: str, bindings: Any = ()) -> Any:
        """Return the first column of the first row; `None` without rows."""
        for row in self.rows(sql, bindings):
            return row[0]
        return None

    def get_state(self, name: str) -> Any:
        """Return a value that the store keeps about itself, such as the number of records."""
        return self.get_states(name)[name]

    def get_states(self, *names: str) -> dict[str, Any]:
        """Return several of these values, in one statement because another process may change them at any moment."""
        sql = "SELECT name, value FROM state WHERE name IN (SELECT value FROM json_each(?))"
        found = dict(self.rows(sql, (msgspec.json.encode(names).decode(),)))
        for name in names:
            if not isinstance(found.get(name), str if name in _TEXTS else int):
                raise DamagedStore(self.url, f"its value `{name}` is missing or wrong")
        return found

    def set_state(self, **values: str | int) -> None:
        """Change values that the store keeps about itself."""
        rows = [(value, name) for name, value in values.items()]
        self.db.executemany("UPDATE state SET value = ? WHERE name = ?", rows)

    def add_to_state(self, name: str, change: int) -> None:
        """Add to a number that the store keeps about itself."""
        self.db.execute("UPDATE state SET value = value + ? WHERE name = ?", (change, name))

    def translate(self, error: Exception) -> NoReturn:
        """Raise the memglot error that corresponds to an SQLite error."""
        translate(error, self.url)


def _text_or_bytes(kind: str, value: Any) -> Any:
    try:
        return value.decode() if kind == "text" else value
    except UnicodeDecodeError:
        return value


def open_reading(path: str, *, damaged: bool = False) -> apsw.Connection:
    """Open a database file for reading only; with `damaged`, without the tables whose definition cannot be read."""
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        retry_when_locked(db)
        if damaged:
            db.execute("PRAGMA writable_schema = ON")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        return db
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # SQLite cannot create the files of the write-ahead log in a read-only folder. Nobody else can either,
        # so the file cannot change and may be read as it is.
        db.close()
        if _roll_back_stopped_change(path):
            return open_reading(path, damaged=damaged)
        if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
            raise StoreError(
                f"cannot read the write-ahead log of the store `{path}`: its folder is read-only",
                "copy the store and its `-wal` file to a folder where you can write",
            ) from None
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return apsw.Connection(f"file:{quote(os.path.abspath(path))}?immutable=1", flags=flags)


def _roll_back_stopped_change(path: str) -> bool:
    """Let SQLite undo a change without a write-ahead log whose process was killed; return True if there was one.

    Only a connection that writes can do that, and what is in the file until then is half a change.
    """
    journal = path + "-journal"
    if not os.path.exists(journal):
        return False
    try:
        with apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE) as db:
            retry_when_locked(db)
            db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        db.close()
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        raise StoreError(
            f"cannot undo an unfinished change of the store `{path}`: its folder is read-only",
            "copy the store and its `-journal` file to a folder where you can write",
        ) from None
    return not os.path.exists(journal)


def retry_when_locked(db: apsw.Connection) -> None:
    """Retry for up to `WRITER_SECONDS` when the store is locked.

    SQLite's own waits grow to a tenth of a second, so that those who have waited long rarely find the lock free, and
    newcomers do. Here those who have waited for a second try more often, so that nobody waits for ever.
    """
    began = 0.0

    def wait(tries: int) -> bool:
        nonlocal began
        if not tries:
            began = time.monotonic()
        waited = time.monotonic() - began
        if waited >= WRITER_SECONDS:
            return False
        time.sleep(random.uniform(*(_RETRY_SECONDS if waited < 1 else _LATE_RETRY_SECONDS)))
        return True

    db.set_busy_handler(wait)


def merge_log(path: str) -> None:
    """Merge the write-ahead log into the file, which only works while nobody else has it open.

    Servers close an idle store, so wait for them.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db = apsw.Connection(path)
            try:
                with suppress(apsw.SQLError):  # Not a store, or one of an early version.
                    settle(db, os.path.realpath(path))
                db.execute("PRAGMA journal_mode = DELETE").fetchall()
            finally:
                db.close()
            return
        except apsw.BusyError as error:
            if time.monotonic() >= until:
                raise LockedStore(path, BUSY_SECONDS, alone=True) from error
            time.sleep(_CHECK_SECONDS)
        except apsw.Error as error:
            translate(error, path)
