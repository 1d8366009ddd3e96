"""Read and write rows of entities, relations and the supersedes chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from memglot.errors import BadRecord
from memglot.formats.core.carry import KEY
from memglot.formats.memoryd.values import microseconds
from memglot.model import (
    DEFAULT_SCOPE,
    Endpoint,
    Entity,
    Foreign,
    Relation,
    Supersession,
    check_thing,
    check_value,
    derive_id,
    format_time,
    is_id,
    to_builtins,
)
from memglot.model.record_errors import bad_item, wrong_type

T = TypeVar("T", Entity, Relation, Supersession)
_GREATEST = 10**300
# Our file may nest a value this much deeper than the file it was read from.
_DEEPER = 8
TOOL = "memoryd"
_MEMORY, _ENTITY = "memory:", "entity:"
FindWritten = Callable[[Endpoint], str | None]
"""Return the id written for one end of a relation, if any."""
_ENTITY_KEYS = frozenset("id name type aliases first_seen_at last_seen_at mention_count scope_hash memglot".split())
_RELATION_KEYS = frozenset(
    """
    subject_id subject_kind predicate object_id object_kind source_memory_id scope_hash confidence created_at
    superseded_at memglot
    """.split()
)
_CHAIN_KEYS = frozenset(
    "newer_memory_id older_memory_id entity_id confidence decided_at decided_by reason memglot".split()
)


def record_id(slug: str) -> str:
    """Return the id of a memory from its memoryd slug."""
    return slug.lower() if is_id(slug.lower()) else derive_id(TOOL, "", slug)


def entity_id(text: str) -> str:
    """Return the id of an entity by memoryd's rule; the page writes some of them in capitals."""
    return text.strip().lower().replace(" ", "_")


def read_entity(row: dict[str, Any]) -> Entity:
    """Return the entity of a row; raise `BadRecord`."""
    if (carried := _carried(row, Entity)) is not None:
        return carried
    id, name = _text(row, "id"), _text(row, "name")
    aliases = row.get("aliases")
    own = _more(row, _ENTITY_KEYS)
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        own |= {"aliases": aliases} if aliases is not None else {}
        aliases = []
    mentions, kind, scope = row.get("mention_count"), row.get("type"), row.get("scope_hash")
    return Entity(
        id=entity_id(id),
        name=name,
        type=kind if isinstance(kind, str) else "",
        aliases=list(dict.fromkeys(aliases)),
        first_seen=_time(row, "first_seen_at", own),
        last_seen=_time(row, "last_seen_at", own),
        mentions=mentions if isinstance(mentions, int) and not isinstance(mentions, bool) else 0,
        scope=scope if isinstance(scope, str) else DEFAULT_SCOPE,
        foreign=[Foreign(TOOL, id)] if entity_id(id) != id else [],
        extra={TOOL: own} if own else {},
    )


def entity_row(entity: Entity, *, plain_only: bool) -> dict[str, Any]:
    """Return the row of an entity with all keys that memoryd requires; other fields are carried under our key."""
    own = entity.extra.get(TOOL)
    own = own if isinstance(own, dict) else {}
    # memoryd rejects files in which an entity has no first time.
    first = entity.first_seen if entity.first_seen is not None else entity.last_seen or 0
    row: dict[str, Any] = {
        "id": next((place.id for place in entity.foreign if place.tool == TOOL), entity.id),
        "name": entity.name,
        "type": entity.type,
        "aliases": entity.aliases,
        "first_seen_at": _time_text("first_seen_at", first, own),
        "last_seen_at": _time_text("last_seen_at", entity.last_seen if entity.last_seen is not None else first, own),
        "mention_count": entity.mentions,
        "scope_hash": entity.scope,
        **{key: value for key, value in own.items() if key not in _ENTITY_KEYS},
    }
    if entity.scope == DEFAULT_SCOPE:
        # It is our default, and memoryd has no scope of that name.
        del row["scope_hash"]
    return row if plain_only or _reads_back(read_entity, row, entity) else {**row, KEY: to_builtins(entity)}


