"""AgentOS's knowledge graph: nodes are entities, edges are relations; other columns are kept unchanged."""

from __future__ import annotations

from hashlib import sha256
from math import isfinite
from typing import Any

import msgspec

from memglot.formats.agentos.other_tables import column_value, json_value
from memglot.formats.core.carry import KEY
from memglot.formats.core.trace import TOOL, identify
from memglot.model import Blob, Endpoint, Entity, Foreign, Relation, derive_id, to_builtins
from memglot.model.record_errors import wrong_type

NODES, EDGES = "knowledge_nodes", "knowledge_edges"
OF_TRACE = "memory_graph"
"""Type of a node that represents a trace."""
_PLACEHOLDER = "made"
_NODE = ("id", "type", "label", "properties", "embedding", "confidence", "source", "created_at")
_EDGE = ("id", "source_id", "target_id", "type", "weight", "bidirectional", "metadata", "created_at")


class KnowledgeGraph:
    """Reads nodes, then edges; remembers which nodes are entities."""

    def __init__(self, space: str) -> None:
        self._space = space
        self._entities: set[str] = set()

    def node(self, row: dict[str, Any]) -> Entity | Blob | None:
        """Return the item of a node; `None` for a placeholder that memglot wrote."""
        id, properties = _text(row, "id"), row.get("properties")
        carried = _carried(properties)
        if carried == _PLACEHOLDER:
            return None
        if carried is None and row.get("type") == OF_TRACE:
            return Blob(tool=TOOL, table=NODES, key=id, owner=identify(id, self._space)[0], row=row)
        self._entities.add(id)
        if carried is not None:
            return msgspec.convert(carried, Entity)
        return native_entity(row, self._space)

    def edge(self, row: dict[str, Any]) -> Relation:
        """Return the relation of an edge."""
        carried = _carried(row.get("metadata"))
        if carried is not None:
            return msgspec.convert(carried, Relation)
        ends = (_text(row, "source_id"), _text(row, "target_id"))
        return native_relation(row, self._space, [end in self._entities for end in ends])


def native_entity(row: dict[str, Any], space: str) -> Entity:
    """Return the entity from a node's own columns."""
    id = _text(row, "id")
    place = identify(id, space)[1] or [Foreign(TOOL, id)]
    own = {key: row[key] for key in ("properties", "source") if row.get(key) not in (None, "{}")}
    own |= {key: value for key, value in row.items() if key not in _NODE or key == "embedding" and value is not None}
    confidence = _number(row, "confidence")
    return Entity(
        id=derive_id(f"{TOOL}-node", place[0].space, id),
        name=_text(row, "label"),
        type=_text(row, "type"),
        first_seen=_microseconds(row),
        confidence=confidence,
        foreign=place,
        extra={TOOL: own} if own else {},
    )


def native_relation(row: dict[str, Any], space: str, are_entities: list[bool]) -> Relation:
    """Return the relation from an edge's own columns."""
    id = _text(row, "id")
    place = identify(id, space)[1] or [Foreign(TOOL, id)]
    subject, object = (
        _end(_text(row, column), is_entity, space)
        for column, is_entity in zip(("source_id", "target_id"), are_entities, strict=True)
    )
    own = {key: value for key, value in row.items() if key not in _EDGE}
    if row.get("metadata") not in (None, "{}"):
        own["metadata"] = row["metadata"]
    weight = _number(row, "weight")
    at = _microseconds(row) or 0
    return Relation(
        id=derive_id(f"{TOOL}-edge", place[0].space, id),
        subject=subject,
        predicate=_text(row, "type"),
        object=object,
        weight=weight,
        directed=not row.get("bidirectional"),
        created_at=at,
        updated_at=at,
        foreign=place,
        extra={TOOL: own} if own else {},
    )


def _end(id: str, is_entity: bool, space: str) -> Endpoint:
    known, places = identify(id, space)
    if not is_entity:
        return Endpoint(known)
    return Endpoint(derive_id(f"{TOOL}-node", places[0].space if places else "", id), entity=True)


