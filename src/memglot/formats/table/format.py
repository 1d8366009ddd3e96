"""Tables of any shape: CSV, JSON, NDJSON and SQLite, whose columns a mapping turns into fields.

This format is only read, and only with a mapping (`ReadOptions.columns`), so it is never detected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec

from memglot.display import first_few, quoted
from memglot.errors import BadRecord, UsageError
from memglot.formats.base import Format, ReadOptions
from memglot.formats.core.source import Source
from memglot.formats.syntax.csv_rows import find_delimiter, rows
from memglot.formats.syntax.json_shape import type_name
from memglot.formats.syntax.json_stream import decode_object, objects
from memglot.formats.syntax.sqlite_input import database, is_database
from memglot.formats.table.mapping import AUTO, RECORDS, columns_of, complete_mapping, parse_mapping, value_at
from memglot.formats.table.rows import TOOL, RowMapper
from memglot.model import Item, check_text
from memglot.model.record_errors import not_an_object, too_large
from memglot.report import SourceReport

Row = dict[str, Any] | BadRecord
_SAMPLE = 100
_MAX_COLUMNS = 16_384


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the memory of each row; report a row that is not valid, and continue."""
    try:
        yield from _read(source, report, options)
    except _Stop as stop:
        report.fault(stop.error)


class _Stop(Exception):
    """A table that cannot be read as the mapping says."""

    def __init__(self, error: BadRecord) -> None:
        super().__init__(str(error))
        self.error = error


def _read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    mapping = parse_mapping(options.columns or AUTO)
    columns: list[str] = []
    found = _rows(source, report, options, mapping, columns)
    # The sample is read before the first row is used, so the places of its rows are kept.
    sample = [_Place(row, _line(report), report.item) for row in islice(found, _SAMPLE)]
    if not sample:
        return
    readable = [place.row for place in sample if not isinstance(place.row, BadRecord)]
    columns = columns or columns_of(readable)
    try:
        # Without any row that can be read there is nothing to compare the columns with.
        chosen = complete_mapping(mapping, readable, columns) if columns or AUTO in mapping else mapping
    except BadRecord as error:
        raise _Stop(error) from None
    _note(report, source.name, mapping, chosen, columns)
    mapper = RowMapper(chosen, _space(source, options), report)
    for place in chain(sample, (_Place(row, _line(report), report.item) for row in found)):
        report.line, report.item = place.line, place.item
        try:
            if isinstance(place.row, BadRecord):
                raise place.row
            yield mapper.record(place.row)
        except BadRecord as error:
            report.failed_record(error, line=place.line)


class _Place(NamedTuple):
    """A row, and where it is."""

    row: Row
    line: int | None
    item: int | None


def _line(report: SourceReport) -> int | None:
    return report.line if report.find_line is None else report.find_line()


def _space(source: Source, options: ReadOptions) -> str:
    """Return the namespace of the ids in a table: the name of its file, and of the table if a file has several."""
    if options.space is not None:
        return options.space
    name = source.inner_path.name if source.inner_path else ""
    return f"{name}:{options.table}" if options.table else name


def _note(report: SourceReport, name: str, mapping: dict[str, str], chosen: dict[str, str], columns: list[str]) -> None:
    """Say which columns were guessed, and which have no field."""
    if AUTO in mapping:
        report.note(f"{name} is read with `--map {map_text(chosen)}`")
    rest = [column for column in columns if column not in chosen.values()]
    if rest:
        report.note(
            f"columns of {name} without a field are kept in `meta`: {first_few([quoted(one, 40) for one in rest], 8)}"
        )


def map_text(columns: dict[str, str]) -> str:
    """Return a mapping as it is written on the command line."""
    if any("," in column or "=" in column for column in columns.values()):
        return "'" + msgspec.json.encode(columns).decode() + "'"
    return ",".join(f"{field}={column}" for field, column in columns.items())


def _rows(
    source: Source, report: SourceReport, options: ReadOptions, mapping: dict[str, str], columns: list[str]
) -> Iterator[Row]:
    """Yield the rows of a table; where it declares its columns, add them to `columns` first."""
    if is_database(source.head):
        return _rows_of_database(source, report, options, columns)
    if options.table is not None:
        raise _Stop(BadRecord(f"this is not a SQLite database, so it has no table `{options.table}`"))
    start = source.head.lstrip(b" \t\r\n")[:1]
    if start in (b"{", b"["):
        return _rows_of_json(source, report, mapping.get(RECORDS))
    return _rows_of_csv(source, report, columns)


