"""JSON: an array of memories with Memory Engine's keys; other fields are in the carry slot `meta.memglot`."""

from collections.abc import Iterable

from memglot.formats.base import Format, MergeSupport, WriteOptions
from memglot.formats.core.target import Target
from memglot.formats.memory_engine.dialects import LATER, TOOL
from memglot.formats.memory_engine.ndjson import read
from memglot.formats.memory_engine.wire import FIELDS, to_objects
from memglot.formats.syntax.json_surrogates import encode
from memglot.model import Item
from memglot.report import Report

_OPENING = b"[\n  "


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write an array, indented by two spaces like Memory Engine's."""
    with target.file() as out:
        before = _OPENING
        for memory in to_objects(items, target, report, options, json=True):
            text = encode(memory, indent=2)
            out.write(before + text.replace(b"\n", b"\n  "))
            before = b",\n  "
        out.write(b"[]\n" if before == _OPENING else b"\n]\n")


FORMAT = Format(
    name="json",
    title="JSON, an array of memories",
    tool=TOOL,
    family="json",
    extensions=(".json",),
    fields=FIELDS,
    carry="meta.memglot",
    read=read,
    write=write,
    merging=MergeSupport(has_clocks=True),
    dialects=(LATER,),
)
