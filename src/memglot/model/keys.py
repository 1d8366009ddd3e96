"""Keys of things: the record that owns them, the ids they mention, and what identifies them."""

from typing import TypeAlias

from memglot.model.graph import Entity, Relation, Supersession
from memglot.model.stored import Blob, Conflict, Document, Embedding, Tombstone

Thing: TypeAlias = Relation | Entity | Supersession | Document | Embedding | Tombstone | Conflict | Blob
"""Everything that a store keeps besides records."""
LINK_KINDS: dict[str, type[Relation] | type[Supersession]] = {"relation": Relation, "supersession": Supersession}
"""Links that leave a tombstone when they are removed; it has the key of the link and the name of its kind."""


def owner_of(thing: Thing) -> str:
    """Return the id of the record that a thing belongs to; empty if there is none."""
    if isinstance(thing, Relation):
        return thing.subject.id
    if isinstance(thing, Supersession):
        return thing.newer
    if isinstance(thing, (Embedding, Conflict)):
        return thing.record
    return thing.owner if isinstance(thing, Blob) else ""


def thing_key(thing: Thing) -> str:
    """Return the key that identifies a thing among all of its kind, on every machine."""
    match thing:
        case Supersession():
            return f"{thing.newer} {thing.older}"
        case Document():
            return f"{thing.id} {thing.version}"
        case Embedding():
            return f"{thing.record} {thing.model}"
        case Conflict():
            return f"{thing.record} {thing.field}"
        case Blob():
            return "\x1f".join((thing.tool, thing.table, thing.key))
        case _:
            return thing.id


def linked_memories(thing: Thing) -> tuple[str, ...]:
    """Return the ids of the memories that a relation or supersession links; none for other things."""
    if isinstance(thing, Relation):
        return tuple(end.id for end in (thing.subject, thing.object) if not end.entity)
    return (thing.newer, thing.older) if isinstance(thing, Supersession) else ()


def mentioned_ids(thing: Thing) -> list[str]:
    """Return the ids of all memories and entities that a thing mentions, except its own."""
    if isinstance(thing, Relation):
        ids = [thing.subject.id, thing.object.id, thing.source_record]
    elif isinstance(thing, Supersession):
        ids = [thing.newer, thing.older, thing.entity]
    else:
        ids = [owner_of(thing)]
    return [id for id in ids if id]


def is_link_tombstone(tombstone: Tombstone) -> bool:
    """Return True if a tombstone is of a relation or supersession, not of a memory."""
    return tombstone.kind in LINK_KINDS and not tombstone.content_hash