def read_relation(row: dict[str, Any], source: str = "") -> Relation | None:
    """Return the relation of a row or of an object in a memory's list; `None` if an end or the predicate is missing."""
    if (carried := _carried(row, Relation)) is not None:
        return carried
    texts = [row.get(key) for key in ("subject_id", "predicate", "object_id")]
    if not all(isinstance(text, str) for text in texts):
        return None
    subject_id, predicate, object_id = map(str, texts)
    own = _more(row, _RELATION_KEYS)
    ends = [_end(text, row.get(kind)) for text, kind in ((subject_id, "subject_kind"), (object_id, "object_kind"))]
    given_ends = zip(("subject_id", "object_id"), (subject_id, object_id), ends, strict=True)
    own |= {key: text for key, text, end in given_ends if _default_text(end) != text}
    given = row.get("source_memory_id")
    given = given if isinstance(given, str) and given else source
    if given and not is_id(given.lower()):
        own["source_memory_id"] = given
    confidence, scope = row.get("confidence"), row.get("scope_hash")
    check_value(confidence, "confidence")
    at = _time(row, "created_at", own) or 0
    return Relation(
        id=derive_id(f"{TOOL}-relation", "", "\0".join((subject_id, predicate, object_id, given))),
        subject=ends[0],
        predicate=predicate,
        object=ends[1],
        confidence=confidence if isinstance(confidence, (float, str)) else _float(confidence),
        source_record=record_id(given) if given else None,
        scope=scope if isinstance(scope, str) else DEFAULT_SCOPE,
        created_at=at,
        updated_at=at,
        superseded_at=_time(row, "superseded_at", own),
        extra={TOOL: own} if own else {},
    )


def relation_row(relation: Relation, find_written: FindWritten, *, plain_only: bool) -> dict[str, Any]:
    """Return the row of a relation."""
    own = relation.extra.get(TOOL)
    own = own if isinstance(own, dict) else {}
    source = None
    if relation.source_record is not None:
        source = _slug(
            find_written(Endpoint(relation.source_record)), own.get("source_memory_id"), relation.source_record
        )
    row: dict[str, Any] = {
        **_triple(relation, find_written),
        "source_memory_id": source,
        "scope_hash": None if relation.scope == DEFAULT_SCOPE else relation.scope,
        "confidence": relation.confidence if isinstance(relation.confidence, float) else None,
        "created_at": _time_text("created_at", relation.created_at, own),
        "superseded_at": _time_text("superseded_at", relation.superseded_at, own),
        **{key: value for key, value in own.items() if key not in _RELATION_KEYS},
    }
    # memoryd accepts only numbers, so null is left out.
    row = {key: value for key, value in row.items() if value is not None or key == "superseded_at"}
    return row if plain_only or _reads_back(read_relation, row, relation) else {**row, KEY: to_builtins(relation)}


def _triple(relation: Relation, find_written: FindWritten) -> dict[str, Any]:
    return {
        "subject_id": endpoint_text(relation, "subject", find_written),
        "subject_kind": _kind(relation.subject),
        "predicate": relation.predicate,
        "object_id": endpoint_text(relation, "object", find_written),
        "object_kind": _kind(relation.object),
    }


def endpoint_text(relation: Relation, side: str, find_written: FindWritten) -> str:
    """Return the text for one end of a relation: the written id, else the text that was read, else its id."""
    end: Endpoint = getattr(relation, side)
    own = relation.extra.get(TOOL)
    given = own.get(f"{side}_id") if isinstance(own, dict) else None
    if (found := find_written(end)) is not None:
        return found
    return given if isinstance(given, str) else _default_text(end)


