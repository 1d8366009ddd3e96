"""The tables of a brain, their rows, and the items of a row."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from memglot.errors import BadRecord
from memglot.formats.agentos.graph import EDGES, NODES, KnowledgeGraph
from memglot.formats.agentos.other_tables import json_value, row_blob
from memglot.formats.agentos.sqlite_schema import OURS, known_columns, quoted, unquoted
from memglot.formats.core.trace import TOOL
from memglot.model import Blob, Item, canonical
from memglot.model.record_errors import bad_bytes, bad_item

if TYPE_CHECKING:
    import apsw

SCHEMA = "sqlite_schema"
BRAIN = "brain_id"


class Table(NamedTuple):
    """A table: its columns and the name of its row number, if it has one."""

    name: str
    columns: tuple[dict[str, Any], ...]
    rowid: str | None

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


def list_tables(db: apsw.Connection) -> tuple[dict[str, Table], list[str]]:
    """Return the ordinary tables of a database by name, and the names of its virtual tables."""
    found: dict[str, Table] = {}
    virtual: list[str] = []
    sql = "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main' ORDER BY name"
    for name, kind, without_rowid in list(db.execute(sql)):
        if kind == "virtual":
            virtual.append(name)
        elif kind == "table" and not name.startswith("sqlite_"):
            found[name] = describe_table(db, name, bool(without_rowid))
    return found, virtual


def describe_table(db: apsw.Connection, name: str, without_rowid: bool = False) -> Table:
    """Return the columns of a table."""
    sql = 'SELECT name, type, pk, "notnull" FROM pragma_table_info(?)'
    columns = [
        {"name": column, "type": type, "pk": pk, "notnull": notnull}
        for column, type, pk, notnull in list(db.execute(sql, (name,)))
    ]
    taken = {str(column["name"]).lower() for column in columns}
    free = next((alias for alias in ("rowid", "_rowid_", "oid") if alias not in taken), None)
    return Table(name, tuple(columns), None if without_rowid else free)


def table_rows(db: apsw.Connection, table: Table, columns: list[str]) -> Iterator[tuple[int, tuple[Any, ...] | None]]:
    """Yield the rows of a table in order, each with its number; `None` for a row with invalid UTF-8.

    `columns` are SQL expressions.
    """
    number = table.rowid or "0"
    start: int | None = None
    passed = 0
    while True:
        where = f"WHERE {number} > {start}" if start is not None and table.rowid else ""
        order = f"ORDER BY {table.rowid}" if table.rowid else ""
        skip = f"LIMIT -1 OFFSET {passed}" if passed and not table.rowid else ""
        try:
            sql = f"SELECT {number}, {', '.join(columns)} FROM main.{quoted(table.name)} {where} {order} {skip}"
            for start, *values in db.execute(sql):
                passed += 1
                yield start if table.rowid else passed, tuple(values)
            return
        except UnicodeDecodeError:
            where = f"WHERE {number} > {start}" if start is not None and table.rowid else ""
            sql = f"SELECT {number} FROM main.{quoted(table.name)} {where} {order} LIMIT 1"
            start = next((place for (place,) in db.execute(sql)), start)
            passed += 1
            yield start or 0 if table.rowid else passed, None


def damaged_row(db: apsw.Connection, table: Table, number: int) -> tuple[Any, ...]:
    """Return a row with invalid UTF-8; invalid texts are returned as bytes."""
    values = _raw_values(db, table, number, list(map(quoted, table.names)))
    return tuple(_text(value) if kind == "text" else value for kind, value in values)


def row_with_surrogates(
    db: apsw.Connection, table: Table, number: int, columns: list[str], content: str
) -> tuple[Any, ...]:
    """Return a row with invalid UTF-8 if all that is invalid are lone surrogates in the column `content`.

    Raise `BadRecord` with the column and the byte for anything else.
    """
    found = []
    for column, (kind, value) in zip(columns, _raw_values(db, table, number, columns), strict=True):
        try:
            errors = "surrogatepass" if column == content else "strict"
            found.append(value.decode("utf-8", errors) if kind == "text" else value)
        except UnicodeDecodeError as error:
            raise BadRecord(f"`{unquoted(column)}`: {bad_bytes(error.start)}") from None
    return tuple(found)


def _raw_values(db: apsw.Connection, table: Table, number: int, columns: list[str]) -> list[tuple[str, Any]]:
    """Return the types and values of a row; texts are returned as bytes."""
    parts = []
    for column in columns:
        parts += [
            f"typeof({column})",
            f"CASE typeof({column}) WHEN 'text' THEN CAST({column} AS BLOB) ELSE {column} END",
        ]
    where = f"WHERE {table.rowid} = {number}" if table.rowid else f"LIMIT 1 OFFSET {number - 1}"
    (found,) = db.execute(f"SELECT {', '.join(parts)} FROM main.{quoted(table.name)} {where}")
    return list(zip(found[::2], found[1::2], strict=True))


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
