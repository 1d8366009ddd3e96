"""Reader of a brain: traces, the graph, every other table, and the items in memglot's own table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from memglot.database import is_larger, size_of
from memglot.disk import DiskMap
from memglot.display import first_few, plural
from memglot.errors import BadRecord, Unreadable
from memglot.formats.agentos.graph import EDGES, NODES
from memglot.formats.agentos.other_tables import META, json_value
from memglot.formats.agentos.sqlite_rows import (
    BRAIN,
    DAMAGE,
    RECOVER,
    RowReader,
    Rows,
    Table,
    damaged_row,
    digest,
    list_tables,
    row_with_surrogates,
    table_rows,
)
from memglot.formats.agentos.sqlite_schema import FULL_TEXT, INDEXES, OURS, TRACES, VERSION, own_meta, quoted
from memglot.formats.agentos.sqlite_trace import BYTES_KEY, COLUMNS, DEFAULTS, kept_columns, parse_row
from memglot.formats.base import ReadOptions
from memglot.formats.core.sidecar import decode_item
from memglot.formats.core.source import Source
from memglot.formats.core.trace import PROGRAM, items_of_trace, record_from_trace
from memglot.formats.syntax.sqlite_input import database
from memglot.model import Blob, Item, check_value
from memglot.model.record_errors import bad_bytes, bad_item, empty_content, too_large
from memglot.report import Proof, SourceReport

if TYPE_CHECKING:
    import apsw

ITEM, INSTEAD, MAIN, SPACE, END = "item", "instead", "main", "space", "end"
"""Kinds of rows in our own table: items, replacements for rows, the main brain, the space of ids, and the proof."""


def read_brain(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the items of a brain."""
    with database(source) as db:
        brain = _BrainReader(db, source, report, options.space)
        yield from brain.traces()
        for name in (NODES, EDGES):
            yield from brain.others(name)
        for name in brain.tables:
            if name not in (TRACES, NODES, EDGES, OURS):
                yield from brain.others(name)
        yield from brain.own()
        brain.report_lost()
        brain.report_omitted()


