"""Items of a graph on disk, until all are known: observations of one entity may be far apart in a stream."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from memglot.formats.core.sidecar import decode_item, encode_item
from memglot.formats.mcp_graph.lines import ABOUT, NAME, NUMBER, POSITION, MemoryName, tool_extra
from memglot.model import Entity, Record, Relation, Thing

_MOST = 1 << 62
_TABLES = """
CREATE TABLE records (number INTEGER PRIMARY KEY, id TEXT, doc BLOB, attached BLOB);
CREATE TABLE entities (number INTEGER PRIMARY KEY, id TEXT, name TEXT, nth INTEGER, doc BLOB);
CREATE TABLE relations (
    number INTEGER PRIMARY KEY, subject TEXT, object TEXT, about INTEGER, name TEXT, position INTEGER, doc BLOB
);
CREATE TABLE named (start TEXT, predicate TEXT, end TEXT, nth INTEGER, number INTEGER, doc BLOB);
BEGIN"""
# `about` is 1 for a relation to an entity, 2 for one to a memory. A memory is an observation of the first target
# that has a line, or a name to create one; a memory that is an observation itself has no observations.
_BIND = """
CREATE INDEX record_by_id ON records (id);
CREATE INDEX entity_by_id ON entities (id);
CREATE INDEX by_subject ON relations (subject) WHERE about;
CREATE TABLE bound AS SELECT record, object, about, name, position, relation FROM (
    SELECT records.number AS record, object, about, name, position, relations.number AS relation,
        row_number() OVER (PARTITION BY records.number ORDER BY position IS NULL, relations.number) AS nth
    FROM relations JOIN records ON records.id = relations.subject
    WHERE about = 1 AND (name IS NOT NULL OR EXISTS (SELECT 1 FROM entities WHERE entities.id = object))
    OR about = 2 AND EXISTS (SELECT 1 FROM records AS other WHERE other.id = object)
    AND NOT EXISTS (SELECT 1 FROM relations AS other WHERE other.subject = relations.object AND other.about)
) WHERE nth = 1;
CREATE UNIQUE INDEX by_record ON bound (record);
CREATE INDEX in_order ON bound (object, about);
INSERT INTO entities (id, name, nth) SELECT object, min(name), 1 FROM bound
    WHERE about = 1 AND object NOT IN (SELECT id FROM entities) GROUP BY object ORDER BY min(record);
