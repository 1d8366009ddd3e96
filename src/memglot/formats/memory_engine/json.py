"""JSON: an array of memories with Memory Engine's keys; what they cannot hold rides in `meta.memglot`."""

from collections.abc import Iterable

import msgspec

from memglot.formats.base import Format, WriteOptions
from memglot.formats.core.proof import proved
from memglot.formats.core.target import Target
from memglot.formats.memory_engine.json_reader import read_json
from memglot.formats.memory_engine.wire import HOMES, TOOL, to_wire
from memglot.model import Item
from memglot.report import Report

_OPENING = b"[\n  "


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write an array, indented by two spaces as Memory Engine does."""
    encode = msgspec.json.Encoder().encode
    with target.file() as out:
        before = _OPENING
        for bundle, end in proved(items, target, report):
            text = msgspec.json.format(encode(to_wire(bundle, report, options, end, json=True)), indent=2)
            out.write(before + text.replace(b"\n", b"\n  "))
            before = b",\n  "
        out.write(b"[]\n" if before == _OPENING else b"\n]\n")


FORMAT = Format(
    name="json",
    title="JSON, an array of memories",
    tool=TOOL,
    family="json",
    extensions=(".json",),
    fields=HOMES,
    carry="meta.memglot",
    read=read_json,
    write=write,
)