def _rows_of_csv(source: Source, report: SourceReport, columns: list[str]) -> Iterator[Row]:
    found = rows(source, find_delimiter(source.head, source.extension))
    header = next(found, None)
    if header is None:
        return
    report.line = header.line
    if header.error is not None:
        raise _Stop(BadRecord(f"the header cannot be read: {header.error}", "save the file as UTF-8"))
    columns += (names := _names(header.fields))
    for item, row in enumerate(found, 1):
        report.line, report.item = row.line, item
        if row.error is not None:
            yield row.error
        elif len(row.fields) > len(names):
            yield BadRecord(
                f"the row has {len(row.fields):,} fields, but the header has {len(names):,}",
                "quote fields that contain a delimiter",
            )
        else:
            yield {name: text for name, text in zip(names, row.fields, strict=False) if text}


def _names(header: Iterable[str]) -> list[str]:
    """Return different names for all columns."""
    names: dict[str, None] = {}
    for number, given in enumerate(header, 1):
        if number > _MAX_COLUMNS:
            raise _Stop(BadRecord(f"the header has more than {_MAX_COLUMNS:,} columns", "remove the ones without data"))
        name = base = check_text(given, "the header").strip() or f"column {number}"
        copy = 1
        while name in names:
            copy += 1
            name = f"{base} {copy}"
        names[name] = None
    return list(names)


def _rows_of_json(source: Source, report: SourceReport, records: str | None) -> Iterator[Row]:
    for raw, value in objects(source, report, msgspec.json.Decoder(dict[str, Any]).decode):
        try:
            row = decode_object(raw, value, report)
        except BadRecord as error:
            yield error
            continue
        if records is None:
            yield row
        else:
            yield from _inner_rows(row, records, report)


def _inner_rows(row: dict[str, Any], records: str, report: SourceReport) -> Iterator[Row]:
    """Yield the objects of a list inside of an object."""
    found = value_at(row, records)
    if not isinstance(found, list):
        keys = first_few([quoted(one, 40) for one in columns_of([row])], 20)
        yield BadRecord(f"there is no list at `{records}`", f"its keys are {keys}")
        return
    if rest := [key for key in row if key != records.partition(".")[0]]:
        names = first_few([quoted(one, 40) for one in rest], 8)
        report.note(f"only `{records}` of {report.source} is read; next to it are {names}")
    for item, one in enumerate(found, 1):
        report.item = item
        yield one if isinstance(one, dict) else not_an_object(type_name(one))


def _rows_of_database(source: Source, report: SourceReport, options: ReadOptions, columns: list[str]) -> Iterator[Row]:
    from memglot.formats.syntax.sqlite_tables import DamagedTable, LargeRow, json_row, list_input_tables, rows_of

    with database(source) as db:
        tables, _ = list_input_tables(db)
        name = options.table if options.table is not None else next(iter(tables), "") if len(tables) == 1 else None
        shown = first_few([quoted(one, 40) for one in tables], 20)
        if name is None or name not in tables:
            what = f"there is no table `{name}`" if name else f"there are {len(tables):,} tables"
            raise _Stop(BadRecord(what, f"choose one with `--table`: {shown}" if tables else None))
        columns += tables[name].columns
        item = 0
        for row in rows_of(db, tables[name], options.max_record):
            item += 1
            report.item = item
            if isinstance(row, DamagedTable):
                report.fault(BadRecord(f"table `{name}` is damaged: {row.reason}"))
            elif isinstance(row, LargeRow):
                yield too_large(options.max_record)
            else:
                yield json_row(row)


def preview(source: Source, options: ReadOptions) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the columns by field that reading a table would use, and its first rows. Raise `UsageError`."""
    mapping = parse_mapping(options.columns or AUTO)
    columns: list[str] = []
    try:
        rows = islice(_rows(source, SourceReport(), options, mapping, columns), _SAMPLE)
        found = [row for row in rows if not isinstance(row, BadRecord)]
        chosen = complete_mapping(mapping, found, columns or columns_of(found))
    except (_Stop, BadRecord) as stop:
        error = stop.error if isinstance(stop, _Stop) else stop
        raise UsageError(f"{source.name}: {error}", error.hint) from None
    return chosen, [{field: value_at(row, column) for field, column in chosen.items()} for row in found[:3]]


FORMAT = Format(
    name=TOOL,
    title="table of any shape, read with `--map`",
    tool=TOOL,
    family=TOOL,
    extensions=(".csv", ".tsv", ".json", ".ndjson", ".jsonl", ".sqlite", ".db", ".sqlite3"),
    fields=frozenset(
        "id content title kind scope tree tags status strength confidence created_at updated_at last_accessed "
        "access_count meta".split()
    ),
    carry="",
    read=read,
    write=None,
    empty_is_error=False,
)
