"""Which record a thing hangs on, of what it speaks, and what tells it from others of its kind."""

from typing import TypeAlias

from memglot.model.graph import Entity, Relation, Supersession
from memglot.model.stored import Blob, Conflict, Document, Embedding, Tombstone

Thing: TypeAlias = Relation | Entity | Supersession | Document | Embedding | Tombstone | Conflict | Blob
"""Whatever a store keeps beside records."""


def owner_of(thing: Thing) -> str:
    """The record that a thing hangs on; empty where it hangs on none."""
    if isinstance(thing, Relation):
        return thing.subject.id
    if isinstance(thing, Supersession):
        return thing.newer
    if isinstance(thing, (Embedding, Conflict)):
        return thing.record
    return thing.owner if isinstance(thing, Blob) else ""


def thing_key(thing: Thing) -> str:
    """What tells a thing from all others of its kind, here and on every other machine."""
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
    """The memories that a relation or a supersession leads between; none for any other thing."""
    if isinstance(thing, Relation):
        return tuple(end.id for end in (thing.subject, thing.object) if not end.entity)
    return (thing.newer, thing.older) if isinstance(thing, Supersession) else ()


def mentioned_ids(
    thing: Relation | Entity | Supersession | Document | Embedding | Tombstone | Conflict | Blob,
) -> list[str]:
    """All memories and entities that a thing tells something about, itself aside."""
    if isinstance(thing, Relation):
        ids = [thing.subject.id, thing.object.id, thing.source_record]
    elif isinstance(thing, Supersession):
        ids = [thing.newer, thing.older, thing.entity]
    else:
        ids = [owner_of(thing)]
    return [id for id in ids if id]
