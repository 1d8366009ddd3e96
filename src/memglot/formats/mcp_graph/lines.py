"""Conversion between the lines of a graph and entities, memories, observations and relations."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypeVar

import msgspec

from memglot.disk import DiskMap
from memglot.errors import BadRecord
from memglot.formats.core.carry import KEY
from memglot.formats.core.original_text import repair_content
from memglot.formats.syntax.json_shape import type_name
from memglot.model import (
    Blob,
    Endpoint,
    Entity,
    Foreign,
    Record,
    Relation,
    canonical_value,
    check_value,
    content_hash,
    derive_id,
    set_times_from_id,
    to_builtins,
)
from memglot.model.ids import UUID7
from memglot.model.record_errors import wrong_type
from memglot.report import Proof

TOOL = "mcp-graph"
ENTITY, RELATION = "entity", "relation"
ABOUT, FACT = "about", "fact"
LINES = "lines"
"""Table of lines that the server ignores."""
MORE, EMPTY, NUMBER, POSITION, NAME = "more", "empty", "number", "position", "entity"
_ENTITY = ("type", "name", "entityType", "observations")
_RELATION = ("type", "from", "to", "relationType")
_MARK = rf"({UUID7.pattern}) ([0-9a-f]{{8}})"
_MEMORY = re.compile(rf"{_MARK}|(.+) \[{_MARK}\]", re.DOTALL)
T = TypeVar("T", Entity, Relation)


class LineSlot(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a line carries under `memglot`."""

    record: dict[str, Any] | None = None
    """Carry slot of the memory, if the line is a memory and not an entity."""
    entity: dict[str, Any] | None = None
    """Differing fields of the entity, if the line is an entity, even if its name looks like a memory's."""
    made: bool = False
    """True if the store has no such entity and the line exists only for its observations."""
    observations: dict[str, dict[str, Any]] = {}
    """Carry slots of the observations, by `slot_key`."""
    about: dict[str, dict[str, Any]] = {}
    """Differing fields of the relations between the observations and the entity."""
    relation: dict[str, Any] = {}
    also: list[dict[str, Any]] = []
    """Other items that would have an equal line."""
    end: Proof | None = None


class MemoryName(NamedTuple):
    """The parts of a memory's line name: its id, its title and the start of its content hash."""

    id: str
    title: str | None
    hash: str

    @classmethod
    def parse(cls, name: str) -> MemoryName | None:
        """Return the parts of a name, or `None` if it is not the name of a memory."""
        found = _MEMORY.fullmatch(name)
        if found is None:
            return None
        return cls(found[1], None, found[2]) if found[1] else cls(found[4], found[3], found[5])

    @classmethod
    def of(cls, record: Record) -> str:
        """Return the name of a memory that is not an observation.

        The server drops keys that it does not know, so the name identifies the memory and its text.
        """
        mark = f"{record.id} {_short_hash(record.content)}"
        return f"{record.title} [{mark}]" if record.title else mark

    def was_edited(self, content: str) -> bool:
        """Return True if the memory had a different text when it was named."""
        return self.hash != _short_hash(content)


def _short_hash(text: str) -> str:
    return content_hash(text).hex()[:8]


def entity_id(name: str, space: str, number: int = 1) -> str:
    """Return the id of the n-th entity of a name; in relations a name means the first, as in the server."""
    return derive_id(TOOL if number == 1 else f"{TOOL}-{number}", space, name)


class NamedLine(NamedTuple):
    """The name of a line; `number` counts the lines of that name in the file."""

    name: str
    number: int
    space: str
    key: str
    """What identifies it: the id for a memory, so that its title may change."""

    @property
    def id(self) -> str:
        """The id of its entity."""
        return entity_id(self.name, self.space, self.number)

    def entity(self, line: dict[str, Any]) -> Entity:
        """Return the entity of the line."""
        own = _own_keys(line, self.number)
        foreign = [Foreign(TOOL, self.name, self.space)]
        return Entity(id=self.id, name=self.name, type=line["entityType"], foreign=foreign, extra=own)

    def memory(self, line: dict[str, Any]) -> Record | None:
        """Return the memory of a line that is named like one; its first observation is the content."""
        found = MemoryName.parse(self.name) if self.number == 1 else None
        if found is None or not can_be_memory(line):
            return None
        record = Record(
            id=found.id,
            content=line["observations"][0],
            title=found.title,
            kind=line["entityType"],
            extra=_own_keys(line, 1),
        )
        repair_content(record, TOOL)
        set_times_from_id(record)
        return record

    def fact(self, text: str, number: int) -> Record:
        """Return the memory of an observation, the n-th of the same text on the line."""
        record = Record(content=text, kind=FACT)
        repair_content(record, TOOL)
        key = canonical_value([self.key, self.number, record.content, number]).decode()
        record.id = derive_id(f"{TOOL}-observation", self.space, key)
        return record

    def about(self, fact: Record, end: Endpoint, position: int) -> Relation:
        """Return the relation between an observation and the entity or memory of the line."""
        return Relation(
            id=derive_id(f"{TOOL}-{ABOUT}", "", f"{fact.id} {end.id}"),
            subject=Endpoint(fact.id),
            predicate=ABOUT,
            object=end,
            extra={TOOL: {NAME: self.key, POSITION: position}},
        )