class _BrainReader:
    """Reads one brain."""

    def __init__(self, db: apsw.Connection, source: Source, report: SourceReport, space: str | None) -> None:
        self._db, self._report = db, report
        self._limit = source.max_record if is_larger(db, source.max_record) else None
        self.tables, self._virtual, damaged = list_tables(db)
        self._report_damaged(damaged)
        if TRACES not in self.tables or "content" not in self.tables[TRACES].names:
            if damaged or TRACES in self.tables and self.tables[TRACES].damaged:
                raise Unreadable(source.name, "the definition of table `memory_traces` is damaged", RECOVER)
            raise Unreadable(
                source.name,
                "it is neither a memglot store nor an AgentOS brain: it has no table `memory_traces`",
                "`--format sqlite` reads a store that is in use",
            )
        if OURS in self.tables and self.tables[OURS].names != ["kind", "value"]:
            self._ours = False
        else:
            self._ours = OURS in self.tables
        stem = source.inner_path.stem if source.inner_path else ""
        self._main = self._main_brain(stem)
        self._has_made_settings = self._main == stem and self._are_settings_made()
        self._space = space or next(self._lines(SPACE), None) or self._main
        self._row_reader = RowReader(self._space)
        self._replacements = _Replacements(self._lines(INSTEAD), report)

    def _report_damaged(self, tables: list[str]) -> None:
        """Report what cannot be read because its name or definition is damaged."""
        for name in tables:
            if name != TRACES:
                self._report.fault(BadRecord(f"the definition of table `{name}` is damaged", RECOVER))
        for table in self.tables.values():
            if table.damaged:
                names = plural(table.damaged, "column has a name that is", "columns have names that are")
                self._report.fault(f"{table.name}: {names} not valid UTF-8")

    def _rows(self, table: Table, columns: list[str], condition: str = "TRUE") -> Rows:
        """Return the rows of a table, and report where some are missing."""

        def found_damage(reason: str) -> None:
            self._report.fault(BadRecord(f"{table.name}: some rows cannot be read: {reason}", RECOVER))

        if self._limit is not None:
            condition = f"({condition}) AND {size_of(list(map(quoted, table.names)))} <= {self._limit}"
        return table_rows(self._db, table, columns, found_damage, condition)

    def _too_large(self, table: Table) -> Iterator[BadRecord]:
        """Yield an error for each row that is larger than a memory may be; `_rows` skips it without reading it."""
        if self._limit is None:
            return
        size = size_of(list(map(quoted, table.names)))
        sql = f"SELECT {table.rowid or 'NULL'} FROM main.{quoted(table.name)} NOT INDEXED WHERE {size} > {self._limit}"
        try:
            for (number,) in self._db.execute(sql):
                self._report.item = number
                yield too_large(self._limit)
        except DAMAGE:
            # Reading the rows reports it.
            return

    def _main_brain(self, stem: str) -> str:
        """Return the brain that we wrote as the main one, or that the file is named after, or with the most traces."""
        found: Counter[str] = Counter()
        for name in (TRACES, META):
            if name in self.tables and BRAIN in self.tables[name].names:
                for brain, count in self._brains_in(name):
                    if isinstance(brain, str) and brain:
                        found[brain] += count if name == TRACES else 0
        for name in (*self._lines(MAIN), stem):
            if not found or name in found:
                return name
        return max(sorted(found), key=lambda brain: found[brain])

    def _brains_in(self, name: str) -> list[tuple[Any, int]]:
        """Return the brains that have rows in a table, each with their number."""
        try:
            return list(self._db.execute(f"SELECT {BRAIN}, count(*) FROM {name} NOT INDEXED GROUP BY 1"))
        except (UnicodeDecodeError, *DAMAGE):
            rows = table_rows(self._db, self.tables[name], [BRAIN], lambda reason: None)
            return list(Counter(values[0] for _, values in rows if values).items())

    def _lines(self, kind: str) -> Iterator[str]:
        if self._ours:
            for number, values in self._rows(self.tables[OURS], ["value"], f"kind = '{kind}'"):
                if values is None:
                    self._report.fault(f"{OURS}: the row is damaged", item=number)
                elif isinstance(values[0], str):
                    yield values[0]

    # Traces

    def traces(self) -> Iterator[Item]:
        """Yield the traces and their attached items; an invalid trace is reported and kept as a row."""
        table = self.tables[TRACES]
        yield from self._schema(table)
        strange = [name for name in table.unknown if name != BRAIN]
        columns = [quoted(name) if name in table.names else DEFAULTS.get(name, "NULL") for name in COLUMNS]
        columns += [quoted(name) for name in strange]
        columns.append(BRAIN if BRAIN in table.names else "NULL")
        report = self._report
        for item, (number, values) in enumerate(self._rows(table, columns), 1):
            report.item = item
            try:
                if values is None:
                    values = row_with_surrogates(self._db, table, number, columns, quoted("content"))
                yield from self._trace(values, strange)
                continue
            except BadRecord as error:
                report.failed_record(error)
            if (found := damaged_row(self._db, table, number)) is not None:
                yield self._row_reader.blob(table, table.row(found, self._main), number)
        for large in self._too_large(table):
            report.failed_record(large)
        report.item = None

    def _trace(self, values: tuple[Any, ...], strange: list[str]) -> Iterator[Item]:
        row = list(values[: len(COLUMNS)])
        trace = parse_row(row)
        if not trace.content:
            raise empty_content()
        own = values[-1]
        if strange:
            more = zip(strange, values[len(COLUMNS) : -1], strict=True)
            trace.more = {name: json_value(value) for name, value in more if value is not None}
            check_value(trace.more, "a further column")
        space = self._space
        if own is not None and own != self._main:
            trace.more = {**trace.more, BRAIN: json_value(own)}
            space = own if isinstance(own, str) and own else space
        record = record_from_trace(trace, space, PROGRAM)
        if kept := kept_columns(row, trace, record):
            record.extra[BYTES_KEY] = kept
        return items_of_trace(record, trace, self._report)

    # Other tables

    def others(self, name: str) -> Iterator[Item]:
        """Yield the rows of a table."""
        table = self.tables.get(name)
        if table is None:
            return
        yield from self._schema(table)
        report = self._report
        for item, (number, values) in enumerate(self._rows(table, list(map(quoted, table.names))), 1):
            report.item = item
            if values is None:
                values = damaged_row(self._db, table, number)
                report.fault(f"{name}: {self._invalid_text(table, number)}", item=item)
                if values is None:
                    continue
            row = table.row(values, self._main)
            if name == META and not self._is_setting_kept(row):
                continue
            try:
                found = self._row_reader.item(table, row, number)
            except BadRecord as error:
                report.fault(f"{name}: {error}", item=item)
                found = self._row_reader.blob(table, row, number)
            yield from self._replacements.of(found)
        for large in self._too_large(table):
            report.fault(f"{name}: {large}", item=report.item)
        report.item = None

    def _invalid_text(self, table: Table, number: int) -> BadRecord:
        try:
            row_with_surrogates(self._db, table, number, list(map(quoted, table.names)), "")
        except BadRecord as error:
            return error
        return bad_bytes(0)

    def _schema(self, table: Table) -> Iterator[Item]:
        schema = table.schema()
        if schema is not None:
            yield from self._replacements.of(schema)

    def _are_settings_made(self) -> bool:
        """Return True if the main brain has just the settings that a writer adds, in a file without our own table."""
        needed = {BRAIN, "created_at", "embedding"} <= set(self.tables[TRACES].names)
        if self._ours or not needed or META not in self.tables or BRAIN not in self.tables[META].names:
            return False
        try:
            found = self._db.execute(f"SELECT key, value FROM {META} NOT INDEXED WHERE {BRAIN} = ?", (self._main,))
            return dict(found) == own_meta(self._db, self._main)
        except (UnicodeDecodeError, *DAMAGE):
            return False

    def _is_setting_kept(self, row: dict[str, Any]) -> bool:
        """Return True unless a setting is one that a writer adds; a brain is always written in the current version."""
        if self._has_made_settings and BRAIN not in row:
            return False
        return row.get("key") != "schema_version" or row.get("value") == VERSION

    def own(self) -> Iterator[Item]:
        """Yield the items of our own table, and report the proof."""
        for number, line in enumerate(self._lines(ITEM), 1):
            self._report.item = number
            try:
                yield decode_item(line.encode())
            except BadRecord as error:
                self._report.fault(f"{OURS}: {error}", item=number)
        self._report.item = None
        if self._ours:
            known = ", ".join(f"'{kind}'" for kind in (ITEM, INSTEAD, MAIN, SPACE, END))
            for number, _ in self._rows(self.tables[OURS], ["0"], f"kind IS NULL OR kind NOT IN ({known})"):
                self._report.fault(f"{OURS}: {bad_item('row', 'its kind is unknown')}", item=number)
        if self._ours:
            for large in self._too_large(self.tables[OURS]):
                self._report.fault(f"{OURS}: {large}", item=self._report.item)
            self._report.item = None
        for line in self._lines(END):
            try:
                self._report.inputs.proof = msgspec.json.decode(line, type=Proof)
            except msgspec.MsgspecError as error:
                self._report.fault(f"{OURS}: {bad_item('end mark', str(error))}")

    def report_lost(self) -> None:
        """Report the columns and tables that cannot be restored."""
        if OURS in self.tables and not self._ours:
            self._report.dropped(f"table {OURS}", OURS)
        sql = "SELECT CAST(name AS BLOB) FROM pragma_table_xinfo(?) WHERE hidden IN (2, 3)"
        for table in self.tables:
            for (column,) in list(self._db.execute(sql, (table,))):
                name = column.decode(errors="replace")
                self._report.dropped(f"{table}.{name}, which is computed from others", table)

    def report_omitted(self) -> None:
        """Note other parts of the database that were left out."""
        strange = [name for name in self._virtual if name != FULL_TEXT]
        if strange:
            self._report.note(
                f"left out {plural(len(strange), 'virtual table')} without rows of their own: {first_few(strange)}"
            )
        found: Counter[str] = Counter()
        sql = "SELECT type, CAST(name AS BLOB) FROM sqlite_schema WHERE sql IS NOT NULL "
        try:
            for kind, name in self._db.execute(sql + "AND type IN ('view', 'trigger', 'index')"):
                found[str(kind)] += kind != "index" or f"INDEX {(name or b'').decode(errors='replace')} " not in INDEXES
        except DAMAGE:
            # A damaged list of tables was reported already.
            return
        if found := +found:
            self._report.note(_not_kept(found))


