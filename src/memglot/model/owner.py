"""Which record a thing hangs on."""

from memglot.model.graph import Entity, Relation, Supersession
from memglot.model.keeping import Blob, Conflict, Document, Embedding, Tombstone


def owner_of(thing: Relation | Entity | Supersession | Document | Embedding | Tombstone | Conflict | Blob) -> str:
    """The record that a thing hangs on; empty where it hangs on none."""
    if isinstance(thing, Relation):
        return thing.subject.id
    if isinstance(thing, Supersession):
        return thing.newer
    if isinstance(thing, (Embedding, Conflict)):
        return thing.record
    return thing.owner if isinstance(thing, Blob) else ""
