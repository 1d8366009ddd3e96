"""Insertion of rows into a new brain; missing tables and columns are created."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import Any

import apsw

from memglot.formats.agentos.other_tables import META, column_value, row_blob
from memglot.formats.agentos.sqlite_rows import BRAIN, RowReader, Table, describe_table, read_or_keep
from memglot.formats.agentos.sqlite_schema import OURS, TRACES, known_columns, quoted
from memglot.formats.agentos.sqlite_trace import fits_column
from memglot.formats.core.trace import TOOL
from memglot.model import Blob, Item, Record, repair_text

# A declared type may contain any words, even SQL, so only known type names are accepted.
_WORD = (
    "INT|INTEGER|TINYINT|SMALLINT|MEDIUMINT|BIGINT|UNSIGNED|BIG|INT2|INT8|CHARACTER|CHAR|VARCHAR|VARYING|NCHAR|NATIVE|"
    "NVARCHAR|TEXT|CLOB|STRING|BLOB|REAL|DOUBLE|PRECISION|FLOAT|NUMERIC|DECIMAL|BOOLEAN|BOOL|DATE|TIME|DATETIME|"
    "TIMESTAMP|JSON|JSONB|UUID|ANY"
)
_TYPE = re.compile(rf"({_WORD})( ({_WORD}))*( ?\(\d{{1,9}}(, ?\d{{1,9}})?\))?", re.IGNORECASE)
_ROW_NUMBERS = frozenset({"rowid", "_rowid_", "oid"})
_NUMBERED = frozenset({"consolidation_log", "retrieval_feedback"})
_MOST_COLUMNS = 500
_STATEMENTS = 100


class RowInserter:
    """Inserts rows, and adds columns that a table lacks."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._inserts: dict[tuple[str, ...], str] = {}
        self.names: dict[str, dict[str, str]] = {
            name: {column.lower(): column for column in columns} for name, columns in known_columns().items()
        }

    def accepts_column(self, table: str, column: str) -> bool:
        """Return True if a table has a column of exactly this name, or can get one."""
        there = self.names[table]
        if column.lower() in there:
            return there[column.lower()] == column
        if column.lower() in _ROW_NUMBERS:
            return False
        return bool(column) and "\0" not in column and column.isprintable() and len(there) < _MOST_COLUMNS

    def unstorable_keys(self, record: Record, brain: str | None) -> Container[str]:
        """Return the unknown keys of a record that cannot be columns because of their name or value."""
        own = record.extra.get(TOOL)
        more = own.get("more") if isinstance(own, dict) else None
        if not isinstance(more, dict):
            return ()
        known = known_columns()[TRACES]
        taken: set[str] = set()
        found = set()
        for key, value in more.items():
            if key == BRAIN and brain is not None:
                continue
            if key in known or key.lower() in taken or not self.accepts_column(TRACES, key) or not fits_column(value):
                found.add(key)
            taken.add(key.lower())
        return found

    def insert(self, table: str, row: dict[str, Any], columns: Sequence[str] = (), values: Sequence[Any] = ()) -> bool:
        """Insert a row; return False if its key exists or a value is missing."""
        key = (table, *row)
        sql = self._inserts.get(key)
        if sql is None:
            for column in row:
                self.add(table, column)
            names = ", ".join(map(quoted, (*row, *columns)))
            sql = f"INSERT INTO {quoted(table)} ({names}) VALUES ({', '.join('?' * (len(row) + len(columns)))})"
            if not names:
                sql = f"INSERT INTO {quoted(table)} DEFAULT VALUES"
            self._inserts = {**self._inserts, key: sql} if len(self._inserts) < _STATEMENTS else {key: sql}
        try:
            bound = (*map(column_value, row.values()), *values)
            try:
                self._db.execute(sql, bound)
            except UnicodeEncodeError:
                self._db.execute(*_as_bytes(sql, bound))
        except (apsw.ConstraintError, apsw.MismatchError, OverflowError):
            return False
        return True

    def add(self, table: str, column: str) -> None:
        """Add a column if it is missing."""
        if column.lower() not in self.names[table]:
            self._db.execute(f"ALTER TABLE {quoted(table)} ADD COLUMN {quoted(column)}")
            self.names[table][column.lower()] = column


