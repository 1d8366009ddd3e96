"""Reads Memory Engine's JSON, in all its layouts."""

from collections.abc import Iterator

import msgspec

from memglot.errors import BadRecord
from memglot.formats.base import ReadOptions
from memglot.formats.core.source import Source
from memglot.formats.memory_engine.wire import Wire, careful_items, quick_record
from memglot.formats.syntax.json_stream import check_depth, decode_value, objects
from memglot.model import Item
from memglot.report import SourceReport


def read_json(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the memories of an array, a single object or lines, each checked by itself."""
    for raw, wire in objects(source, report, msgspec.json.Decoder(Wire).decode):
        try:
            record = None
            if wire is not None and not options.lenient:
                check_depth(raw)
                record = quick_record(wire, report)
            if record is None:
                yield from careful_items(decode_value(raw, report), report, options, json=True)
            else:
                yield record
        except BadRecord as error:
            report.failed_record(error)
