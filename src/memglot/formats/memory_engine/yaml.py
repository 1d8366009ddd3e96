"""YAML: a list of memories with Memory Engine's keys; other fields are in the carry slot `meta.memglot`."""

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from memglot.errors import BadRecord, Unreadable
from memglot.formats.base import Format, MergeSupport, ReadOptions, WriteOptions
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.memory_engine.dialects import LATER, TOOL, is_pack, pack_memories
from memglot.formats.memory_engine.wire import FIELDS, items_of_object, to_objects
from memglot.formats.syntax.yaml_reader import BrokenYaml, YamlReader
from memglot.formats.syntax.yaml_writer import dump
from memglot.model import Item
from memglot.report import Report, SourceReport

_MAX_RESTARTS = 100
_PIECE = 1 << 16
_ITEM = re.compile(rb"-\s")


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the memories of a list, or the one of a single mapping.

    After a syntax error, reading continues at the next line that begins an item of the list.
    """
    rest = _Rest(source)
    try:
        yield from _read(source, rest, report, options)
    finally:
        rest.stream.close()


def _read(source: Source, rest: "_Rest", report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    while True:
        values = YamlReader(
            rest.stream, start=rest.offset, size=source.size, unchecked="content", max_record=source.max_record
        )
        try:
            yield from _memories(values, rest, report, options)
            return
        except BrokenYaml as error:
            line = rest.line + error.line
            report.item = rest.item + 1
            if values.is_list and not error.ended and rest.skip(rest.line + values.line, values.inside):
                report.failed_record(error.error, line=line)
            else:
                report.failed_record(
                    BadRecord(
                        f"{error.error}; the rest of the file could not be read", "repair the file and import it again"
                    ),
                    line=line,
                )
                return


def _memories(values: YamlReader, rest: "_Rest", report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    found = False
    for value in values.values():
        found = True
        rest.item += 1
        report.item, report.line = rest.item, rest.line + values.line
        try:
            if isinstance(value, BadRecord):
                raise value
            for memory in pack_memories(value) if options.lenient and is_pack(value) else [value]:
                yield from items_of_object(memory, report, options)
        except BadRecord as error:
            report.failed_record(error)
    if not found and not values.is_list:
        report.fault(Unreadable(report.source, "it is empty"))


class _Rest:
    """The rest of a source: where it begins, and how many items came before it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._restarts = 0
        self.stream: BinaryIO = source.stream
        self.offset = source.start
        self.line = 0
        self.item = 0

    def skip(self, last: int, inside: bool) -> bool:
        """Go to the next line after the broken item that begins another; return True if there is one.

        `last` is the line where the last item begins; unless the error is `inside` it, the next item is broken.
        """
        self._restarts += 1
        if self._restarts > _MAX_RESTARTS or not self._can_seek():
            return False
        offset = self.offset
        self.stream.seek(offset)
        number, to_pass = self.line, 0 if inside else 1
        while line := self.stream.readline(_PIECE):
            if number >= last and _ITEM.match(line) and (to_pass := to_pass - 1) < 0:
                self.stream.seek(offset)
                self.offset, self.line = offset, number
                self.item += 1
                return True
            offset += len(line)
            while line and not line.endswith(b"\n"):
                line = self.stream.readline(_PIECE)
                offset += len(line)
            number += 1
        return False

    def _can_seek(self) -> bool:
        """Open the source again, if that is not done yet; return False if that is not possible."""
        if self._restarts == 1 and (stream := self._source.reopen()) is not None:
            self.stream.close()
            self.stream = stream
            return True
        return self._restarts > 1


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write a list of memories."""
    with target.file() as out:
        for memory in to_objects(items, target, report, options, json=False):
            out.write(dump([memory]).encode("utf-8"))
        if report.proof is not None and not report.proof.count:
            out.write(b"[]\n")


FORMAT = Format(
    name="yaml",
    title="YAML 1.2, a list of memories",
    tool=TOOL,
    family="yaml",
    extensions=(".yaml", ".yml"),
    aliases=("yml",),
    fields=FIELDS,
    carry="meta.memglot",
    read=read,
    write=write,
    merging=MergeSupport(has_clocks=True),
    dialects=(LATER,),
)