class TableWriter:
    """Inserts rows into the tables they came from."""

    def __init__(self, db: apsw.Connection, name: str, columns: RowInserter) -> None:
        self._db, self._name, self._columns = db, name, columns
        self._shapes: dict[str, tuple[int, Table]] = {}

    def insert(self, table: str, row: dict[str, Any]) -> bool:
        """Insert a row of the main brain, or of the brain it names; return False if that is impossible."""
        if not all(self._columns.accepts_column(table, column) for column in row):
            return False
        if BRAIN in self._columns.names[table]:
            row = {BRAIN: self._name, **row}
        if self._columns.insert(table, row):
            return True
        if table not in _NUMBERED or "id" not in row:
            return False
        # Another log used this number, so the row gets the next one.
        return self._columns.insert(table, {key: value for key, value in row.items() if key != "id"})

    def insert_blob(self, blob: Blob, row_reader: RowReader) -> tuple[bool, Item | None]:
        """Insert the row of a blob; return False if that is impossible, and the item that a reader will find."""
        if not self.insert(blob.table, blob.row):
            return False, None
        number = self._db.last_insert_rowid()
        shape = self._shape(blob.table)
        sql = f"SELECT {', '.join(map(quoted, shape.names))} FROM {quoted(shape.name)} WHERE {shape.rowid} = ?"
        (values,) = self._db.execute(sql, (number,)).fetchall()
        row = shape.row(values, self._name)
        if blob.table == TRACES:
            return True, row_reader.blob(shape, row, number)
        return True, read_or_keep(row_reader, shape, row, number)

    def _shape(self, name: str) -> Table:
        count = len(self._columns.names[name])
        if name not in self._shapes or self._shapes[name][0] != count:
            self._shapes[name] = count, describe_table(self._db, name)
        return self._shapes[name][1]

    def has_row(self, table: str, brain: str, id: str) -> bool:
        """Return True if a row exists."""
        sql = f"SELECT 1 FROM {table} WHERE {BRAIN} = ? AND id = ?"
        return bool(self._db.execute(sql, (brain, id)).fetchall())

    def read_setting(self, brain: str, key: str) -> Any:
        """Return a setting of a brain."""
        sql = f"SELECT value FROM {META} WHERE {BRAIN} = ? AND key = ?"
        return next((value for (value,) in self._db.execute(sql, (brain, key))), None)

    def find_setting(self, brain: str, key: str, row_reader: RowReader) -> Item:
        """Return the item that a reader will find for a setting of the main brain."""
        row = {"key": key, "value": self.read_setting(brain, key)}
        return row_reader.blob(self._shape(META), row, 0)

    def rename_main(self, name: str) -> str:
        """Name the main brain, with a number if another brain has its name; return the name."""
        tables = [table for table, columns in self._columns.names.items() if BRAIN in columns]
        parts = " UNION ".join(f"SELECT {BRAIN} FROM {quoted(table)}" for table in tables)
        taken = {brain for (brain,) in self._db.execute(parts)}
        free, number = name, 1
        while free in taken:
            number += 1
            free = f"{name} {number}"
        for table in tables:
            self._db.execute(f"UPDATE {quoted(table)} SET {BRAIN} = ? WHERE {BRAIN} = ?", (free, self._name))
        self._name = free
        return free

    def space_in(self, blob: Blob) -> str | None:
        """Return the space at the start of a blob's key, if any."""
        rest = row_blob(blob.table, blob.row, "").key
        if rest.startswith("/") and blob.key.endswith(rest):
            return blob.key[: -len(rest)] or None
        return None

    def create(self, name: str, schema: Blob | None) -> bool:
        """Create a table or its missing columns from names and types; return True if the table exists now."""
        columns = [column for column in _columns_of(schema) if isinstance(column.get("name"), str)]
        if name in self._columns.names:
            for column in columns:
                if self._columns.accepts_column(name, column["name"]):
                    self._columns.add(name, column["name"])
            return True
        if not self._is_free(name):
            return False
        self._columns.names[name] = {}
        parts, keys = [], []
        for column in columns:
            text = column["name"]
            if text.lower() not in self._columns.names[name] and self._columns.accepts_column(name, text):
                self._columns.names[name][text.lower()] = text
                parts.append(_declaration(column))
                keys += [(column["pk"], text)] if isinstance(column.get("pk"), int) and column["pk"] else []
        if not parts:
            # The columns are unknown; the rows will add them.
            self._columns.names[name] = {BRAIN: BRAIN}
            parts = [quoted(BRAIN)]
        if keys:
            parts.append(f"PRIMARY KEY ({', '.join(quoted(key) for _, key in sorted(keys))})")
        try:
            self._db.execute(f"CREATE TABLE {quoted(name)} ({', '.join(parts)})")
        except apsw.SQLError:
            del self._columns.names[name]
            return False
        return True

    def _is_free(self, name: str) -> bool:
        taken = {*map(str.lower, self._columns.names), OURS, "memory_traces_fts"}
        strange = name.lower().startswith(("sqlite_", "memory_traces_fts_"))
        return bool(name) and name.isprintable() and not strange and name.lower() not in taken

    def schemas(self) -> dict[str, Blob]:
        """Return what a reader will keep of tables and columns that AgentOS does not know."""
        found = {}
        for name in self._columns.names:
            schema = self._shape(name).schema()
            if schema is not None:
                found[name] = schema
        return found


def _columns_of(schema: Blob | None) -> list[dict[str, Any]]:
    columns = schema.row.get("columns") if schema is not None else None
    return [column for column in columns if isinstance(column, dict)] if isinstance(columns, list) else []


def _as_bytes(sql: str, values: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return an insert that binds texts with lone surrogates as bytes, which SQLite stores as text."""
    before, opening, _ = sql.rpartition("VALUES (")
    marks, bound = [], []
    for value in values:
        raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) and not _is_valid(value) else None
        marks.append("?" if raw is None else "CAST(? AS TEXT)")
        bound.append(value if raw is None else raw)
    return f"{before}{opening}{', '.join(marks)})", bound


def _is_valid(text: str) -> bool:
    return not repair_text(text.replace("\0", ""))[1]


def _declaration(column: dict[str, Any]) -> str:
    type = column.get("type")
    safe = type if isinstance(type, str) and _TYPE.fullmatch(type) else ""
    return f"{quoted(column['name'])} {safe}{' NOT NULL' if column.get('notnull') else ''}"
