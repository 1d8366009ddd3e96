"""Opens a SQLite store, brings it up to date, and keeps its transactions and late indexes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from urllib.parse import quote

import apsw

from memglot.errors import (
    DamagedStore,
    FullStore,
    LockedStore,
    NewerStore,
    NoStore,
    NotAStore,
    ReadOnlyStore,
    StoreError,
    log_out_of_reach,
    store_closed,
)
from memglot.notes import note_incomplete
from memglot.settings import BUSY_SECONDS
from memglot.store.sqlite.functions import register
from memglot.store.sqlite.schema import APPLICATION_ID, LATE_INDEXES, MIGRATIONS

_TEXT_CHUNK = 200_000
_LARGE = 20_000
_CACHE = -32768
_FILL = """
INSERT INTO record_text (rowid, content, title, tags, tree)
SELECT seq, content, title, tags, tree FROM records WHERE seq > ? AND seq <= ?
"""


class Connection:
    """An open database, and how errors of SQLite become ours."""

    def __init__(self, path: str, *, write: bool) -> None:
        self.url = path
        self.notes: list[str] = []
        self.write = write
        self._depth = 0
        self._loading = False
        self._loaded = 0
        self._kept_index = ""
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
            db.set_busy_timeout(int(BUSY_SECONDS * 1000))
            db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            return db
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # In a folder that cannot be written the files of the write-ahead log cannot be made; nobody else can
            # make them either, so the file may be read as it stands.
            db.close()
            if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
                raise log_out_of_reach(path) from None
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            return apsw.Connection(f"file:{quote(os.path.abspath(path))}?immutable=1", flags=flags)

    def _prepare(self) -> None:
        self.db.set_busy_timeout(int(BUSY_SECONDS * 1000))
        register(self.db)
        version = self._version()
        if version > len(MIGRATIONS):
            raise NewerStore(self.url, version, len(MIGRATIONS))
        if not self.write and version == len(MIGRATIONS):
            if not self.is_complete():
                self.notes.append(note_incomplete())
            return
        if not self.write:
            Connection(self.url, write=True).close()
            return
        if not version:
            # Before there is a log, so that the file itself tells from its first moment on what it is.
            self.db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for pragma in (
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "wal_autocheckpoint=10000",
            "temp_store=FILE",
            f"cache_size={_CACHE}",
        ):
            # A pragma that returns a row stops a string of several, so each is fetched by itself.
            self.db.execute(f"PRAGMA {pragma}").fetchall()
        if version < len(MIGRATIONS):
            self._migrate()
        self.complete()

    def _version(self) -> int:
        version = int(self._value("PRAGMA user_version"))
        application = int(self._value("PRAGMA application_id"))
        if application != APPLICATION_ID and (version or self._value("SELECT count(*) FROM sqlite_schema")):
            raise NotAStore(self.url, "it is another program's database")
        if version == 0 and not self.write:
            raise NoStore(self.url)
        return version

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
            yield
            if self._depth == 1:
                self.db.execute("COMMIT")
        except BaseException as error:
            if self._depth == 1 and self.db.in_transaction:
                self.db.execute("ROLLBACK")
            if isinstance(error, apsw.Error):
                self._translate(error)
            raise
        finally:
            self._depth -= 1

    @contextmanager
    def loading(self, *, by_content: bool) -> Iterator[None]:
        """Let the late indexes and the full text lag behind inside; a cut-off load is completed by the next open."""
        self._loading = True
        self._loaded = 0
        self._kept_index = "records_content" if by_content else ""
        try:
            yield
        except KeyboardInterrupt:
            # Whoever stops a load does not want to wait; the next writing open completes it.
            raise
        except Exception:
            self._loading = False
            self.complete()
            raise
        finally:
            self._loading = False
        self.complete()

    def _lighten(self, coming: int) -> None:
        """Drop the late indexes once a load is large beside the store.

        Random keys make every batch touch nearly every page of an index: beyond a tenth of the store, building it
        anew at the end costs less.
        """
        before, self._loaded = self._loaded, self._loaded + coming
        there = self._value("SELECT coalesce(max(seq), 0) FROM records")
        if before == 0 and there == 0 or before <= max(_LARGE, there // 10) < self._loaded:
            for name in LATE_INDEXES:
                if name != self._kept_index:
                    self.db.execute(f"DROP INDEX IF EXISTS {name}")

    def complete(self) -> None:
        """Create the late indexes that are missing, and index the text that is not indexed yet."""
        missing = self._missing_indexes()
        if missing:
            # The cache also bounds what building an index holds in memory: a small one keeps that flat.
            self.db.execute("PRAGMA cache_size = -8192")
        for name in missing:
            with self.writing():
                if name in self._missing_indexes():
                    self.db.execute(LATE_INDEXES[name])
        if missing:
            self.db.execute(f"PRAGMA cache_size = {_CACHE}")
        while self._value("SELECT coalesce(max(seq), 0) FROM records") > self.indexed_to():
            with self.writing():
                self.index_text(_TEXT_CHUNK)

    def index_text(self, limit: int) -> None:
        """Index the text of up to so many new records."""
        start = self.indexed_to()
        newest = self._value("SELECT coalesce(max(seq), 0) FROM records")
        stop = min(newest, start + limit)
        if stop > start:
            many = stop - start > 1_000
            if many:
                self.db.execute("INSERT INTO record_text (record_text, rank) VALUES ('automerge', 0)")
            self.db.execute(_FILL, (start, stop))
            if many:
                self.db.execute("INSERT INTO record_text (record_text, rank) VALUES ('automerge', 4)")
            self.db.execute("UPDATE keeping SET value = ? WHERE name = 'indexed_to'", (stop,))

    def is_complete(self) -> bool:
        """Tell whether every index is there and covers every record."""
        newest = self._value("SELECT coalesce(max(seq), 0) FROM records")
        return not self._missing_indexes() and bool(newest <= self.indexed_to())

    def indexed_to(self) -> int:
        """The last record whose text is indexed."""
        return int(self._value("SELECT value FROM keeping WHERE name = 'indexed_to'"))

    def _missing_indexes(self) -> list[str]:
        found = {name for (name,) in self._rows("SELECT name FROM sqlite_schema WHERE type = 'index'")}
        return [name for name in LATE_INDEXES if name not in found]

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


def take_in_log(path: str) -> None:
    """Take the write-ahead log into the file, which only works while nobody else has it open."""
    try:
        db = apsw.Connection(path)
        try:
            db.set_busy_timeout(0)
            db.execute("PRAGMA journal_mode = DELETE").fetchall()
        finally:
            db.close()
    except apsw.Error as error:
        translate(error, path, 0.0)


def translate(error: Exception, url: str, waited: float = BUSY_SECONDS) -> NoReturn:
    """Raise our error for one of SQLite's."""
    if isinstance(error, apsw.ConnectionClosedError):
        raise store_closed(url) from error
    if isinstance(error, apsw.BusyError):
        raise LockedStore(url, waited) from error
    if isinstance(error, apsw.FullError):
        raise FullStore(url) from error
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, PermissionError)):
        raise ReadOnlyStore(url) from error
    if isinstance(error, apsw.NotADBError):
        raise NotAStore(url, "it is not a database") from error
    if isinstance(error, (apsw.CorruptError, apsw.FormatError)):
        raise DamagedStore(url, str(error)) from error
    if isinstance(error, (apsw.CantOpenError, apsw.IOError, OSError)):
        raise NotAStore(url, "it cannot be opened") from error
    raise error
