"""CSV with one memory per row: `content` and any other columns; other fields are carried in the column `memglot`.

AgentOS's program reads such files too, but only times in milliseconds, and half of a scope from `metadata.scopeId`;
`--dialect program` writes these.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from memglot.display import plural
from memglot.errors import BadRecord
from memglot.formats.base import Format, MergeSupport, ReadOptions, WriteOptions, WriteSupport
from memglot.formats.core.carry import Bundle, differences, pack_found
from memglot.formats.core.compression import inner_extension
from memglot.formats.core.original_text import original_content
from memglot.formats.core.proof import proved
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.core.trace import BOOKKEEPING, NOTE_TIMES, TOOL_DEFAULTS, is_from_agentos
from memglot.formats.csv.columns import AGENTOS, AGENTOS_ID, TOOL, CsvContext, CsvHeader
from memglot.formats.syntax.cells import FORMULA_MARK, MARKED, is_formula, tags
from memglot.formats.syntax.csv_rows import TAB, TABS, find_delimiter, rows
from memglot.model import Item, Record, canonical_value, derive_id, format_time, to_builtins
from memglot.report import Proof, Report, SourceReport

NATIVE_FIELDS = frozenset(
    (
        "id content title kind scope tree tags status strength created_at updated_at last_accessed access_count meta"
    ).split()
)
HEADER = (
    "id",
    "content",
    "title",
    "type",
    "scope",
    "tree",
    "tags",
    "status",
    "strength",
    "created_at",
    "updated_at",
    "last_accessed",
    "retrieval_count",
    "metadata",
    "memglot",
)
_NEEDS_QUOTES = {one: re.compile(rf'["{one}\r\n]|\A\s|\s\Z') for one in (",", TAB)}
_AT_ONCE = 200


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the memory of each row."""
    found = rows(source, find_delimiter(source.head, source.extension))
    header = next(found, None)
    if header is None:
        return
    report.line = header.line
    try:
        if header.error is not None:
            raise BadRecord(f"the header cannot be read: {header.error}", "save the file as UTF-8")
        columns = CsvHeader(header.fields)
    except BadRecord as error:
        report.fault(error, line=header.line)
        return
    space = options.space if options.space is not None else source.inner_path.name if source.inner_path else ""
    context = CsvContext(space, report)
    for item, row in enumerate(found, 1):
        report.line, report.item = row.line, item
        try:
            if row.error is not None:
                raise row.error
            record, attached = columns.record(row.fields, context)
        except BadRecord as error:
            report.failed_record(error)
            continue
        yield record
        yield from attached


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write one row per memory, always with the same columns."""
    writer = _RowWriter(report, options)
    with target.file() as out:
        delimiter = TAB if inner_extension(str(target.path)).lower() == TABS else ","
        lines = [_line(HEADER, delimiter)]
        for bundle, end in proved(items, target, report):
            lines.append(_line(writer.row(bundle, end), delimiter))
            if len(lines) >= _AT_ONCE:
                out.write("".join(lines).encode())
                lines.clear()
        out.write("".join(lines).encode())


def _line(cells: Iterable[str], delimiter: str) -> str:
    needs_quotes = _NEEDS_QUOTES[delimiter].search
    quoted = ('"' + cell.replace('"', '""') + '"' if needs_quotes(cell) else cell for cell in cells)
    return delimiter.join(quoted) + "\r\n"


class _RowWriter:
    """Builds rows; fields that the columns cannot express are carried in the last column."""

    def __init__(self, report: Report, options: WriteOptions) -> None:
        self._report, self._plain, self._is_program = report, options.plain, options.dialect == "program"
        self._for_spreadsheets = options.for_spreadsheets
        self._columns = CsvHeader(HEADER)
        # Rows are read back to find what the columns lose; notes about that are discarded.
        self._context = CsvContext("", SourceReport())

    def row(self, bundle: Bundle, end: Proof | None) -> list[str]:
        """Return the cells of a record."""
        record, attached, _ = bundle
        cells = _cells(record, self._plain, for_program=self._is_program)
        if not self._is_program and record.created_at and is_from_agentos(record):
            self._report.note(NOTE_TIMES)
        native, _ = self._columns.record(cells, self._context)
        if odd := native.meta.keys() - record.meta.keys():
            # A reader keeps these cells as text; the values are carried instead.
            cells = [
                "" if any(key.startswith(name) for key in odd) else cell
                for name, cell in zip(HEADER, cells, strict=True)
            ]
            native, _ = self._columns.record(cells, self._context)
        if native.id != record.id or (native.foreign and native.foreign[0].tool == TOOL):
            # Ids depend on the file's name, which may change, so the id itself is carried.
            native.id, native.foreign = "", []
        found = {} if native == record else differences(record, native)
        slot = pack_found(found, record, attached, self._report, self._plain, native)
        if end is not None and not self._plain:
            slot["end"] = to_builtins(end)
        formulas = [place for place, cell in enumerate(cells) if is_formula(cell)]
        if formulas:
            self._handle(formulas, cells, slot)
        if slot:
            cells[-1] = canonical_value(slot).decode()
        return cells

    def _handle(self, formulas: list[int], cells: list[str], slot: dict[str, Any]) -> None:
        """Mark the cells of a row that would run as formulas, and name them in its slot; or only note them."""
        if not self._for_spreadsheets:
            self._report.count_note(FORMULA_MARK, _note_formulas)
            return
        for place in formulas:
            cells[place] = FORMULA_MARK + cells[place]
        if not self._plain:
            slot[MARKED] = [HEADER[place] for place in formulas]


def _note_formulas(count: int) -> str:
    rows = plural(count, "memory has", "memories have")
    return f"{rows} cells that a spreadsheet would run as formulas; `--for-spreadsheets` marks them"


def _cells(record: Record, plain_only: bool, *, for_program: bool) -> list[str]:
    time_cell = _milliseconds if for_program else _time_cell
    created = time_cell(record.created_at or None)
    scope, meta = record.scope, record.meta
    if for_program and (parts := scope.partition(":"))[0] and parts[2]:
        scope, meta = parts[0], {**meta, "scopeId": parts[2]}
    return [
        _id_cell(record, plain_only),
        original_content(record, TOOL, surrogates=False),
        record.title or "",
        record.kind,
        scope,
        record.tree,
        _tags_cell(record.tags),
        record.status,
        "" if record.strength is None else repr(record.strength),
        created,
        created if record.updated_at == record.created_at else time_cell(record.updated_at or None),
        time_cell(record.last_accessed),
        str(record.access_count) if record.access_count else "",
        canonical_value(meta).decode() if meta else "",
        "",
    ]


def _id_cell(record: Record, plain_only: bool) -> str:
    """Return the id from the memory's own file or AgentOS if it came from there, else its id."""
    for foreign in record.foreign:
        ours = foreign.tool == TOOL and not plain_only
        theirs = foreign.tool == AGENTOS and foreign.id.startswith(AGENTOS_ID)
        if (ours or theirs) and record.id == derive_id(foreign.tool, foreign.space, foreign.id):
            return foreign.id
    return record.id


def _tags_cell(values: list[str]) -> str:
    """Return tags separated by commas if they can be read back, else as a JSON list."""
    text = ",".join(values)
    return text if not values or tags(text.strip()) == values else canonical_value(values).decode()


def _time_cell(time: int | None) -> str:
    return "" if time is None else format_time(time)


def _milliseconds(time: int | None) -> str:
    return "" if time is None else str(time // 1000)


FORMAT = Format(
    name="csv",
    title="CSV, one memory a row",
    tool=TOOL,
    family="csv",
    extensions=(".csv", ".tsv"),
    fields=NATIVE_FIELDS,
    carry="memglot",
    read=read,
    write=write,
    dedup="content",
    conflict="merge",
    dialects=("program",),
    writing=WriteSupport(marks_formulas=True),
    merging=MergeSupport(by_hand=True, has_edit_times=True, defaults=TOOL_DEFAULTS, bookkeeping=BOOKKEEPING),
)
