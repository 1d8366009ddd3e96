"""The tables of a brain, their rows, and the items of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias

import apsw
import msgspec

from memglot.errors import BadRecord
from memglot.formats.agentos.graph import EDGES, NODES, KnowledgeGraph
from memglot.formats.agentos.other_tables import json_value, row_blob
from memglot.formats.agentos.sqlite_schema import FULL_TEXT, OURS, known_columns, quoted, unquoted
from memglot.formats.core.trace import TOOL
from memglot.model import Blob, Item, canonical
from memglot.model.record_errors import bad_bytes, bad_item

SCHEMA = "sqlite_schema"
BRAIN = "brain_id"
DAMAGE = (apsw.CorruptError, apsw.SQLError, apsw.IOError, apsw.FormatError, apsw.TooBigError, apsw.ConstraintError)
"""Errors of SQLite for a part of a database that is damaged; other parts may be readable."""
Rows: TypeAlias = Iterator[tuple[int, tuple[Any, ...] | None]]
"""Rows with their numbers; `None` for a row that cannot be read."""
RECOVER = "`sqlite3 FILE .recover` may recover more of the database"
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1


class Table(NamedTuple):
    """A table: its columns, the name of its row number, if it has one, and how many columns cannot be read."""

    name: str
    columns: tuple[dict[str, Any], ...]
    rowid: str | None
    damaged: int = 0

    @property
    def names(self) -> list[str]:
        """Names of its columns."""
        return [column["name"] for column in self.columns]

    @property
    def keys(self) -> tuple[str, ...]:
        """Key columns."""
        keys = sorted((column for column in self.columns if column["pk"]), key=lambda column: int(column["pk"]))
        return tuple(column["name"] for column in keys if column["name"] != BRAIN)

    @property
    def known(self) -> tuple[str, ...] | None:
        """Columns that AgentOS gives this table; `None` for an unknown table."""
        return known_columns().get(self.name)

    @property
    def unknown(self) -> list[str]:
        """Columns that AgentOS does not know."""
        return [name for name in self.names if name not in (self.known or ())]

    def schema(self) -> Blob | None:
        """Return the names and types needed to create the table again; never SQL."""
        strange = set(self.unknown)
        columns = [column for column in self.columns if column["name"] in strange]
        if not columns or self.name == OURS:
            return None
        return Blob(tool=TOOL, table=SCHEMA, key=self.name, row={"name": self.name, "columns": columns})

    def row(self, values: tuple[Any, ...], main: str) -> dict[str, Any]:
        """Return a row as an object, without the id of the main brain."""
        known = self.known or ()
        row = {}
        for name, value in zip(self.names, values, strict=True):
            if name == BRAIN and (value is None or value == main):
                continue
            if value is not None or name in known:
                row[name] = json_value(value)
        return row


class TableList(NamedTuple):
    """The ordinary tables of a database by name, and the names of its virtual and its damaged tables."""

    tables: dict[str, Table]
    virtual: list[str]
    damaged: list[str]


def list_tables(db: apsw.Connection) -> TableList:
    """Return the tables of a database; those whose definition is damaged cannot be read."""
    found: dict[str, Table] = {}
    virtual: list[str] = []
    damaged: list[str] = []
    sql = "SELECT CAST(name AS BLOB), type, wr FROM pragma_table_list WHERE schema = 'main' ORDER BY name"
    listed = {bytes(name): (kind, bool(without_rowid)) for name, kind, without_rowid in list(db.execute(sql))}
    for raw, (kind, without_rowid) in listed.items():
        name = _text(raw)
        if kind == "virtual":
            virtual.append(raw.decode(errors="replace"))
        elif not isinstance(name, str):
            damaged.append(raw.decode(errors="replace"))
        elif kind == "table" and not name.startswith(("sqlite_", FULL_TEXT)):
            found[name] = describe_table(db, name, without_rowid)
    try:
        for (raw,) in db.execute("SELECT CAST(name AS BLOB) FROM sqlite_schema WHERE type = 'table'"):
            if raw is not None and raw not in listed and not raw.startswith(FULL_TEXT.encode()):
                damaged.append(raw.decode(errors="replace"))
    except DAMAGE:
        damaged.append(SCHEMA)
    return TableList(found, virtual, damaged)


def describe_table(db: apsw.Connection, name: str, without_rowid: bool = False) -> Table:
    """Return the columns of a table; a column whose name is not text cannot be read."""
    sql = 'SELECT CAST(name AS BLOB), CAST(type AS BLOB), pk, "notnull" FROM pragma_table_info(?)'
    columns = [
        {"name": _text(column), "type": type.decode(errors="replace"), "pk": pk, "notnull": notnull}
        for column, type, pk, notnull in list(db.execute(sql, (name,)))
    ]
    readable = tuple(column for column in columns if isinstance(column["name"], str))
    taken = {column["name"].lower() for column in readable}
    free = next((alias for alias in ("rowid", "_rowid_", "oid") if alias not in taken), None)
    return Table(name, readable, None if without_rowid else free, len(columns) - len(readable))


def table_rows(
    db: apsw.Connection,
    table: Table,
    columns: list[str],
    found_damage: Callable[[str], None],
    condition: str = "TRUE",
) -> Rows:
    """Yield the rows of a table in order.

    `columns` and `condition` are SQL expressions. Call `found_damage` with the reason where rows are skipped because
    their number cannot be read either.
    """
    if table.rowid is None:
        yield from _rows_without_number(db, table, columns, found_damage, condition)
        return
    start = _LOWEST
    sql = f"SELECT {table.rowid}, {', '.join(columns)} {_from(table, condition)}"
    while start <= _HIGHEST:
        try:
            for number, *values in db.execute(sql, (start,)):
                if number < start:
                    raise _out_of_order()
                start = number + 1
                yield number, tuple(values)
            return
        except UnicodeDecodeError:
            reason = "invalid UTF-8"
        except DAMAGE as error:
            reason = str(error)
        try:
            bad = _first_number(db, table, start, condition)
        except DAMAGE:
            found_damage(reason)
            start = _end_of_gap(db, table, start)
            continue
        if bad is None:
            return
        start = bad + 1
        yield bad, None


def _from(table: Table, condition: str) -> str:
    """Return the end of a query for the rows of a table from a number on."""
    # An index may be damaged even if the table is not.
    source = f"FROM main.{quoted(table.name)} NOT INDEXED"
    return f"{source} WHERE {table.rowid} >= ? AND ({condition}) ORDER BY {table.rowid}"


def _first_number(db: apsw.Connection, table: Table, start: int, condition: str = "TRUE") -> int | None:
    """Return the number of the first row from a number on, if there is one."""
    for (number,) in db.execute(f"SELECT {table.rowid} {_from(table, condition)} LIMIT 1", (start,)):
        if number < start:
            raise _out_of_order()
        return int(number)
    return None


def _out_of_order() -> apsw.Error:
    return apsw.CorruptError("the rows are not in order")


def _end_of_gap(db: apsw.Connection, table: Table, start: int) -> int:
    """Return a number after damaged rows from which on the next row can be found; a search, so it may miss some."""

    def is_damaged(number: int) -> bool:
        try:
            _first_number(db, table, number)
        except DAMAGE:
            return True
        return False

    damaged, step = max(start, 0), 1
    while is_damaged(damaged + step):
        damaged, step = damaged + step, step * 2
        if damaged + step > _HIGHEST:
            return _HIGHEST + 1
    end = damaged + step
    while end - damaged > 1:
        middle = (end + damaged) // 2
        damaged, end = (middle, end) if is_damaged(middle) else (damaged, middle)
    return end


def _rows_without_number(
    db: apsw.Connection, table: Table, columns: list[str], found_damage: Callable[[str], None], condition: str
) -> Rows:
    """Yield the rows of a table without row numbers up to the first that is damaged."""
    passed = 0
    while True:
        sql = f"SELECT {', '.join(columns)} FROM main.{quoted(table.name)} WHERE {condition} LIMIT -1 OFFSET {passed}"
        try:
            for values in db.execute(sql):
                passed += 1
                yield passed, tuple(values)
            return
        except UnicodeDecodeError:
            passed += 1
            yield passed, None
        except DAMAGE as error:
            found_damage(str(error))
            return


def damaged_row(db: apsw.Connection, table: Table, number: int) -> tuple[Any, ...] | None:
    """Return a row with invalid UTF-8, whose texts are bytes where they are invalid; `None` if it cannot be read."""
    values = _raw_values(db, table, number, list(map(quoted, table.names)))
    return None if values is None else tuple(_text(value) if kind == "text" else value for kind, value in values)


def row_with_surrogates(
    db: apsw.Connection, table: Table, number: int, columns: list[str], content: str
) -> tuple[Any, ...]:
    """Return a row with invalid UTF-8 if all that is invalid are lone surrogates in the column `content`.

    Raise `BadRecord` with the column and the byte for anything else, and for a row that SQLite cannot read.
    """
    found, values = [], _raw_values(db, table, number, columns)
    if values is None:
        raise BadRecord("the row is damaged", RECOVER)
    for column, (kind, value) in zip(columns, values, strict=True):
        try:
            errors = "surrogatepass" if column == content else "strict"
            found.append(value.decode("utf-8", errors) if kind == "text" else value)
        except UnicodeDecodeError as error:
            raise BadRecord(f"`{unquoted(column)}`: {bad_bytes(error.start)}") from None
    return tuple(found)


def _raw_values(db: apsw.Connection, table: Table, number: int, columns: list[str]) -> list[tuple[str, Any]] | None:
    """Return the types and values of a row, with texts as bytes; `None` if it cannot be read."""
    parts = []
    for column in columns:
        parts += [
            f"typeof({column})",
            f"CASE typeof({column}) WHEN 'text' THEN CAST({column} AS BLOB) ELSE {column} END",
        ]
    where = f"NOT INDEXED WHERE {table.rowid} = {number}" if table.rowid else f"LIMIT 1 OFFSET {number - 1}"
    try:
        found = next(iter(db.execute(f"SELECT {', '.join(parts)} FROM main.{quoted(table.name)} {where}")), None)
    except DAMAGE:
        return None
    return None if found is None else list(zip(found[::2], found[1::2], strict=True))


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


class RowReader:
    """Reads rows of a brain: nodes and edges become the graph, other rows are kept unchanged."""

    def __init__(self, space: str) -> None:
        self._space = space
        self._graphs: dict[str, KnowledgeGraph] = {}

    def find_space(self, row: dict[str, Any]) -> str:
        """Return the space of the ids in a row."""
        own = row.get(BRAIN)
        return own if isinstance(own, str) and own else self._space

    def item(self, table: Table, row: dict[str, Any], number: int) -> Item | None:
        """Return the item of a row; raise `BadRecord` for an invalid node or edge."""
        space = self.find_space(row)
        try:
            if table.name == NODES:
                return self._graph(space).node(row)
            if table.name == EDGES:
                return self._graph(space).edge(row)
        except msgspec.ValidationError as error:
            raise bad_item("row", str(error)) from None
        return self.blob(table, row, number)

    def blob(self, table: Table, row: dict[str, Any], number: int) -> Blob:
        """Return a row as a blob."""
        found = row_blob(table.name, row, self.find_space(row), table.keys or None)
        if not table.known and not table.keys:
            # Only the row number distinguishes equal rows of a table without a key.
            found.key = f"{found.key}-{number}"
        return found

    def _graph(self, space: str) -> KnowledgeGraph:
        return self._graphs.setdefault(space, KnowledgeGraph(space))


def read_or_keep(row_reader: RowReader, table: Table, row: dict[str, Any], number: int) -> Item | None:
    """Return the item of a row, or a blob if the row is invalid."""
    try:
        return row_reader.item(table, row, number)
    except BadRecord:
        return row_reader.blob(table, row, number)


def digest(item: Item | None) -> str:
    """Return a digest that identifies the item of a row."""
    return sha256(b"" if item is None else canonical(item)).hexdigest()[:32]
