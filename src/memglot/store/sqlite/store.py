"""The SQLite store: one file, no server."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import apsw

from memglot.errors import DamagedStore, LockedStore, NotAStore, ReadOnlyStore, TargetExists
from memglot.store.contract import Compaction
from memglot.store.own_files import keep_private
from memglot.store.sqlite.compact import compact
from memglot.store.sqlite.connection import Connection
from memglot.store.sqlite.failures import FAILURES
from memglot.store.sqlite.history import SqliteHistory
from memglot.store.sqlite.log_mark import accept_loss, remove_mark
from memglot.store.sqlite.records import SqliteRecords
from memglot.store.sqlite.search import SqliteSearch
from memglot.store.sqlite.text_index import NOTE_DAMAGED_INDEX, TextIndex
from memglot.store.sqlite.things import SqliteThings
from memglot.store.sqlite.vectors import SqliteVectors

# Settings share a table with the values that the store keeps about itself, whose names have no colon.
_SETTING = "setting:"
_ABOUT_INDEX = re.compile(r"^(row \d+ missing from|wrong # of entries in|non-unique entry in) index ")
"""What SQLite says about an index that can be rebuilt."""


class SqliteStore:
    """A store in one SQLite file, or in memory; see `memglot.store.contract.Store`.

    No part refers back to the store: a reference cycle would keep the file open after the store is gone.
    """

    def __init__(self, path: str, *, write: bool, as_input: bool = False) -> None:
        """Open a file; with `as_input` neither it nor its folder changes, and nothing in it is executed."""
        self.url, self.hidden = path, None
        self._exposed = None if as_input or path == ":memory:" else keep_private(path)
        self.connection = _connect(path, write, as_input)
        self.notes = self.connection.notes
        self.notes += [self._exposed] if self._exposed else []
        self.text = TextIndex(self.connection)
        self.search = SqliteSearch(self.connection, self.text)
        self.vectors = SqliteVectors(self.connection, self.search)
        self.records = SqliteRecords(self.connection, self.text, self.vectors)
        self.things = SqliteThings(self.connection)
        self.history = SqliteHistory(self.connection)
        try:
            if write:
                self.text.complete()
                self.history.complete()
            elif not as_input:
                self._note_indexes()
            last = self.connection.lost_after()
            if last is not None:
                self.notes.append(f"operations after number {last} may be missing; run `memglot doctor` for details")
        except FAILURES as error:
            self.close()
            self.connection.translate(error)
        except BaseException:
            self.close()
            raise

    def _note_indexes(self) -> None:
        if not self.text.is_complete():
            self.notes.append(
                "the indexes are incomplete, because an import was interrupted or is still running; until a command "
                "that writes completes them, search is slower (`memglot doctor --fix` completes them now)"
            )

    def close(self) -> None:
        """Close the store."""
        self.connection.close()

    # Transactions

    @property
    def is_writable(self) -> bool:
        """Return True if the store was opened for writing."""
        return self.connection.write

    @property
    def is_writing(self) -> bool:
        """Return True inside a write transaction."""
        return self.connection.is_writing

    @property
    def is_resting(self) -> bool:
        """Return True if no read or write is under way."""
        return self.connection.is_resting

    def writing(self) -> AbstractContextManager[None]:
        """Open a write transaction; nested calls join it."""
        return self.connection.writing()

    def reading(self) -> AbstractContextManager[None]:
        """Read from one snapshot inside."""
        return self.search.reading()

    def give_way(self) -> None:
        """Pause after a long transaction so that waiting writers get a turn."""
        self.connection.give_way()

    def loading(self, *, by_content: bool) -> AbstractContextManager[None]:
        """Let indexes fall behind during a bulk load."""
        return self.text.loading(by_content=by_content)

    # Settings

    def settings(self) -> dict[str, str]:
        """Return all named settings of this store."""
        start = len(_SETTING)
        sql = "SELECT name, value FROM state WHERE name >= ? AND name < ?"
        rows = self.connection.rows(sql, (_SETTING, _SETTING[:-1] + ";"))
        return {name[start:]: value for name, value in rows}

    def put_setting(self, name: str, value: str | None) -> None:
        """Set a named setting; `None` removes it."""
        if value is None:
            self.connection.db.execute("DELETE FROM state WHERE name = ?", (_SETTING + name,))
        else:
            self.connection.db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (_SETTING + name, value))

    # The complete file

    def verify(self, progress: Callable[[int], None] | None = None) -> Iterator[str]:
        """Yield every problem in one snapshot; nothing for an intact store.

        Indexes may be incomplete: an import that is running or was killed leaves them to the next command that writes.
        """
        with self.reading():
            found = self._damage()
            yield from (f"the file is damaged: {text}" for text in found if not _is_about_text_index(text))
            yield from self._lost_writes()
            for part in (self.records, self.things, self.history):
                yield from _readable(part.problems())
            if any(map(_is_about_text_index, found)) or not self.text.is_intact():
                yield NOTE_DAMAGED_INDEX
            yield from _readable(self.vectors.problems())

    def _lost_writes(self) -> Iterator[str]:
        last = self.connection.lost_after()
        if last is not None:
            yield (
                f"operations after number {last} may be missing: the store was copied while it was in use, without its "
                "`-wal` file; copy stores with `memglot backup`, or accept the loss with `memglot doctor --fix`"
            )

    def _damage(self) -> list[str]:
        """Return the problems that SQLite reports, also those of the text index."""
        try:
            return self._check("20")
        except apsw.SQLError:
            # A text index that cannot even be opened prevents a check of the complete file.
            sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'record_text*'"
            return [text for (table,) in list(self.connection.rows(sql)) for text in self._check(f"'{table}'")]
        except apsw.CorruptError as error:
            return [str(error)]
        except apsw.Error as error:
            self.connection.translate(error)

    def _check(self, what: str) -> list[str]:
        found = [text for (text,) in self.connection.db.execute(f"PRAGMA integrity_check({what})")]
        return [text for text in found if text != "ok"]

    def repair(self) -> None:
        """Rebuild every index from the records. Raise `DamagedStore` if more than indexes is damaged."""
        # Writing to a file whose pages are damaged could overwrite what is still readable.
        for text in self._damage():
            if not _is_about_text_index(text) and _ABOUT_INDEX.search(text) is None:
                raise DamagedStore(self.url, f"rebuilding its indexes is not enough: {text}")
        for _ in self.records.in_order_of_arrival():
            pass
        self.text.rebuild()
        with self.writing():
            self.connection.db.execute("REINDEX")
            self.vectors.repair()
            accept_loss(self.connection.db)
        self.search.trust_index()

    def compact(self) -> Compaction:
        """Give the space of what was deleted back to the file system."""
        return compact(self.connection)

    def copy_to(self, path: str) -> None:
        """Write a clean copy of the complete store to a new file."""
        if Path(path).exists():
            raise TargetExists(path)
        for _ in self.connection.rows("VACUUM INTO ?", (path,)):
            pass
        try:
            remove_mark(path, lost=self.connection.lost_after() is not None)
        except apsw.Error as error:
            self.connection.translate(error)


def _connect(path: str, write: bool, as_input: bool) -> Connection:
    """Open a file. One of an earlier version is upgraded, unless it is only read and nobody can write there."""
    connection = Connection(path, write=write, as_input=as_input)
    is_current = connection.is_current
    if write or as_input:
        return connection
    try:
        if is_current and not _is_unfinished(connection):
            return connection
    except DamagedStore:
        connection.close()
        raise
    connection.close()
    notes: list[str] = []
    try:
        upgraded = SqliteStore(path, write=True)
        notes = [note for note in upgraded.notes if note != upgraded._exposed]
        upgraded.close()
    except (LockedStore, ReadOnlyStore, NotAStore):
        as_input = not is_current
    connection = Connection(path, write=False, as_input=as_input)
    connection.notes += notes
    return connection


def _is_unfinished(connection: Connection) -> bool:
    """Return True if a migration left indexes to be filled afterwards; if that was killed, the next open goes on."""
    return not connection.get_state("upgraded") or bool(connection.get_state("undigested"))


def _readable(problems: Iterator[str]) -> Iterator[str]:
    """Yield problems, and as the last one what cannot be read."""
    try:
        yield from problems
    except DamagedStore as error:
        yield error.reason


def _is_about_text_index(damage: str) -> bool:
    """Return True if SQLite reports damage to the text index, which can be rebuilt."""
    return "fts5" in damage.lower()
