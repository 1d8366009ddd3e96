"""Mark the file of a store while its write-ahead log has newer writes, so that a copy without the log is noticed.

The latest transactions of a store in use are only in the log, and a copy of the file alone is a valid, older store.
So before transactions go to the log, the mark is written and checkpointed into the file; the next transaction removes
it, which is in the log only. The file with its log has no mark, and the file alone has one. When the last connection
closes, SQLite merges the log, and thereby the removal, into the file.

A mark in the file and its log together is what a process leaves that is killed between the two transactions; there is
a log then. A copy without a log is recorded as such, until somebody accepts it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import apsw

_NAME, _MARKED, _REMOVED = "log", "newer", "empty"
"""Both values have one length, so that a transaction without changes leaves the same bytes in the file."""
_LOST = "lost after "
"""Followed by the number of the last row of the audit chain."""
_LARGE = 10_000
"""Number of pages from which the log is merged into the file."""
_TRIES = 20
_SELECT = f"SELECT value FROM state WHERE name = '{_NAME}' AND value <> '{_REMOVED}'"
_REMOVE = f"UPDATE state SET value = '{_REMOVED}' WHERE name = '{_NAME}' AND value = '{_MARKED}'"
_LOSE = (
    f"UPDATE state SET value = '{_LOST}' || (SELECT value FROM state WHERE name = 'chain_seq') WHERE name = '{_NAME}'"
)
_SET = (
    f"INSERT INTO state VALUES ('{_NAME}', '{_MARKED}') "
    f"ON CONFLICT DO UPDATE SET value = '{_MARKED}' WHERE value = '{_REMOVED}'"
)


class LogMark:
    """The mark in the file of a store that this process has open for writing."""

    def __init__(self, db: apsw.Connection, path: str) -> None:
        self._path = os.path.realpath(path)
        self._is_known = self._is_set = False
        self._pages = 0
        self._settle(db)
        # The mark must not refer to the connection: the cycle would keep the file open after the store is gone.
        db.set_wal_hook(self._after_commit)

    def _after_commit(self, _db: apsw.Connection, _name: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK

    def merge_next(self) -> None:
        """Let the next transaction begin with merging the log into the file."""
        self._pages = max(self._pages, _LARGE)

    def begin(self, db: apsw.Connection) -> None:
        """Begin a write transaction; first set the mark if the file has none, and merge a large log into the file."""
        if not self._is_known:
            self._is_set, self._is_known = self._is_in_file(), True
        if self._is_set and self._pages < _LARGE:
            db.execute("BEGIN IMMEDIATE")
        else:
            self._set_and_begin(db)
        db.execute(_REMOVE)

    def _set_and_begin(self, db: apsw.Connection) -> None:
        for _ in range(_TRIES):
            db.execute(_SET)
            if self._pages >= _LARGE:
                # SQLite fails at once if another process is merging the log, which is just as well.
                with suppress(apsw.BusyError):
                    db.wal_checkpoint()
            db.execute("BEGIN IMMEDIATE")
            if _value(db) is None:
                # Another process has just removed the mark, and nothing but the mark may be checkpointed last.
                db.execute("ROLLBACK")
                continue
            # Nobody can write now, so what is checkpointed is the mark.
            self._is_set = self._checkpoint()
            break
        else:
            db.execute("BEGIN IMMEDIATE")
            self._is_set = False
        self._pages = 0

    def _checkpoint(self) -> bool:
        """Merge the log into the file; return False if a long read prevents it, until the next transaction."""
        # A connection cannot checkpoint in a transaction of its own.
        other = apsw.Connection(self._path)
        try:
            # Only a connection that has read something knows that there is a log.
            _value(other)
            pages, merged = other.wal_checkpoint()
            return bool(pages == merged)
        except apsw.BusyError:
            return False
        finally:
            other.close()

    def _is_in_file(self) -> bool:
        """Return True if the file alone, without its log, has the mark."""
        try:
            file = apsw.Connection(
                f"file:{quote(self._path)}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            )
            try:
                return _value(file) is not None
            finally:
                file.close()
        except apsw.Error:
            # Another process may be changing the file right now.
            return False

    def close(self, db: apsw.Connection) -> None:
        """Remove a mark that no transaction removed, because it failed or its process was killed."""
        with suppress(apsw.Error):
            self._settle(db)

    def _settle(self, db: apsw.Connection) -> None:
        # On a full or failing disk the mark may stay. Without its log the file would then look like a copy, so SQLite
        # must not remove the log when the last connection closes.
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        settle(db, self._path)
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)


def settle(db: apsw.Connection, path: str) -> None:
    """Remove the mark of a killed process from a store that is open for writing; record the loss if there is no log."""
    if _value(db) == _MARKED:
        db.execute("BEGIN IMMEDIATE")
        # Whoever set the mark has written the log, and nobody removes it while the store is open.
        db.execute(_REMOVE if _has_log(path) else _LOSE)
        db.execute("COMMIT")


def lost_after(db: apsw.Connection, path: str) -> int | None:
    """Return the number of the last operation in a store that was copied without its log; None for other stores."""
    value = _value(db)
    if value == _MARKED and not _has_log(os.path.realpath(path)):
        value = db.execute(f"SELECT '{_LOST}' || value FROM state WHERE name = 'chain_seq'").get
    if not isinstance(value, str) or not value.startswith(_LOST):
        return None
    number = value.removeprefix(_LOST)
    return int(number) if number.isdecimal() else 0


def accept_loss(db: apsw.Connection) -> None:
    """Let a copy without its log count as complete."""
    db.execute(f"DELETE FROM state WHERE name = '{_NAME}'")


def remove_mark(path: str, *, lost: bool) -> None:
    """Give a complete copy of a store no mark, but the record that something was `lost` before."""
    db = apsw.Connection(path)
    try:
        if _value(db) == _MARKED:
            db.execute(_LOSE if lost else _REMOVE)
    finally:
        db.close()


def _has_log(path: str) -> bool:
    try:
        return os.path.getsize(path + "-wal") > 0
    except FileNotFoundError:
        return False


def _value(db: apsw.Connection) -> Any:
    return db.execute(_SELECT).get
