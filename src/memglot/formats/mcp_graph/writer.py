"""Writes a graph: lines that the server ignores, entities with their observations, other memories, relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from memglot.disk import DiskList
from memglot.formats.core.carry import differences, pack_found
from memglot.formats.core.sidecar import key_of, name_of
from memglot.formats.core.target import Target
from memglot.formats.core.written_ids import WrittenIds
from memglot.formats.mcp_graph.buffer import Named, Observation, Scratch
from memglot.formats.mcp_graph.lines import (
    EMPTY,
    ENTITY,
    LINES,
    RELATION,
    TOOL,
    Graph,
    Memory,
    Node,
    Slot,
    differing,
    entity_line,
    own_of,
    place_of,
    relation_line,
    slot_key,
)
from memglot.model import Blob, Endpoint, Entity, Item, Record, Relation, Thing, to_builtins
from memglot.report import Report

_NAMELESS = "memory"


class Line(NamedTuple):
    """A line, what is carried on it, and the items that a reader will make of it."""

    keys: dict[str, Any]
    slot: Slot
    items: list[Item]


class Shelf:
    """Keeps items until their lines can be written; what has no line goes beside the file."""

    def __init__(self, target: Target, space: str) -> None:
        self._target = target
        self.scratch = Scratch()
        self.graph = Graph(space)
        self._lines: DiskList[Any] = DiskList()

    def add(self, record: Record, riders: list[Thing]) -> None:
        """Keep a memory and what rides with it."""
        for rider in riders:
            if isinstance(rider, Relation):
                self.scratch.add_relation(rider)
        self.scratch.add_record(record, [rider for rider in riders if not isinstance(rider, Relation)])

    def beside(self, item: Item, report: Report) -> None:
        """Keep what is no memory."""
        if isinstance(item, Entity):
            self.scratch.add_entity(item)
        elif isinstance(item, Relation):
            self.scratch.add_relation(item)
        elif isinstance(item, Blob) and _is_line(item) and self.graph.other(item.row) == item:
            self._lines.append(to_builtins(item))
        else:
            self._target.beside(item, report)

    def lines(self) -> Iterator[Blob]:
        """The lines that the server ignores."""
        for value in self._lines:
            yield msgspec.convert(value, Blob)

    def leave(self, relation: Relation, report: Report) -> None:
        """Put a relation beside the file that has no line after all."""
        self._target.beside(relation, report)


def _is_line(blob: Blob) -> bool:
    """Tell whether a blob is a line that the server will pass over, and not one that it would stumble at."""
    if blob.tool != TOOL or blob.table != LINES or not isinstance(blob.row, str) or "\n" in blob.row:
        return False
    try:
        value = msgspec.json.decode(blob.row)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("type") not in (ENTITY, RELATION)


class Writing:
    """Makes the lines of a graph from all that is on the shelf."""

    def __init__(self, shelf: Shelf, report: Report, *, plain: bool) -> None:
        self._shelf, self._report, self._plain = shelf, report, plain
        self._graph, self._scratch = shelf.graph, shelf.scratch
        self._written_ids = WrittenIds()

    def close(self) -> None:
        """Let go of what is on disk."""
        for kept in (self._graph, self._scratch, self._written_ids):
            kept.close()

    def lines(self) -> Iterator[Line]:
        """All lines, in the order of the file."""
        for name, entities in self._scratch.entities():
            yield self._entity(name, entities)
        for record, riders in self._scratch.records():
            yield self._record(record, riders)
        self._name_relations()
        for group in self._scratch.named():
            yield from self._relations(group)

    def _entity(self, name: str, found: list[tuple[str, Entity | None]]) -> Line:
        """One line for all entities of a name, since the server would see only the first of several."""
        node = self._graph.node(name)
        here = sorted((entity for _, entity in found if entity is not None), key=lambda entity: entity.id != node.id)
        main = here[0] if here else Entity(id=node.id, name=name)
        ids = list(dict.fromkeys(id for id, _ in found))
        fresh = [id for id in ids if self._written_ids.get(id, entity=True) is None]
        for id in fresh:
            self._written_ids.add(id, name, entity=True)
        observations = self._scratch.observations(fresh, of_entities=True)
        line = self._line(node, main.type, [], own_of(main), observations, Endpoint(main.id, entity=True))
        if here:
            native = node.entity(line.keys)
            carried = self._carried(main, differing(main, native))
            if node.memory(line.keys) is not None:
                # A line that looks like that of a memory must say that it is none.
                line.slot.entity = carried
                if self._plain:
                    self._report.dropped(name_of(main), main.id)
            else:
                line.slot.entity = carried or None
            line.items.insert(0, main)
            self._also(line, here[1:])
        else:
            line.slot.made = True
        return line

    def _record(self, record: Record, riders: list[Thing]) -> Line:
        """A memory of its own, as an entity whose first observation is its content."""
        node = self._graph.node(Memory.name_of(record) if record.id else record.title or _NAMELESS)
        fresh = bool(record.id) and self._written_ids.get(record.id, entity=False) is None
        observations = self._scratch.observations([record.id], of_entities=False) if fresh else []
        if record.id:
            self._written_ids.add(record.id, node.name)
        line = self._line(node, record.kind, [record.content], own_of(record), observations, Endpoint(record.id))
        read = node.memory(line.keys)
        if read is None:
            read = node.fact(record.content, 1) if self._plain else Record(content=record.content)
            if not self._plain:
                read.kind, read.title = record.kind, node.name
        line.slot.record = pack_found(differences(record, read), record, riders, self._report, self._plain)
        line.items[:0] = [record, *riders]
        return line

    def _line(
        self, node: Node, type: str, first: list[str], own: dict[str, Any], found: list[Observation], end: Endpoint
    ) -> Line:
        """A line with observations, each with what it cannot say by itself."""
        told, also = _told(node, found)
        texts = _with_empty(first + [observation.record.content for observation in told], own)
        line = Line(entity_line(node.name, type, texts, own), Slot(), [])
        rest = iter(told)
        numbers: Counter[str] = Counter()
        for position, text in enumerate(texts):
            if not text or position < len(first):
                continue
            record, riders, about = next(rest)
            numbers[text] += 1
            key = slot_key(text, numbers[text])
            fact = node.fact(text, numbers[text])
            missing = {} if record == fact else differences(record, fact)
            if carried := pack_found(missing, record, riders, self._report, self._plain):
                line.slot.observations[key] = carried
            if carried := self._carried(about, differing(about, node.about(record, end, position))):
                line.slot.about[key] = carried
            line.items.extend((record, about, *riders))
        for observation in [*told, *also]:
            self._written_ids.add(observation.record.id, node.name)
        for record, riders, about in also:
            self._also(line, [record, about, *riders])
        return line

    def _name_relations(self) -> None:
        """Find the names that stand for the ends of relations: of their lines, else those they were read with."""
        for number, relation in enumerate(self._scratch.relations()):
            names, nth = place_of(relation)
            subject, object = relation.subject, relation.object
            if nth is None and not subject.entity and self._written_ids.get(subject.id, entity=False) is None:
                self._shelf.leave(relation, self._report)
                continue
            start, end = self._name(subject, names), self._name(object, names)
            self._scratch.name(number, Named(start, end, nth, relation))

    def _name(self, end: Endpoint, names: dict[str, str]) -> str:
        place = self._written_ids.get(end.id, entity=end.entity)
        # A name may be empty.
        return place if place is not None else names.get(end.id, end.id) if end.entity else end.id

    def _relations(self, group: list[Named]) -> Iterator[Line]:
        """A line for each relation that the graph had; one that says the same shares the last of these."""
        own = [named for named in group if named.nth is not None] or group[:1]
        for named in own:
            keys = relation_line(named.relation, named.start, named.end)
            found = differing(named.relation, self._graph.relation(keys))
            line = Line(keys, Slot(relation=self._carried(named.relation, found)), [named.relation])
            if named is own[-1]:
                self._also(line, [other.relation for other in group[len(own) :]])
            yield line

    def _carried(self, thing: Entity | Relation, found: dict[str, Any]) -> dict[str, Any]:
        """What of a thing is carried; in a plain file nothing is, and the report names the losses."""
        if not self._plain:
            return found
        for field in found:
            self._report.dropped(f"{name_of(thing)}.{field}", thing.id)
        return {}

    def _also(self, line: Line, items: Iterable[Item]) -> None:
        """Let a line stand for further items, which it carries whole."""
        for item in items:
            line.items.append(item)
            line.slot.also.append({name_of(item): to_builtins(item)})
            if self._plain:
                self._report.dropped(name_of(item), key_of(item))


def _told(node: Node, found: list[Observation]) -> tuple[list[Observation], list[Observation]]:
    """Which observations a line tells, and which say the same as one of these.

    Equal texts are told as often as the graph had them. A further memory of such a text, as comes to be when the server
    drops what it does not know, shares the place of the first.
    """
    count = Counter(observation.record.content for observation in found)
    told: list[Observation] = []
    also: list[Observation] = []
    own = {node.fact(text, n).id for text, times in count.items() if times > 1 for n in range(1, times + 1)}
    natives = {observation.record.content for observation in found if observation.record.id in own}
    taken: set[str] = set()
    for observation in found:
        text, id = observation.record.content, observation.record.id
        is_told = count[text] == 1 or id in own or text not in natives and text not in taken
        taken.add(text)
        (told if is_told else also).append(observation)
    return told, also


def _with_empty(texts: list[str], own: dict[str, Any]) -> list[str]:
    """Observations with the empty ones in their places, which no memory can be."""
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