class _Replacements:
    """Blobs to return instead of rows that cannot hold all of them, by the digest of the row."""

    def __init__(self, lines: Iterator[str], report: SourceReport) -> None:
        self._blobs: DiskMap | None = None
        for line in lines:
            try:
                value = msgspec.json.decode(line, type=_Replacement)
            except (msgspec.MsgspecError, RecursionError) as error:
                report.fault(f"{OURS}: {bad_item('row', str(error))}")
                continue
            if self._blobs is None:
                self._blobs = DiskMap()
            if value.of not in self._blobs:
                self._blobs[value.of] = msgspec.to_builtins(value.blob)

    def of(self, item: Item | None) -> Iterator[Item]:
        """Yield the item that a row holds, or its replacement."""
        if item is None:
            return
        if self._blobs is None or (key := digest(item)) not in self._blobs:
            yield item
        elif (blob := self._blobs[key]) is not None:
            yield msgspec.convert(blob, Blob)


class _Replacement(msgspec.Struct):
    of: str
    blob: Blob | None = None


def _not_kept(found: dict[str, int]) -> str:
    """Return the note for views, triggers and indexes."""
    names = {"index": "indexes"}
    parts = [
        f"{count:,} {kind if count == 1 else names.get(kind, kind + 's')}" for kind, count in sorted(found.items())
    ]
    return f"left out {' and '.join(parts)} of the database, which contain no rows"
