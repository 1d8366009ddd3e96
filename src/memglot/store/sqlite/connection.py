"""Opens a SQLite store, brings it up to date, and keeps its transactions."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, NoReturn
from urllib.parse import quote

import apsw

from memglot.errors import LockedStore, NewerStore, NoStore, NotAStore, ReadOnlyStore, StoreError
from memglot.settings import BUSY_SECONDS
from memglot.store.sqlite.failures import translate
from memglot.store.sqlite.functions import register
from memglot.store.sqlite.schema import APPLICATION_ID, MIGRATIONS

CACHE = -32768
_NAP = (0.001, 0.005)
_LOOK = 0.05
_LONG = 0.02
"""Others wait for a transaction of so many seconds, and would hardly get in between two."""


class Connection:
    """An open database, and how errors of SQLite become ours."""

    def __init__(self, path: str, *, write: bool) -> None:
        self.url = path
        self.notes: list[str] = []
        self.write = write
        self._depth = 0
        self._held = 0.0
        """How long the last transaction kept others from writing."""
        self.db = self._open(path)
        try:
            self._prepare()
        except apsw.Error as error:
            self.db.close()
            self._translate(error)
        except StoreError:
            self.db.close()
            raise

    def _open(self, path: str) -> apsw.Connection:
        if path == ":memory:":
            return apsw.Connection(path)
        there = os.path.exists(path)
        if not there and not self.write:
            raise NoStore(path)
        if os.path.isdir(path):
            raise NotAStore(path, "it is a folder")
        try:
            if self.write:
                os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
                return apsw.Connection(path)
            return self._open_reading(path)
        except (apsw.Error, OSError) as error:
            self._translate(error)

    def _open_reading(self, path: str) -> apsw.Connection:
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            wait_in_turn(db)
            db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            return db
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # In a folder that cannot be written the files of the write-ahead log cannot be made; nobody else can
            # make them either, so the file may be read as it stands.
            db.close()
            if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
                raise StoreError(
                    f"the store `{path}` has a write-ahead log that cannot be read in a folder that is read-only",
                    "copy the store and the files beside it to a folder that can be written",
                ) from None
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            return apsw.Connection(f"file:{quote(os.path.abspath(path))}?immutable=1", flags=flags)

    def _prepare(self) -> None:
        wait_in_turn(self.db)
        self._register()
        version = self._version()
        if version > len(MIGRATIONS):
            raise NewerStore(self.url, version, len(MIGRATIONS))
        if not self.write:
            self._prepare_reading(version)
            return
        if not version:
            # Before there is a log, so that the file itself tells from its first moment on what it is.
            self._set(f"application_id={APPLICATION_ID}")
        for pragma in (
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "wal_autocheckpoint=10000",
            "temp_store=FILE",
            f"cache_size={CACHE}",
        ):
            self._set(pragma)
        if version < len(MIGRATIONS):
            self._migrate()
        self.complete()

    def _set(self, pragma: str) -> None:
        """Set a pragma. Where several make a store at once, SQLite refuses some of these without waiting."""
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                # One that returns a row stops a string of several, so each is fetched by itself.
                self.db.execute(f"PRAGMA {pragma}").fetchall()
                return
            except apsw.BusyError:
                if time.monotonic() >= until:
                    raise
                time.sleep(random.uniform(*_NAP))

    def _prepare_reading(self, version: int) -> None:
        # A new version fills its index after the migration; whoever comes next goes on where one was killed.
        if version < len(MIGRATIONS) or not self._value("SELECT value FROM keeping WHERE name = 'upgraded'"):
            with suppress(LockedStore, ReadOnlyStore) if version == len(MIGRATIONS) else nullcontext():
                writing = type(self)(self.url, write=True)
                self.notes += writing.notes
                writing.close()
        if not self.is_complete():
            self.notes.append(
                "an import was cut off before its indexes were built, or is still under way; what they lack is "
                "searched "
                "without them until the next writing command completes them (`memglot doctor --fix` does only that)"
            )

    def _register(self) -> None:
        """Make the functions that queries use known."""
        register(self.db)

    def _version(self) -> int:
        # At one moment, for another process may be making it just now.
        sql = (
            "SELECT (SELECT count(*) FROM sqlite_schema), application_id, user_version "
            "FROM pragma_application_id, pragma_user_version"
        )
        tables, application, version = next(self._rows(sql))
        if application != APPLICATION_ID and (version or tables):
            raise NotAStore(self.url, "it is another program's database")
        if version == 0 and not self.write:
            raise NoStore(self.url)
        return int(version)

    def _migrate(self) -> None:
        with self.writing():
            # Another process may have been faster while this one waited for the lock.
            for number in range(int(self._value("PRAGMA user_version")) + 1, len(MIGRATIONS) + 1):
                self.db.execute(MIGRATIONS[number - 1])
                self.db.execute(f"PRAGMA user_version = {number}")

    def close(self) -> None:
        """Let go of the file."""
        self.db.close()

    # Transactions

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction; nested ones join it."""
        if not self.write:
            raise ReadOnlyStore(self.url)
        self._depth += 1
        try:
            if self._depth == 1:
                self.db.execute("BEGIN IMMEDIATE")
                self._held = -time.monotonic()
            yield
            if self._depth == 1:
                self.db.execute("COMMIT")
                self._held += time.monotonic()
        except BaseException as error:
            if self._depth == 1 and self.db.in_transaction:
                self.db.execute("ROLLBACK")
            if isinstance(error, apsw.Error):
                self._translate(error)
            raise
        finally:
            self._depth -= 1

    def give_way(self) -> None:
        """After a long transaction, before another: pause for longer than others do before they try again."""
        if not self.is_writing and self._held >= _LONG:
            time.sleep(2 * max(_NAP))

    @property
    def is_writing(self) -> bool:
        """Tell whether a transaction is open, which may yet be taken back."""
        return self._depth > 0

    @property
    def is_resting(self) -> bool:
        """Tell whether nothing is being read or written, not even by something that was left in the middle."""
        return self.db.txn_state() == apsw.SQLITE_TXN_NONE

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let all that is read inside be of one moment, whatever others write meanwhile."""
        if self.db.in_transaction:
            yield
            return
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            self.db.execute("COMMIT")

    def complete(self) -> None:
        """Bring the indexes up to date; the store that has them says how."""

    def is_complete(self) -> bool:
        """Tell whether every index is there and covers every record."""
        return True

    # Queries

    def _rows(self, sql: str, bindings: Any = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self.db.execute(sql, bindings)
        except apsw.Error as error:
            self._translate(error)

    def _value(self, sql: str, bindings: Any = ()) -> Any:
        for row in self._rows(sql, bindings):
            return row[0]
        return None

    def _translate(self, error: Exception) -> NoReturn:
        translate(error, self.url)


def wait_in_turn(db: apsw.Connection) -> None:
    """Let a connection that finds the store locked try again and again, for `BUSY_SECONDS` in all.

    SQLite's own waits grow to a tenth of a second, so that whoever has waited long seldom meets the moment in which
    the lock is free, and newcomers do. Short waits of random length give all the same chance.
    """
    began = 0.0

    def wait(tries: int) -> bool:
        nonlocal began
        if not tries:
            began = time.monotonic()
        if time.monotonic() - began >= BUSY_SECONDS:
            return False
        time.sleep(random.uniform(*_NAP))
        return True

    db.set_busy_handler(wait)


def take_in_log(path: str) -> None:
    """Take the write-ahead log into the file, which only works while nobody else has it open.

    Servers let go of a store that they are not asked of, so it waits for them.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db = apsw.Connection(path)
            try:
                db.execute("PRAGMA journal_mode = DELETE").fetchall()
            finally:
                db.close()
            return
        except apsw.BusyError as error:
            if time.monotonic() >= until:
                raise LockedStore(path, BUSY_SECONDS, alone=True) from error
            time.sleep(_LOOK)
        except apsw.Error as error:
            translate(error, path)
