"""Tables of a database that another program wrote, read row by row although some rows may be damaged."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from math import isfinite
from typing import Any, NamedTuple

import apsw

from memglot.database import is_larger, size_of

Row = dict[str, Any]
"""A row by column name; text that is not valid UTF-8 is bytes."""
_FARTHEST = 1 << 32
"""Maximum number of rows to skip in search of a readable page."""


class InputTable(NamedTuple):
    """An ordinary table of an input."""

    name: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    """Columns that identify a row wherever it is: a key that is not only a number, if there is one."""
    rowid: str | None
    """Name of the row number; `None` if the table has none."""


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def list_input_tables(db: apsw.Connection) -> tuple[dict[str, InputTable], dict[str, str]]:
    """Return the ordinary tables of a database by name, and the SQL of its virtual tables.

    The tables in which a virtual table keeps its rows are not listed.
    """
    sql = "SELECT name, coalesce(sql, '') FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'"
    virtual = {str(name): str(text) for name, text in db.execute(sql)}
    inner = tuple(f"{name}_" for name in virtual)
    sql = "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name"
    found = [(str(name), bool(wr)) for name, wr in db.execute(sql) if not name.startswith(("sqlite_", *inner))]
    return {name: describe_input_table(db, name, wr) for name, wr in found if name not in virtual}, virtual


def describe_input_table(db: apsw.Connection, name: str, without_rowid: bool = False) -> InputTable:
    """Return the columns and the key of a table."""
    found = list(db.execute("SELECT name, type, pk FROM pragma_table_info(?)", (name,)))
    columns = tuple(str(column) for column, _, _ in found)
    keys = [(pk, str(column), str(type)) for column, type, pk in found if pk]
    key = tuple(column for _, column, _ in sorted(keys))
    if len(keys) == 1 and keys[0][2].upper() == "INTEGER":
        # Every database numbers its rows from 1.
        key = _unique_columns(db, name)
    taken = {column.lower() for column in columns}
    rowid = next((alias for alias in ("rowid", "_rowid_", "oid") if alias not in taken), None)
    return InputTable(name, columns, key, None if without_rowid else rowid)


def _unique_columns(db: apsw.Connection, table: str) -> tuple[str, ...]:
    sql = "SELECT name FROM pragma_index_list(?) WHERE origin = 'u' ORDER BY seq DESC"
    for (index,) in list(db.execute(sql, (table,))):
        columns = [name for (name,) in db.execute("SELECT name FROM pragma_index_info(?)", (index,))]
        if all(isinstance(name, str) for name in columns):
            return tuple(columns)
    return ()


class DamagedTable(NamedTuple):
    """What could not be read of a table: the row before the damage, and the reason."""

    after: int | None
    reason: str


class LargeRow(NamedTuple):
    """A row that was not read because it is larger than a memory may be."""

    number: int


def rows_of(db: apsw.Connection, table: InputTable, max_record: int) -> Iterator[Row | DamagedTable | LargeRow]:
    """Yield the rows of a table in order; where a page is damaged, report it and continue behind it.

    Rows larger than `max_record` come last.
    """
    if not is_larger(db, max_record):
        yield from _rows_of(db, table, "TRUE")
        return
    size = size_of(list(map(quoted, table.columns)))
    yield from _rows_of(db, table, f"{size} <= {max_record}")
    sql = f"SELECT {table.rowid or '0'} FROM main.{quoted(table.name)} NOT INDEXED WHERE {size} > {max_record}"
    # Damage was reported above.
    with suppress(apsw.CorruptError):
        for (number,) in db.execute(sql):
            yield LargeRow(number)


def _rows_of(db: apsw.Connection, table: InputTable, condition: str) -> Iterator[Row | DamagedTable]:
    after: int | None = None
    gap: int | None = None
    step = 1
    while step < _FARTHEST:
        try:
            where = condition if after is None else f"{table.rowid} > {after} AND {condition}"
            for number, row in _select(db, table, where):
                if gap is not None:
                    yield from _rows_before(db, table, gap, number, condition)
                after, gap, step = number, None, 1
                yield row
            break
        except apsw.CorruptError as error:
            if gap is None:
                yield DamagedTable(after, str(error))
                gap = after or 0
            if table.rowid is None:
                return
            # The next readable page may begin anywhere, so it is searched in growing steps.
            after = (after or 0) + step
            step *= 2
    if gap is not None:
        yield from _rows_before(db, table, gap, None, condition)


def _rows_before(db: apsw.Connection, table: InputTable, gap: int, end: int | None, condition: str) -> Iterator[Row]:
    """Yield the rows between a damaged page and a row, backwards."""
    where = f"{table.rowid} > {gap} AND {condition}" + ("" if end is None else f" AND {table.rowid} < {end}")
    try:
        for _, row in _select(db, table, where, "DESC"):
            yield row
    except apsw.CorruptError:
        return


def _select(db: apsw.Connection, table: InputTable, where: str, order: str = "ASC") -> Iterator[tuple[int, Row]]:
    """Yield rows with their numbers; texts are read as bytes, because SQLite does not check that they are UTF-8."""
    parts = [table.rowid or "0"]
    for name in map(quoted, table.columns):
        parts += [f"typeof({name})", f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"]
    by = f"ORDER BY {table.rowid} {order}" if table.rowid else ""
    encoding = str(db.pragma("encoding"))
    for number, *values in db.execute(f"SELECT {', '.join(parts)} FROM main.{quoted(table.name)} WHERE {where} {by}"):
        pairs = zip(table.columns, values[::2], values[1::2], strict=True)
        yield number, {name: _text(value, encoding) if type == "text" else value for name, type, value in pairs}


def _text(value: bytes, encoding: str) -> str | bytes:
    try:
        return value.decode(encoding)
    except UnicodeDecodeError:
        return value


def json_row(row: Row) -> dict[str, Any]:
    """Return the values of a row that are not NULL as values that JSON can represent."""
    return {name: _json_value(value) for name, value in row.items() if value is not None}


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    # SQLite stores infinity, but JSON cannot.
    return {"number": str(value)} if isinstance(value, float) and not isfinite(value) else value
