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
    for decision in [*store.things(Supersession, [old]), *store.mentions(Supersession, old)]:
        newer, older = (new if id == old else id for id in (decision.newer, decision.older))
        own = msgspec.structs.replace(decision, newer=newer, older=older)
        gone = store.thing(Tombstone, thing_key(own))
        fits = newer != older and store.kept(own) is None
        fits = fits and (gone is None or gone.deleted_at < link_time(own))
        _exchange(store, decision, own if fits else None, at, deed, batch)
    for kind in (Embedding, Conflict):
        for thing in list(store.things(kind, [old])):
            moving = msgspec.structs.replace(thing, record=new)
            fits = store.kept(moving) is None and (not isinstance(moving, Conflict) or _clashes(store, moving))
            _exchange(store, thing, moving if fits else None, at, deed, batch)
    for blob in list(store.things(Blob, [old])):
        _exchange(store, blob, msgspec.structs.replace(blob, owner=new), at, deed, batch)


def _clashes(store: Store, conflict: Conflict) -> bool:
    """Tell whether a clash is still one in the memory that it came to hang on."""
    return any(conflicts_of(record, [conflict]) for record in store.get([conflict.record]))


def _relations(store: Store, id: str) -> list[Relation]:
    """The relations with a record at either end, each once; an entity may have the same id."""
    found = [*store.things(Relation, [id]), *store.mentions(Relation, id)]
    return list({one.id: one for one in found if Endpoint(id) in (one.subject, one.object)}.values())


def _moved(end: Endpoint, old: str, new: str) -> Endpoint:
    return Endpoint(new) if end == Endpoint(old) else end


def _meaning(relation: Relation) -> tuple[Endpoint, str, Endpoint]:
    return relation.subject, relation.predicate, relation.object


def _exchange(store: Store, old: Thing, new: Thing | None, at: int, deed: str, batch: int | None) -> None:
    origin = store.origins([old])[0]
    store.take([old])
    if new is not None:
        store.put([new], batch)
    if isinstance(old, (Relation, Supersession)) and (new is None or thing_key(new) != thing_key(old)):
        # Else the next file of a machine that does not know of it would bring it back.
        scope = next((record.scope for record in store.get([owner_of(new or old)])), DEFAULT_SCOPE)
        store.put([link_tombstone(old, at, scope)], batch)
    revision = Revision(kind=name_of(old), key=thing_key(old), at=at, deed=deed, before=to_builtins(old))
    revision.batch, revision.origin = batch, origin
    store.remember([revision])