def read_supersession(row: dict[str, Any], newer: str | None = None) -> Supersession:
    """Return the supersession of a row of the chain; raise `BadRecord`."""
    if (carried := _carried(row, Supersession)) is not None:
        return carried
    slugs = {key: _text(row, f"{key}_memory_id") for key in ("newer", "older")}
    own = _more(row, _CHAIN_KEYS) | {key: slug for key, slug in slugs.items() if not is_id(slug.lower())}
    entity, by, reason = row.get("entity_id"), row.get("decided_by"), row.get("reason")
    check_value(row.get("confidence"), "confidence")
    return Supersession(
        newer=newer or record_id(slugs["newer"]),
        older=record_id(slugs["older"]),
        entity=entity_id(entity) if isinstance(entity, str) else None,
        confidence=_float(row.get("confidence")),
        decided_at=_time(row, "decided_at", own),
        decided_by=by if isinstance(by, str) else "",
        reason=reason if isinstance(reason, str) else "",
        extra={TOOL: own} if own else {},
    )


def supersession_row(link: Supersession, find_written: FindWritten, *, plain_only: bool) -> dict[str, Any]:
    """Return the row of a supersession."""
    own = link.extra.get(TOOL)
    own = own if isinstance(own, dict) else {}
    row: dict[str, Any] = {
        "newer_memory_id": _slug(find_written(Endpoint(link.newer)), own.get("newer"), link.newer),
        "older_memory_id": _slug(find_written(Endpoint(link.older)), own.get("older"), link.older),
        "entity_id": link.entity,
        "confidence": link.confidence,
        "decided_at": _time_text("decided_at", link.decided_at, own),
        "decided_by": link.decided_by,
        "reason": link.reason,
        **{key: value for key, value in own.items() if key not in _CHAIN_KEYS | {"newer", "older"}},
    }
    return row if plain_only or _reads_back(read_supersession, row, link) else {**row, KEY: to_builtins(link)}


def _slug(written: str | None, given: Any, id: str) -> str:
    """Return a memory's id for a key that expects a slug without a prefix."""
    if written is not None:
        return written.removeprefix(_MEMORY)
    return given if isinstance(given, str) else id


def _end(text: str, kind: Any) -> Endpoint:
    if text.startswith(_ENTITY) or (kind == "entity" and not text.startswith(_MEMORY)):
        return Endpoint(entity_id(text), entity=True)
    return Endpoint(record_id(text.removeprefix(_MEMORY)))


def _default_text(end: Endpoint) -> str:
    return end.id if end.entity else _MEMORY + end.id


def _kind(end: Endpoint) -> str:
    return "entity" if end.entity else "memory"


def _reads_back(read: Callable[[dict[str, Any]], Any], row: dict[str, Any], thing: Any) -> bool:
    """Return True if reading a row returns an equal item."""
    try:
        return bool(read(row) == thing)
    except BadRecord:
        return False


def _carried(row: dict[str, Any], kind: type[T]) -> T | None:
    if not isinstance(row.get(KEY), dict):
        return None
    try:
        return check_thing(msgspec.convert(row[KEY], kind))
    except msgspec.ValidationError as error:
        raise bad_item("memglot key", str(error)) from None


def _more(row: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    more = {key: value for key, value in row.items() if key not in known}
    check_value(more, "another key", _DEEPER)
    return more


def _time(row: dict[str, Any], key: str, own: dict[str, Any]) -> int | None:
    """Return a time of a row; keep its text in `own` if we would write it differently."""
    text = row.get(key)
    at = microseconds(text, key)
    if at is not None and format_time(at) != text:
        own[key] = text
    return at


def _time_text(key: str, at: int | None, own: dict[str, Any]) -> Any:
    """Return a time as it was written when read, if it is unchanged."""
    given = own.get(key)
    try:
        same = given is not None and microseconds(given, key) == at
    except BadRecord:
        same = False
    return given if same else None if at is None else format_time(at)


def _float(value: Any) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    if not abs(value) <= _GREATEST:
        raise wrong_type("confidence", "a number", "one that is too large")
    return float(value)


def _text(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value:
        raise wrong_type(key, "text", "missing" if value is None else type(value).__name__)
    return value
