"""Writer of a graph: ignored lines, entities with their observations, other memories, relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from memglot.disk import DiskList
from memglot.formats.core.carry import differences, pack_found
from memglot.formats.core.original_text import original_content, repair_content
from memglot.formats.core.sidecar import display_key, kind_name
from memglot.formats.core.target import Target
from memglot.formats.core.written_ids import WrittenIds
from memglot.formats.mcp_graph.lines import (
    EMPTY,
    ENTITY,
    LINES,
    RELATION,
    TOOL,
    LineCounter,
    LineSlot,
    MemoryName,
    NamedLine,
    differing_fields,
    entity_line,
    names_as_read,
    relation_line,
    slot_key,
    tool_extra,
)
from memglot.formats.mcp_graph.tables import GraphTables, NamedRelation, Observation
from memglot.model import Blob, Endpoint, Entity, Item, Record, Relation, Thing, to_builtins
from memglot.report import Report

_NAMELESS = "memory"


class GraphLine(NamedTuple):
    """A line, its carry slot, and the items that a reader will find in it."""

    keys: dict[str, Any]
    slot: LineSlot
    items: list[Item]


class GraphBuffer:
    """Collects items until their lines can be written; items without a line go to the sidecar."""

    def __init__(self, target: Target, space: str) -> None:
        self._target = target
        self.tables = GraphTables()
        self.counter = LineCounter(space)
        self._lines: DiskList[Any] = DiskList()

    def add(self, record: Record, attached: list[Thing]) -> None:
        """Add a memory and its attached items."""
        for item in attached:
            if isinstance(item, Relation):
                self.tables.add_relation(item)
        self.tables.add_record(record, [item for item in attached if not isinstance(item, Relation)])

    def add_leftover(self, item: Item, report: Report) -> None:
        """Add an item that is not a memory."""
        if isinstance(item, Entity):
            self.tables.add_entity(item)
        elif isinstance(item, Relation):
            self.tables.add_relation(item)
        elif isinstance(item, Blob) and _is_line(item) and self.counter.ignored_line(item.row) == item:
            self._lines.append(to_builtins(item))
        else:
            self._target.add_leftover(item, report)

    def ignored_lines(self) -> Iterator[Blob]:
        """Yield the lines that the server ignores."""
        for value in self._lines:
            yield msgspec.convert(value, Blob)

    def keep_in_sidecar(self, relation: Relation, report: Report) -> None:
        """Move a relation without a line to the sidecar."""
        self._target.add_leftover(relation, report)


def _is_line(blob: Blob) -> bool:
    """Return True if a blob is a line that the server ignores and can parse."""
    if blob.tool != TOOL or blob.table != LINES or not isinstance(blob.row, str) or "\n" in blob.row:
        return False
    try:
        value = msgspec.json.decode(blob.row)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("type") not in (ENTITY, RELATION)


class LineWriter:
    """Builds the lines of a graph from a buffer."""

    def __init__(self, buffer: GraphBuffer, report: Report, *, plain: bool) -> None:
        self._buffer, self._report, self._plain = buffer, report, plain
        self._counter, self._tables = buffer.counter, buffer.tables
        self._written_ids = WrittenIds()

    def close(self) -> None:
        """Delete the files."""
        for kept in (self._counter, self._tables, self._written_ids):
            kept.close()

    def lines(self) -> Iterator[GraphLine]:
        """Yield all lines in file order."""
        for name, entities in self._tables.entities():
            yield self._entity(name, entities)
        for record, attached in self._tables.records():
            yield self._record(record, attached)
        self._name_relations()
        for group in self._tables.named():
            yield from self._relations(group)

    def _entity(self, name: str, found: list[tuple[str, Entity | None]]) -> GraphLine:
        """Return one line for all entities of a name, since the server would use only the first of several."""
        named_line = self._counter.next_line(name)
        here = sorted(
            (entity for _, entity in found if entity is not None), key=lambda entity: entity.id != named_line.id
        )
        main = here[0] if here else Entity(id=named_line.id, name=name)
        ids = list(dict.fromkeys(id for id, _ in found))
        fresh = [id for id in ids if self._written_ids.get(id, entity=True) is None]
        for id in fresh:
            self._written_ids.add(id, name, entity=True)
        observations = self._tables.observations(fresh, of_entities=True)
        line = self._line(named_line, main.type, [], tool_extra(main), observations, Endpoint(main.id, entity=True))
        if here:
            native = named_line.entity(line.keys)
            carried = self._to_carry(main, differing_fields(main, native))
            if named_line.memory(line.keys) is not None:
                # A line that looks like a memory's must say that it is an entity.
                line.slot.entity = carried
                if self._plain:
                    self._report.dropped(kind_name(main), main.id)
            else:
                line.slot.entity = carried or None
            line.items.insert(0, main)
            self._add_items(line, here[1:])
        else:
            line.slot.made = True
        return line

    def _record(self, record: Record, attached: list[Thing]) -> GraphLine:
        """Return the line of a memory: an entity whose first observation is its content."""
        named_line = self._counter.next_line(MemoryName.of(record) if record.id else record.title or _NAMELESS)
        fresh = bool(record.id) and self._written_ids.get(record.id, entity=False) is None
        observations = self._tables.observations([record.id], of_entities=False) if fresh else []
        if record.id:
            self._written_ids.add(record.id, named_line.name)
        line = self._line(
            named_line,
            record.kind,
            [original_content(record, TOOL)],
            tool_extra(record),
            observations,
            Endpoint(record.id),
        )
        read = named_line.memory(line.keys)
        if read is None:
            content = original_content(record, TOOL)
            read = named_line.fact(content, 1) if self._plain else Record(content=content)
            repair_content(read, TOOL)
            if not self._plain:
                read.kind, read.title = record.kind, named_line.name
        line.slot.record = pack_found(differences(record, read), record, attached, self._report, self._plain, read)
        line.items[:0] = [record, *attached]
        return line

    def _line(
        self,
        named_line: NamedLine,
        type: str,
        first: list[str],
        own: dict[str, Any],
        found: list[Observation],
        end: Endpoint,
    ) -> GraphLine:
        """Return a line with its observations; fields that the observations cannot express are carried."""
        written, also = _split_repeated(named_line, found)
        texts = _with_empty(first + [original_content(observation.record, TOOL) for observation in written], own)
        line = GraphLine(entity_line(named_line.name, type, texts, own), LineSlot(), [])
        rest = iter(written)
        numbers: Counter[str] = Counter()
        for position, text in enumerate(texts):
            if not text or position < len(first):
                continue
            record, attached, about = next(rest)
            numbers[record.content] += 1
            key = slot_key(record.content, numbers[record.content])
            fact = named_line.fact(text, numbers[record.content])
            if fact.id != record.id:
                self._report.renamed.append((fact.id, record.id))
            missing = {} if record == fact else differences(record, fact)
            if carried := pack_found(missing, record, attached, self._report, self._plain, fact):
                line.slot.observations[key] = carried
            if carried := self._to_carry(about, differing_fields(about, named_line.about(record, end, position))):
                line.slot.about[key] = carried
            line.items.extend((record, about, *attached))
        for observation in [*written, *also]:
            self._written_ids.add(observation.record.id, named_line.name)
        for record, attached, about in also:
            self._add_items(line, [record, about, *attached])
        return line

    def _name_relations(self) -> None:
        """Find the names of the ends of relations: those of their lines, else those they were read with."""
        for number, relation in enumerate(self._tables.relations()):
            names, nth = names_as_read(relation)
            subject, object = relation.subject, relation.object
            if nth is None and not subject.entity and self._written_ids.get(subject.id, entity=False) is None:
                self._buffer.keep_in_sidecar(relation, self._report)
                continue
            start, end = self._name(subject, names), self._name(object, names)
            self._tables.add_named(number, NamedRelation(start, end, nth, relation))

    def _name(self, end: Endpoint, names: dict[str, str]) -> str:
        place = self._written_ids.get(end.id, entity=end.entity)
        # A name may be empty.
        return place if place is not None else names.get(end.id, end.id) if end.entity else end.id

    def _relations(self, group: list[NamedRelation]) -> Iterator[GraphLine]:
        """Yield a line for each relation of the graph; equal relations share the last line."""
        own = [named for named in group if named.nth is not None] or group[:1]
        for named in own:
            keys = relation_line(named.relation, named.start, named.end)
            found = differing_fields(named.relation, self._counter.relation(keys))
            line = GraphLine(keys, LineSlot(relation=self._to_carry(named.relation, found)), [named.relation])
            if named is own[-1]:
                self._add_items(line, [other.relation for other in group[len(own) :]])
            yield line

    def _to_carry(self, thing: Entity | Relation, found: dict[str, Any]) -> dict[str, Any]:
        """Return the fields to carry; a plain file carries nothing, and the losses are reported."""
        if not self._plain:
            return found
        for field in found:
            self._report.dropped(f"{kind_name(thing)}.{field}", thing.id)
        return {}

    def _add_items(self, line: GraphLine, items: Iterable[Item]) -> None:
        """Carry further items on a line."""
        for item in items:
            line.items.append(item)
            line.slot.also.append({kind_name(item): to_builtins(item)})
            if self._plain:
                self._report.dropped(kind_name(item), display_key(item))


def _split_repeated(named_line: NamedLine, found: list[Observation]) -> tuple[list[Observation], list[Observation]]:
    """Return the observations to write, and those that repeat one of them.

    Equal texts are written as often as the graph had them. Another memory with such a text, created when the server
    dropped unknown keys, shares the first one's position.
    """
    count = Counter(observation.record.content for observation in found)
    written: list[Observation] = []
    also: list[Observation] = []
    own = {named_line.fact(text, n).id for text, times in count.items() if times > 1 for n in range(1, times + 1)}
    natives = {observation.record.content for observation in found if observation.record.id in own}
    seen: set[str] = set()
    for observation in found:
        text, id = observation.record.content, observation.record.id
        is_written = count[text] == 1 or id in own or text not in natives and text not in seen
        seen.add(text)
        (written if is_written else also).append(observation)
    return written, also


def _with_empty(texts: list[str], own: dict[str, Any]) -> list[str]:
    """Insert empty observations at their positions; a memory cannot be empty."""
    empty = own.get(EMPTY)
    places = sorted(place for place in empty if type(place) is int) if isinstance(empty, list) else []
    if not places:
        return texts
    found: list[str] = []
    rest = iter(texts)
    for place in places:
        while len(found) < place and (text := next(rest, None)) is not None:
            found.append(text)
        found.append("")
    return [*found, *rest]
