"""NDJSON: one memory per line, with Memory Engine's keys; other fields are in the carry slot `meta.memglot`.

This is the example for new formats: a reader, a writer, and the declaration that everything else follows from.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from memglot.errors import BadRecord
from memglot.formats.base import Format, MergeSupport, ReadOptions, WriteOptions
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.memory_engine.dialects import LATER, TOOL
from memglot.formats.memory_engine.wire import FIELDS, Wire, read_value, to_objects
from memglot.formats.syntax.json_stream import objects
from memglot.formats.syntax.json_surrogates import encode_lines
from memglot.model import Item
from memglot.report import Report, SourceReport

_LINES_AT_ONCE = 100


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield each memory and its attached items; report a memory that is not valid, and continue.

    `objects` also accepts an array or a single object, so this reads JSON files too.
    """
    for raw, value in objects(source, report, msgspec.json.Decoder(Wire).decode):
        try:
            yield from read_value(raw, value, report, options)
        except BadRecord as error:
            report.failed_record(error)


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write one line per memory; the last line has the proof."""
    with target.file() as out:
        lines: list[dict[str, Any]] = []
        for memory in to_objects(items, target, report, options, json=True):
            lines.append(memory)
            if len(lines) >= _LINES_AT_ONCE:
                out.write(encode_lines(lines))
                lines.clear()
        out.write(encode_lines(lines))


FORMAT = Format(
    name="ndjson",
    title="NDJSON, one memory a line",
    tool=TOOL,
    family="json",
    extensions=(".ndjson", ".jsonl"),
    aliases=("jsonl",),
    fields=FIELDS,
    carry="meta.memglot",
    read=read,
    write=write,
    dialects=(LATER,),
    empty_is_error=False,
    merging=MergeSupport(has_clocks=True),
)