def node_row(entity: Entity, space: str, *, plain_only: bool = False, id: str | None = None) -> dict[str, Any]:
    """Return the node of an entity; unless `plain_only`, other fields are carried in `properties`."""
    own = _own(entity)
    row: dict[str, Any] = {
        "id": id or _foreign_id(entity, f"{TOOL}-node"),
        "type": entity.type,
        "label": entity.name,
        "properties": _own_text(own, "properties"),
        "embedding": own.get("embedding"),
        "confidence": 1.0 if entity.confidence is None else entity.confidence,
        "source": _own_text(own, "source"),
        "created_at": (entity.first_seen or 0) // 1000,
    }
    row |= {key: value for key, value in own.items() if key not in _NODE}
    if not plain_only and (entity.type == OF_TRACE or native_entity(_stored(row), space) != entity):
        row["properties"] = _with_slot(row["properties"], to_builtins(entity))
    return row


def edge_row(
    relation: Relation,
    ends: list[str],
    are_entities: list[bool],
    space: str,
    *,
    plain_only: bool = False,
    id: str | None = None,
) -> dict[str, Any]:
    """Return the edge of a relation between two nodes; unless `plain_only`, other fields are carried in `metadata`.

    `are_entities` says for each node if a reader will read it as an entity.
    """
    own = _own(relation)
    given, id = id, id or _foreign_id(relation, f"{TOOL}-edge")
    if given is None and id == relation.id and not relation.subject.entity and not relation.object.entity:
        id = sha256(f"mem_edge:{ends[0]}:{ends[1]}:{relation.id}".encode()).hexdigest()[:32]
    row: dict[str, Any] = {
        "id": id,
        "source_id": ends[0],
        "target_id": ends[1],
        "type": relation.predicate,
        "weight": 1.0 if relation.weight is None else relation.weight,
        "bidirectional": int(not relation.directed),
        "metadata": _own_text(own, "metadata"),
        "created_at": relation.created_at // 1000,
    }
    row |= {key: value for key, value in own.items() if key not in _EDGE}
    if not plain_only and native_relation(_stored(row), space, are_entities) != relation:
        row["metadata"] = _with_slot(row["metadata"], to_builtins(relation))
    return row


def placeholder_node(id: str, *, plain_only: bool = False) -> dict[str, Any]:
    """Return a marked node for the end of an edge that has no node of its own."""
    properties = "{}" if plain_only else msgspec.json.encode({KEY: _PLACEHOLDER}).decode()
    row = {"id": id, "type": OF_TRACE, "label": id, "properties": properties, "embedding": None}
    return {**row, "confidence": 1.0, "source": "{}", "created_at": 0}


def _stored(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as its table gives it back, which holds objects and lists as text."""
    return {name: json_value(column_value(value)) for name, value in row.items()}


def _own(thing: Entity | Relation) -> dict[str, Any]:
    own = thing.extra.get(TOOL)
    return own if isinstance(own, dict) else {}


def _own_text(own: dict[str, Any], key: str) -> str:
    return own[key] if isinstance(own.get(key), str) else "{}"


def _foreign_id(thing: Entity | Relation, kind: str) -> str:
    for place in thing.foreign:
        if place.tool == TOOL and derive_id(kind, place.space, place.id) == thing.id:
            return place.id
    return thing.id


def _with_slot(text: str, slot: Any) -> str:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        value = {}
    return msgspec.json.encode({**(value if isinstance(value, dict) else {}), KEY: slot}).decode()


def _carried(text: Any) -> Any:
    """Return what memglot carried in a JSON column, if anything."""
    if isinstance(text, str) and f'"{KEY}":' in text:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return None
        slot = value.get(KEY) if isinstance(value, dict) else None
        return slot if slot == _PLACEHOLDER or isinstance(slot, dict) and {"id"} <= slot.keys() else None
    return None


def _text(row: dict[str, Any], column: str) -> str:
    value = row.get(column)
    if not isinstance(value, str):
        raise wrong_type(column, "text", type(value).__name__ if value is not None else "missing")
    return value


def _number(row: dict[str, Any], column: str) -> float | None:
    value = row.get(column)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise wrong_type(column, "a number", type(value).__name__)
    return float(value)


def _microseconds(row: dict[str, Any]) -> int | None:
    number = _number(row, "created_at")
    return None if number is None else round(number * 1000)
