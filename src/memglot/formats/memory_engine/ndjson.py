"""NDJSON: one memory a line, Memory Engine's keys; what they cannot hold rides in `meta.memglot`."""

from collections.abc import Iterable
from typing import Any

import msgspec

from memglot.formats.base import Format, WriteOptions
from memglot.formats.core.proof import proved
from memglot.formats.core.target import Target
from memglot.formats.memory_engine.json_reader import read_json
from memglot.formats.memory_engine.wire import HOMES, TOOL, to_wire
from memglot.model import Item
from memglot.report import Report

_AT_ONCE = 100


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write one line a memory."""
    encode = msgspec.json.Encoder().encode_lines
    with target.file() as out:
        lines: list[dict[str, Any]] = []
        for bundle, end in proved(items, target, report):
            lines.append(to_wire(bundle, report, options, end, json=True))
            if len(lines) >= _AT_ONCE:
                out.write(encode(lines))
                lines.clear()
        out.write(encode(lines))


FORMAT = Format(
    name="ndjson",
    title="NDJSON, one memory a line",
    tool=TOOL,
    family="json",
    extensions=(".ndjson", ".jsonl"),
    aliases=("jsonl",),
    fields=HOMES,
    carry="meta.memglot",
    read=read_json,
    write=write,
    empty_is_error=False,
)