class LineCounter:
    """Counts names, relations and other lines, each of which may occur several times in a file."""

    def __init__(self, space: str) -> None:
        self._space = space
        self._seen: dict[str, DiskMap] = {}

    def close(self) -> None:
        """Delete the files."""
        for seen in self._seen.values():
            seen.close()

    def _number(self, what: str, key: str) -> int:
        if what not in self._seen:
            self._seen[what] = DiskMap()
        seen = self._seen[what]
        number: int = seen.get(key, 0) + 1
        seen[key] = number
        return number

    def next_line(self, name: str) -> NamedLine:
        """Return the next line of a name."""
        memory = MemoryName.parse(name)
        return NamedLine(name, self._number(ENTITY, name), self._space, memory.id if memory else name)

    def relation(self, line: dict[str, Any]) -> Relation:
        """Return the relation of a line."""
        start, end = (MemoryName.parse(line[key]) for key in ("from", "to"))
        names = [start.id if start else line["from"], end.id if end else line["to"]]
        key: list[Any] = [*names, line["relationType"]]
        number = self._number(RELATION, canonical_value(key).decode())
        id = canonical_value(key if number == 1 else [*key, number]).decode()
        own = _more(line, _RELATION)
        return Relation(
            id=derive_id(f"{TOOL}-{RELATION}", self._space, id),
            subject=Endpoint(start.id) if start else self._end(names[0]),
            predicate=line["relationType"],
            object=Endpoint(end.id) if end else self._end(names[1]),
            foreign=[Foreign(TOOL, id, self._space)],
            extra={TOOL: own} if own else {},
        )

    def _end(self, name: str) -> Endpoint:
        return Endpoint(entity_id(name, self._space), entity=True)

    def ignored_line(self, text: str) -> Blob:
        """Return the blob of a line that the server ignores."""
        key = content_hash(text).hex()[:32]
        number = self._number(LINES, key)
        return Blob(tool=TOOL, table=LINES, key=key if number == 1 else f"{key}.{number}", row=text)


def check_line(line: dict[str, Any]) -> None:
    """Check that a line has the keys that the server requires; raise `BadRecord`."""
    is_entity = line["type"] == ENTITY
    known = _ENTITY if is_entity else _RELATION
    for key in known:
        if key not in line:
            raise BadRecord(f"`{key}` is missing")
    for key in known[1:3] if is_entity else known[1:]:
        if not isinstance(line[key], str):
            raise wrong_type(key, "text", type_name(line[key]))
    if is_entity and not isinstance(line["observations"], list):
        raise wrong_type("observations", "a list of text", type_name(line["observations"]))
    if len(line) > len(known):
        check_value(_more(line, known), "another key")


def can_be_memory(line: dict[str, Any]) -> bool:
    """Return True if the first observation of a line can be the content of a memory."""
    first = line["observations"][0] if line["observations"] else None
    return isinstance(first, str) and first != ""


def names_as_read(relation: Relation) -> tuple[dict[str, str], int | None]:
    """Return the names of a relation's ends in the graph it was read from, by id, and its number among equal ones."""
    names: dict[str, str] = {}
    number: int | None = None
    for place in relation.foreign:
        if place.tool != TOOL:
            continue
        try:
            key = msgspec.json.decode(place.id, type=list[Any])
        except msgspec.MsgspecError:
            continue
        names |= {entity_id(name, place.space): name for name in key[:2] if isinstance(name, str)}
        if derive_id(f"{TOOL}-{RELATION}", place.space, place.id) == relation.id:
            number = key[3] if len(key) == 4 and type(key[3]) is int else 1
    return names, number


def entity_line(name: str, type: str, observations: list[str], own: dict[str, Any]) -> dict[str, Any]:
    """Return the line of an entity."""
    line = {"type": ENTITY, "name": name, "entityType": type, "observations": observations}
    return {**line, **_unknown_keys(own, _ENTITY)}


def relation_line(relation: Relation, start: str, end: str) -> dict[str, Any]:
    """Return the line of a relation between two names."""
    line = {"type": RELATION, "from": start, "to": end, "relationType": relation.predicate}
    return {**line, **_unknown_keys(tool_extra(relation), _RELATION)}


def slot_key(text: str, number: int) -> str:
    """Return the key of an observation's slot, which depends only on its text."""
    key = content_hash(text).hex()[:16]
    return key if number == 1 else f"{key}.{number}"


def tool_extra(thing: Entity | Relation | Record) -> dict[str, Any]:
    """Return the fields that only this tool uses."""
    own = thing.extra.get(TOOL)
    return own if isinstance(own, dict) else {}


def differing_fields(thing: T, native: T) -> dict[str, Any]:
    """Return the fields that differ from those of the line; `null` for a missing one."""
    if thing == native:
        return {}
    ours, theirs = to_builtins(thing), to_builtins(native)
    return {name: ours.get(name) for name in thing.__struct_fields__ if ours.get(name) != theirs.get(name)}


def apply_fields(native: T, found: dict[str, Any]) -> T:
    """Apply the result of `differing_fields`; raise `msgspec.ValidationError`."""
    if not found:
        return native
    values = {**to_builtins(native), **found}
    return msgspec.convert({name: value for name, value in values.items() if value is not None}, type(native))


def _unknown_keys(own: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    """Return the keys of a line that neither the server nor memglot knows."""
    more = own.get(MORE)
    return {key: value for key, value in more.items() if key not in (*known, KEY)} if isinstance(more, dict) else {}


def _more(line: dict[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    if len(line) == len(known):
        # A checked line has all known keys.
        return {}
    more = {key: value for key, value in line.items() if key not in known}
    return {MORE: more} if more else {}


def _own_keys(line: dict[str, Any], number: int) -> dict[str, Any]:
    own = _more(line, _ENTITY)
    if "" in line["observations"]:
        own[EMPTY] = [position for position, text in enumerate(line["observations"]) if text == ""]
    if number > 1:
        own[NUMBER] = number
    return {TOOL: own} if own else {}
