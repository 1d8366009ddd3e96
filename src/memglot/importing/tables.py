"""Tables of any shape: the mapping of their columns, and what it would make of their first rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memglot.errors import Unreadable, UsageError
from memglot.formats.base import ReadOptions
from memglot.formats.core.source import Source
from memglot.formats.table.format import map_text, preview
from memglot.formats.table.mapping import parse_mapping

_TABLES = ("csv", "json", "ndjson", "jsonl", "sqlite", "auto")


class TablePreview(NamedTuple):
    """How a table would be read: its mapping as text, and the fields of its first memories."""

    name: str
    mapping: str
    rows: list[dict[str, Any]]


def table_columns(
    given: str | Mapping[str, str] | Sequence[str] | None, table: str | None = None, format: str | None = None
) -> dict[str, str] | None:
    """Return the columns of tables by field, or `None` if no mapping was given. Raise `UsageError`."""
    if given is None or not given and not isinstance(given, str):
        if table is not None:
            raise UsageError("a table needs a mapping of its columns", "add `--map content=COLUMN`, or `--map auto`")
        return None
    if format is not None and format not in _TABLES:
        raise UsageError(f"a mapping reads CSV, JSON and SQLite, not `{format}`", "leave out `--format`, or `--map`")
    return parse_mapping(given)


def table_options(
    map: str | Mapping[str, str] | Sequence[str] | None, table: str | None, format: str | None
) -> dict[str, Any]:
    """Return the options of a reader for tables. Raise `UsageError`."""
    return {"columns": table_columns(map, table, format), "table": table}


def preview_tables(paths: Iterable[str], columns: Mapping[str, str], table: str | None = None) -> list[TablePreview]:
    """Return how files would be read; other inputs are left out. Raise `UsageError` for a column that is missing."""
    found = []
    options = ReadOptions(columns=columns, table=table)
    for path in paths:
        if path == "-" or not Path(path).is_file():
            continue
        source = Source.file(Path(path), path)
        try:
            chosen, rows = preview(source, options)
        except Unreadable:
            # Reading it reports the reason.
            continue
        finally:
            source.close()
        found.append(TablePreview(path, map_text(chosen), rows))
    return found
