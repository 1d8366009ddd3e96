"""Reader of a graph, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from memglot.display import plural
from memglot.errors import BadRecord
from memglot.formats.base import ReadOptions
from memglot.formats.core.carry import KEY, note_foreign_slot, take_slot
from memglot.formats.core.original_text import repair_content
from memglot.formats.core.sidecar import decode_item
from memglot.formats.core.source import Source
from memglot.formats.mcp_graph.lines import (
    ENTITY,
    RELATION,
    TOOL,
    LineCounter,
    LineSlot,
    MemoryName,
    NamedLine,
    T,
    apply_fields,
    can_be_memory,
    check_line,
    slot_key,
)
from memglot.formats.syntax.json_shape import type_name
from memglot.formats.syntax.json_stream import decode_object, objects
from memglot.formats.syntax.json_surrogates import encode
from memglot.model import Endpoint, Item, Record, mark_as_note, repair_text
from memglot.model.record_errors import not_a_slot, wrong_type
from memglot.report import SourceReport


def read_graph(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield entities and memories, each followed by its observations, relations, and lines that the server ignores."""
    reader = _GraphReader(report, options.space or "")
    try:
        for raw, value in objects(source, report, msgspec.json.decode):
            try:
                yield from reader.line(raw, decode_object(raw, value, report, "observations"))
            except BadRecord as error:
                report.failed_record(error)
    finally:
        reader.counter.close()
    if reader.ignored:
        report.note(_ignored_lines(source.name, reader.ignored))


class _GraphReader:
    """Reads one graph."""

    def __init__(self, report: SourceReport, space: str) -> None:
        self._report = report
        self.counter = LineCounter(space)
        self.ignored = 0

    def line(self, raw: bytes, line: dict[str, Any]) -> Iterator[Item]:
        """Yield the items of a line; raise `BadRecord` before the first one."""
        if line.get("type") not in (ENTITY, RELATION):
            self.ignored += 1
            # An object that spans several lines is rewritten as one line.
            text = raw.strip() if b"\n" not in raw.strip() else encode(line)
            yield self.counter.ignored_line(text.decode())
            return
        slot = self._slot(line)
        check_line(line)
        if line["type"] == RELATION:
            yield self._apply_fields(self.counter.relation(line), slot.relation)
        else:
            yield from self._entity(line, slot)
        if slot.also:
            yield from self._add_items(slot)
        if slot.end is not None:
            self._report.inputs.proof = slot.end

    def _slot(self, line: dict[str, Any]) -> LineSlot:
        """Remove our slot from a line; a foreign one stays, with a note."""
        if KEY not in line:
            return LineSlot()
        value = line[KEY]
        try:
            if not isinstance(value, dict) or value.keys().isdisjoint(LineSlot.__struct_fields__):
                raise not_a_slot()
            slot = msgspec.convert(value, LineSlot)
        except (BadRecord, msgspec.ValidationError) as error:
            self._note_foreign_slot(error)
            return LineSlot()
        del line[KEY]
        return slot

    def _note_foreign_slot(self, error: Exception) -> None:
        self._report.note(note_foreign_slot(self._report.source, error))

    def _apply_fields(self, native: T, found: dict[str, Any]) -> T:
        try:
            return apply_fields(native, found)
        except msgspec.ValidationError as error:
            self._note_foreign_slot(error)
            return native

    def _add_items(self, slot: LineSlot) -> Iterator[Item]:
        for value in slot.also:
            try:
                yield decode_item(msgspec.json.encode(value))
            except BadRecord as error:
                self._note_foreign_slot(error)

    def _entity(self, line: dict[str, Any], slot: LineSlot) -> Iterator[Item]:
        named_line = self.counter.next_line(line["name"])
        record = self._memory(named_line, line, slot)
        if record is not None:
            attached = take_slot({KEY: slot.record}, record, self._report) if slot.record else None
            yield record
            yield from attached or ()
            yield from self._observations(line["observations"], 1, named_line, Endpoint(record.id), slot)
            return
        entity = self._apply_fields(named_line.entity(line), slot.entity or {})
        if not slot.made:
            yield entity
        yield from self._observations(line["observations"], 0, named_line, Endpoint(entity.id, entity=True), slot)

    def _memory(self, named_line: NamedLine, line: dict[str, Any], slot: LineSlot) -> Record | None:
        """Return the memory of a line, or `None` if the line is an entity."""
        if slot.entity is not None or slot.made:
            return None
        record = named_line.memory(line)
        if record is None and slot.record is not None and can_be_memory(line):
            record = Record(content=line["observations"][0], kind=line["entityType"], title=named_line.name)
            repair_content(record, TOOL)
            return record
        named = MemoryName.parse(named_line.name)
        if record is not None and named is not None:
            edited = named.was_edited(record.content)
            if edited or slot.record is None:
                # A line that the server rewrote has no times: only a different text counts as an edit.
                mark_as_note(record, edited=edited)
        return record

    def _observations(
        self, found: list[Any], start: int, named_line: NamedLine, end: Endpoint, slot: LineSlot
    ) -> Iterator[Item]:
        numbers: dict[str, int] = {}
        for position, text in enumerate(found[start:], start):
            if text == "":
                # A memory cannot be empty: the entity keeps the positions of empty observations.
                continue
            if not isinstance(text, str):
                self._report.failed_record(wrong_type(f"observations[{position}]", "text", type_name(text)))
                continue
            stored, _ = repair_text(text)
            number = numbers[stored] = numbers.get(stored, 0) + 1
            record = named_line.fact(text, number)
            if not slot.observations and not slot.about:
                yield record
                yield named_line.about(record, end, position)
                continue
            key = slot_key(stored, number)
            attached = None
            if carried := slot.observations.get(key):
                attached = take_slot({KEY: carried}, record, self._report)
            yield record
            yield self._apply_fields(named_line.about(record, end, position), slot.about.get(key, {}))
            yield from attached or ()


def _ignored_lines(source: str, count: int) -> str:
    """Return the note for lines that the MCP memory server ignores."""
    return f"kept {plural(count, 'line')} of {source} of another type than entity or relation, which the server ignores"