CREATE INDEX entity_by_name ON entities (name, nth)"""
_ENTITIES = """
SELECT name, nth, id, doc FROM (
    SELECT *, min(number) OVER (PARTITION BY name, nth) AS first FROM entities
) ORDER BY nth, first, doc IS NULL, number"""
_OBSERVATIONS = """
SELECT records.doc, records.attached, relations.doc FROM bound
JOIN records ON records.number = record JOIN relations ON relations.number = relation
WHERE bound.object IN (SELECT value FROM json_each(?)) AND bound.about = ?
ORDER BY bound.position IS NULL, bound.position, record"""
_NAMED = """
SELECT start, predicate, end, nth, doc FROM (
    SELECT *, min(number) OVER (PARTITION BY start, predicate, end) AS first FROM named
) ORDER BY first, nth IS NULL, nth, number"""


class Observation(NamedTuple):
    """A memory written as an observation, its attached items, and its relation to the entity."""

    record: Record
    attached: list[Thing]
    about: Relation


class NamedRelation(NamedTuple):
    """A relation with the names of its ends, and its number among equal ones if it was read from a graph."""

    start: str
    end: str
    nth: int | None
    relation: Relation


class GraphTables:
    """Tables of everything that becomes a line; call `bind` once after the last item."""

    def __init__(self) -> None:
        import apsw

        # SQLite keeps a database without a name in a temporary file, and deletes it on close.
        self._db = apsw.Connection("")
        self._db.execute(_TABLES)

    def close(self) -> None:
        """Delete the file."""
        self._db.close()

    def add_record(self, record: Record, attached: list[Thing]) -> None:
        """Add a memory with its attached items."""
        row = (record.id or None, msgspec.json.encode(record), b"\n".join(map(encode_item, attached)))
        self._db.execute("INSERT INTO records (id, doc, attached) VALUES (?, ?, ?)", row)

    def add_entity(self, entity: Entity) -> None:
        """Add an entity."""
        row = (entity.id, entity.name, _count(tool_extra(entity).get(NUMBER)) or 1, msgspec.json.encode(entity))
        self._db.execute("INSERT INTO entities (id, name, nth, doc) VALUES (?, ?, ?, ?)", row)

    def add_relation(self, relation: Relation) -> None:
        """Add a relation."""
        own = tool_extra(relation)
        name, position = own.get(NAME), _count(own.get(POSITION))
        about = 0
        if relation.predicate == ABOUT and not relation.subject.entity and relation.subject != relation.object:
            # Another tool's relation between two memories is an ordinary relation.
            about = 1 if relation.object.entity else 2 if position is not None else 0
        if not isinstance(name, str) or MemoryName.parse(name) is not None:
            name = None
        row = (relation.subject.id, relation.object.id, about, name, position, msgspec.json.encode(relation))
        sql = "INSERT INTO relations (subject, object, about, name, position, doc) VALUES (?, ?, ?, ?, ?, ?)"
        self._db.execute(sql, row)

    def bind(self) -> None:
        """Find out which memories are observations, and of what."""
        self._db.execute(_BIND)

    def entities(self) -> Iterator[tuple[str, list[tuple[str, Entity | None]]]]:
        """Yield the names of lines and the entities on each, by id; `None` for one that is not in the store.

        They come in the order of their first entity; second lines of a name come after all first ones.
        """
        rows = self._db.execute(_ENTITIES)
        for (name, _), group in groupby(rows, key=lambda row: row[:2]):
            yield name, [(id, doc and msgspec.json.decode(doc, type=Entity)) for _, _, id, doc in group]

    def observations(self, ids: list[str], *, of_entities: bool) -> list[Observation]:
        """Return the observations of a memory, or of entities that share a line, in order."""
        found = []
        for doc, attached, about in self._db.execute(_OBSERVATIONS, (_json(ids), 1 if of_entities else 2)):
            record, relation = msgspec.json.decode(doc, type=Record), msgspec.json.decode(about, type=Relation)
            found.append(Observation(record, _things(attached), relation))
        return found

    def records(self) -> Iterator[tuple[Record, list[Thing]]]:
        """Yield the memories that are not observations, in the order they were added."""
        sql = "SELECT doc, attached FROM records WHERE number NOT IN (SELECT record FROM bound) ORDER BY number"
        for doc, attached in self._db.execute(sql):
            yield msgspec.json.decode(doc, type=Record), _things(attached)

    def relations(self) -> Iterator[Relation]:
        """Yield the relations that do not bind an observation, in the order they were added."""
        sql = "SELECT doc FROM relations WHERE number NOT IN (SELECT relation FROM bound) ORDER BY number"
        for (doc,) in self._db.execute(sql):
            yield msgspec.json.decode(doc, type=Relation)

    def add_named(self, number: int, named: NamedRelation) -> None:
        """Add a relation with the names of its ends."""
        row = (named.start, named.relation.predicate, named.end, named.nth, number)
        self._db.execute("INSERT INTO named VALUES (?, ?, ?, ?, ?, ?)", (*row, msgspec.json.encode(named.relation)))

    def named(self) -> Iterator[list[NamedRelation]]:
        """Yield groups of relations with equal lines, those read from a graph first."""
        rows = self._db.execute(_NAMED)
        for (start, _, end), group in groupby(rows, key=lambda row: row[:3]):
            yield [NamedRelation(start, end, nth, msgspec.json.decode(doc, type=Relation)) for *_, nth, doc in group]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _things(lines: bytes) -> list[Any]:
    return [decode_item(line) for line in lines.split(b"\n")] if lines else []


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST else None
