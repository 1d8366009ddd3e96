"""Read what can be read of a damaged store file, row by row, without changing the file."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from memglot.errors import DamagedStore, NoStore
from memglot.files import SQLITE_SUFFIXES
from memglot.store.sqlite.connection import open_reading

UNREADABLE = (apsw.Error, UnicodeDecodeError, MemoryError)
"""What SQLite raises for damaged pages, rows and texts; a wrong length looks like too little memory."""
_HEADER = 100
_PAGE = 4096
_FORMAT = b"\x10\x00\x01\x01\x00\x40\x20\x20"
"""Page size, format and payload fractions in the header of every store."""
_PROBES = 1_000_000
"""Maximum number of lookups that search for the next readable row of one table."""
_EARLIER_NAMES = {
    "state": "keeping",
    "other_fields": "rest",
    "second_key": "other",
    "action": "deed",
    "previous_batch": "origin",
}
"""Names of tables and columns in earlier versions of the store."""


class DamagedFile:
    """A store file whose readable rows are wanted. All tables are read from one snapshot."""

    def __init__(self, path: str) -> None:
        if not Path(path).exists():
            raise NoStore(path)
        self.incomplete: set[str] = set()
        """Tables without numbers that could not be read completely."""
        self._highest: dict[str, int] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        try:
            self._db = _open(path)
        except apsw.Error:
            self._folder = tempfile.TemporaryDirectory(prefix="memglot-", ignore_cleanup_errors=True)
            try:
                self._db = _open(str(_with_new_header(Path(path), Path(self._folder.name))))
            except (apsw.Error, OSError) as error:
                self._folder.cleanup()
                raise DamagedStore(path, f"nothing in it can be read: {error}") from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()
        if self._folder is not None:
            self._folder.cleanup()

    def rows(self, table: str, columns: Sequence[str], key: str = "rowid") -> Iterator[tuple[int, list[Any] | None]]:
        """Yield the number and the values of each row, in order; `None` for values that cannot be read.

        Rows on damaged pages are skipped. A row may be repeated if pages refer to each other in a wrong way.
        """
        found = self._columns_of(table, columns)
        if found is None:
            return
        table, names = found
        sql = f"SELECT {key}, {', '.join(names)} FROM {table} NOT INDEXED WHERE {key} > ? ORDER BY {key}"
        after = -(2**63)
        while True:
            try:
                for number, *values in self._db.execute(sql, (after,)):
                    after = max(after, number)
                    yield number, values
                return
            except UNREADABLE:
                following = self._next(table, key, after)
            if following is None:
                return
            after = following
            yield after, self._row(table, key, names, after)

    def _columns_of(self, table: str, columns: Sequence[str]) -> tuple[str, list[str]] | None:
        """Return the names of a table and its columns in this file, which may be of an earlier version."""
        for name in (table, _EARLIER_NAMES.get(table, table)):
            try:
                there = {column for (column,) in self._db.execute("SELECT name FROM pragma_table_info(?)", (name,))}
            except UNREADABLE:
                continue
            if there:
                earlier = [column if column in there else _EARLIER_NAMES.get(column, column) for column in columns]
                missing = {"format": "''"}
                return name, [column if column in there else missing.get(column, "NULL") for column in earlier]
        return None

    def _row(self, table: str, key: str, columns: Sequence[str], number: int) -> list[Any] | None:
        """Return one row, with U+FFFD for bytes of a text that are not valid UTF-8."""
        values = ", ".join(f"iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name})" for name in columns)
        types = ", ".join(f"typeof({name})" for name in columns)
        sql = f"SELECT {values}, {types} FROM {table} NOT INDEXED WHERE {key} = ?"
        try:
            for row in self._db.execute(sql, (number,)):
                half = len(columns)
                return [
                    value.decode("utf-8", "replace") if type == "text" else value
                    for value, type in zip(row[:half], row[half:], strict=True)
                ]
        except UNREADABLE:
            pass
        return None

    def _next(self, table: str, key: str, after: int) -> int | None:
        """Return the number of the next row after one that can be found; `None` if there is none."""
        sql = f"SELECT {key} FROM {table} NOT INDEXED WHERE {key} > ? AND {key} <= ? ORDER BY {key} LIMIT 1"
        probes = 0

        def first(low: int, high: int) -> int | None:
            nonlocal probes
            probes += 1
            if probes > _PROBES:
                return None
            try:
                return next((number for (number,) in self._db.execute(sql, (low, high))), None)
            except UNREADABLE:
                if high - low <= 1:
                    return None
            middle = (low + high) // 2
            found = first(low, middle)
            return found if found is not None else first(middle, high)

        return first(max(after, -1), max(self._last(table, key), after + 1))

    def _last(self, table: str, key: str) -> int:
        """Return the highest number of a row in a table or one of its indexes, as far as they can be read."""
        if table not in self._highest:
            sources = ["NOT INDEXED", *(f"INDEXED BY {index}" for index in self._indexes(table))]
            found = [self._scan(f"SELECT max({key}) FROM {table} {source}") for source in sources]
            self._highest[table] = max(
                (number for rows in found for (number,) in rows if number is not None), default=0
            )
        return self._highest[table]

    def entries(self, table: str, label: str, key: str = "rowid") -> Iterator[tuple[int, str | None]]:
        """Yield the numbers of rows that the indexes of a table contain, with their label from indexes that have it."""
        for index in self._indexes(table):
            names = [name for (name,) in self._scan("SELECT name FROM pragma_index_info(?)", (index,))]
            what = label if label in names else "NULL"
            first = names[0] if names and names[0] else key
            for order in ("ASC", "DESC"):
                complete = True
                sql = f"SELECT {key}, {what} FROM {table} INDEXED BY {index} ORDER BY {first} {order}"
                try:
                    for number, text in self._db.execute(sql):
                        yield number, text if isinstance(text, str) else None
                except UNREADABLE:
                    complete = False
                if complete:
                    break

    def _indexes(self, table: str) -> list[str]:
        sql = "SELECT name FROM pragma_index_list(?) WHERE NOT partial"
        return [name for (name,) in self._scan(sql, (table,))]

    def both_ways(self, table: str, columns: Sequence[str]) -> Iterator[list[Any]]:
        """Yield the rows of a table without numbers, from both ends if its middle cannot be read; rows may repeat."""
        found = self._columns_of(table, columns)
        if found is None:
            self.incomplete.add(table)
            return
        table_name, names = found
        for direction in ("ASC", "DESC"):
            try:
                for row in self._db.execute(f"SELECT {', '.join(names)} FROM {table_name} ORDER BY 1 {direction}"):
                    yield list(row)
                return
            except UNREADABLE:
                self.incomplete.add(table)

    def _scan(self, sql: str, bindings: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none if they cannot be read."""
        try:
            return list(self._db.execute(sql, bindings))
        except UNREADABLE:
            return []


def _open(path: str) -> apsw.Connection:
    db = open_reading(path, damaged=True)
    try:
        db.execute("BEGIN")
        if not db.execute("SELECT count(*) FROM sqlite_schema").get:
            raise apsw.CorruptError("it contains no tables")
    except apsw.Error:
        db.close()
        raise
    return db


def _with_new_header(path: Path, folder: Path) -> Path:
    """Copy a store whose header cannot be read, and give the copy the header of an ordinary store."""
    copy = folder / "store.db"
    for suffix in SQLITE_SUFFIXES[:2]:
        if Path(f"{path}{suffix}").exists():
            shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    with open(copy, "r+b") as file:
        head = bytearray(file.read(_HEADER).ljust(_HEADER, b"\0"))
        pages = max(1, copy.stat().st_size // _PAGE).to_bytes(4, "big")
        head[:24] = b"SQLite format 3\0" + _FORMAT
        # No free pages are known, and the text is UTF-8.
        head[28:60] = pages + bytes(8) + bytes(4) + b"\0\0\0\4" + bytes(8) + b"\0\0\0\1"
        head[92:96] = head[24:28]
        file.seek(0)
        file.write(head)
    return copy
