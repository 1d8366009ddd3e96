"""NDJSON: one memory a line, Memory Engine's keys; what they cannot hold rides in `meta.memglot`."""

from collections.abc import Iterable

import msgspec

from memglot.formats._memory_engine.reading import read_json
from memglot.formats._memory_engine.wire import HOMES, TOOL, to_wire
from memglot.formats.carry import bundles
from memglot.formats.format import Format, Options
from memglot.formats.proof import Prover
from memglot.formats.target import Target
from memglot.model import Item
from memglot.report import Report


def write(items: Iterable[Item], target: Target, report: Report, options: Options) -> None:
    """Write one line a memory."""
    encode = msgspec.json.Encoder().encode_into
    prover = Prover()
    with target.file() as out:
        buffer = bytearray()
        for bundle in bundles(items, target, report):
            prover.add(bundle.record, bundle.riders)
            end = prover.end() if bundle.last else None
            encode(to_wire(bundle, report, options, end, json=True), buffer, -1)
            buffer += b"\n"
            if len(buffer) > 1 << 16:
                out.write(buffer)
                buffer.clear()
        out.write(buffer)
    report.written(prover.end())


FORMAT = Format(
    name="ndjson",
    title="NDJSON, one memory a line",
    tool=TOOL,
    family="json",
    extensions=(".ndjson", ".jsonl"),
    aliases=("jsonl",),
    homes=HOMES,
    carry="meta.memglot",
    read=read_json,
    write=write,
    empty_is_error=False,
)
