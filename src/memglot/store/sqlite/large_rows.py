"""Skip the rows of an input that are larger than a memory may be, without reading them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memglot.database import is_larger, size_of
from memglot.display import in_bytes, plural
from memglot.errors import BadRecord, StoreError
from memglot.model.record_errors import too_large
from memglot.store.sqlite.connection import Connection
from memglot.store.sqlite.rows import TABLES
from memglot.store.sqlite.schema import RECORD_COLUMNS

THING_COLUMNS = ("key", "doc", "data")


def skip_large_rows(connection: Connection, limit: int) -> None:
    """Leave out all rows that are larger than a limit, and report them as damage."""
    if connection.on_damage is None or not is_larger(connection.db, limit):
        return
    connection.max_row = limit
    try:
        for error, is_memory in _errors(connection, limit):
            connection.on_damage(error, is_memory)
    except StoreError:
        # The file is damaged, which reading its rows reports.
        return


def fits(connection: Connection, columns: Sequence[str]) -> str:
    """Return the SQL condition for a row to be read, given its columns; nothing without a limit."""
    return "" if connection.max_row is None else f"{size_of(columns)} <= {connection.max_row}"


def _errors(connection: Connection, limit: int) -> Iterator[tuple[BadRecord, bool]]:
    found = too_large(limit)
    # An id may be as large as its row, so the number names the row.
    sql = f"SELECT seq FROM records NOT INDEXED WHERE {size_of(RECORD_COLUMNS)} > {limit}"
    for (number,) in connection.rows(sql):
        yield BadRecord(f"row {number}: {found.message}", found.hint), True
    for table in TABLES.values():
        count = connection.value(f"SELECT count(*) FROM {table} NOT INDEXED WHERE {size_of(THING_COLUMNS)} > {limit}")
        if count:
            yield BadRecord(f"{plural(count, 'row')} of `{table}`: larger than {in_bytes(limit)}", found.hint), False
