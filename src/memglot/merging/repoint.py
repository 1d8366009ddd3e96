"""Repoint: what hangs on one memory comes to hang on another."""

import msgspec

from memglot.formats.core.sidecar import name_of
from memglot.merging.memory_state import link_time, link_tombstone
from memglot.merging.records import conflicts_of
from memglot.model import (
    DEFAULT_SCOPE,
    LATEST,
    Blob,
    Conflict,
    Embedding,
    Endpoint,
    Relation,
    Supersession,
    Thing,
    Tombstone,
    owner_of,
    thing_key,
    to_builtins,
)
from memglot.store.contract import Revision, Store


def repoint(store: Store, old: str, new: str, at: int, deed: str, batch: int | None = None) -> None:
    """Let relations, supersessions and vectors of one record be those of another.

    What would relate the other to itself, or is there already, goes; revisions remember what was.
    """
    have = {_meaning(relation) for relation in _relations(store, new)}
    for relation in _relations(store, old):
        moved = msgspec.structs.replace(
            relation,
            subject=_moved(relation.subject, old, new),
            object=_moved(relation.object, old, new),
            source_record=new if relation.source_record == old else relation.source_record,
            # A clock that ran ahead somewhere must not bring the old end back.
            updated_at=min(LATEST, max(at, relation.updated_at + 1)),
        )
        fits = moved.subject != moved.object and _meaning(moved) not in have
        have.add(_meaning(moved))
        _exchange(store, relation, moved if fits else None, at, deed, batch)
    for decision in [*store.things.select(Supersession, [old]), *store.things.by_second_key(Supersession, old)]:
        newer, older = (new if id == old else id for id in (decision.newer, decision.older))
        own = msgspec.structs.replace(decision, newer=newer, older=older)
        gone = store.things.get(Tombstone, thing_key(own))
        fits = newer != older and store.things.same_key(own) is None
        fits = fits and (gone is None or gone.deleted_at < link_time(own))
        _exchange(store, decision, own if fits else None, at, deed, batch)
    for kind in (Embedding, Conflict):
        for thing in list(store.things.select(kind, [old])):
            moving = msgspec.structs.replace(thing, record=new)
            fits = store.things.same_key(moving) is None and (
                not isinstance(moving, Conflict) or _clashes(store, moving)
            )
            _exchange(store, thing, moving if fits else None, at, deed, batch)
    for blob in list(store.things.select(Blob, [old])):
        _exchange(store, blob, msgspec.structs.replace(blob, owner=new), at, deed, batch)


def _clashes(store: Store, conflict: Conflict) -> bool:
    """Tell whether a clash is still one in the memory that it came to hang on."""
    return any(conflicts_of(record, [conflict]) for record in store.records.get([conflict.record]))


def _relations(store: Store, id: str) -> list[Relation]:
    """The relations with a record at either end, each once; an entity may have the same id."""
    found = [*store.things.select(Relation, [id]), *store.things.by_second_key(Relation, id)]
    return list({one.id: one for one in found if Endpoint(id) in (one.subject, one.object)}.values())


def _moved(end: Endpoint, old: str, new: str) -> Endpoint:
    return Endpoint(new) if end == Endpoint(old) else end


def _meaning(relation: Relation) -> tuple[Endpoint, str, Endpoint]:
    return relation.subject, relation.predicate, relation.object


def _exchange(store: Store, old: Thing, new: Thing | None, at: int, deed: str, batch: int | None) -> None:
    origin = store.things.batches_of([old])[0]
    store.things.remove([old])
    if new is not None:
        store.things.put([new], batch)
    if isinstance(old, (Relation, Supersession)) and (new is None or thing_key(new) != thing_key(old)):
        # Else the next file of a machine that does not know of it would bring it back.
        scope = next((record.scope for record in store.records.get([owner_of(new or old)])), DEFAULT_SCOPE)
        store.things.put([link_tombstone(old, at, scope)], batch)
    revision = Revision(kind=name_of(old), key=thing_key(old), at=at, action=deed, before=to_builtins(old))
    revision.batch, revision.previous_batch = batch, origin
    store.history.add_revisions([revision])
