"""The items of a store in the order of an export: each record with its attached things, then all other things."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from memglot.model import (
    CONVERSATION_TABLES,
    DEFAULT_SCOPE,
    Blob,
    Conflict,
    Document,
    Embedding,
    Entity,
    Item,
    Record,
    Relation,
    Supersession,
    Thing,
    Tombstone,
    owner_of,
)
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store
from memglot.store.hidden import HiddenScopes, batches
from memglot.store.query import Filter

_ATTACHED: tuple[type[Thing], ...] = (Relation, Supersession, Conflict)
UNATTACHED: tuple[type[Thing], ...] = (Entity, Document, Blob, Tombstone)
"""Kinds that belong to no record."""


def everything(
    store: Store,
    *,
    embeddings: bool = True,
    conversations: bool = True,
    with_digest: bool = False,
    scope: str | None = None,
    hidden: HiddenScopes | None = None,
    graph_first: bool = False,
) -> Iterator[Item]:
    """Yield everything, or everything of one scope, except what `hidden` leaves out.

    Without `conversations`, leave out conversations and what came from them. With `graph_first`, entities and the
    relations between them come before the records.
    """
    filter = Filter(with_deleted=True, with_conversations=conversations, scope=() if scope is None else (scope,))
    attached = _attached_kinds(store, embeddings)
    found_records = store.records.select(_narrow(filter, hidden), with_digest=with_digest)
    records: Iterator[Item] = _with_attached(store, found_records, attached, hidden)
    if scope is not None:
        # A relation that names another scope belongs to that scope.
        records = (item for item in records if not isinstance(item, Relation) or item.scope in (scope, DEFAULT_SCOPE))

    def alone(kinds: Iterable[type[Thing]], attached_kinds: list[type[Thing]]) -> Iterator[Thing]:
        things: Iterator[Thing] = chain(
            *(store.things.select(kind) for kind in kinds), _ownerless(store, attached_kinds)
        )
        if scope is not None:
            things = _of_scope(store, things, scope)
        return hidden.visible(things) if hidden is not None else things

    if graph_first:
        first = alone([Entity], [kind for kind in attached if kind is Relation])
        rest = alone(
            [kind for kind in UNATTACHED if kind is not Entity], [kind for kind in attached if kind is not Relation]
        )
        found = chain(first, records, rest)
    else:
        found = chain(records, alone(UNATTACHED, attached))
    return found if conversations else (item for item in found if not _is_conversation(item))


def selected(
    store: Store, filter: Filter, limit: int | None, *, embeddings: bool, hidden: HiddenScopes | None = None
) -> Iterator[Item]:
    """Yield the records that a filter selects, with digests, each followed by its attached things."""
    records = store.records.select(_narrow(filter, hidden), limit=limit, with_digest=True)
    return _with_attached(store, records, _attached_kinds(store, embeddings), hidden)


def _narrow(filter: Filter, hidden: HiddenScopes | None) -> Filter:
    return filter if hidden is None else hidden.narrow(filter)


def has_any(store: Store, kind: type[Thing]) -> bool:
    """Return True if there are things of a kind; in a view, counting them takes time."""
    return next(store.things.select(kind), None) is not None


def _attached_kinds(store: Store, embeddings: bool) -> list[type[Thing]]:
    kinds = (*_ATTACHED, Embedding) if embeddings else _ATTACHED
    return [kind for kind in kinds if has_any(store, kind)]


def _with_attached(
    store: Store, records: Iterator[Record], attached: list[type[Thing]], hidden: HiddenScopes | None
) -> Iterator[Item]:
    if not attached:
        yield from records
    while batch := list(islice(records, BATCH_SIZE)):
        ids = [record.id for record in batch]
        found: dict[str, list[Thing]] = {}
        for kind in attached:
            things: Iterator[Thing] = store.things.select(kind, ids)
            for thing in hidden.visible(things) if hidden else things:
                found.setdefault(owner_of(thing), []).append(thing)
        for record in batch:
            yield record
            yield from found.get(record.id, ())


def _ownerless(store: Store, attached: list[type[Thing]]) -> Iterator[Thing]:
    """Yield things of kinds that are attached to records, but whose record does not exist."""
    for kind in attached:
        for thing in store.things.select(kind):
            if not store.records.known([owner_of(thing)]):
                yield thing


def _of_scope(store: Store, things: Iterator[Thing], scope: str) -> Iterator[Thing]:
    """Yield the things that belong to a scope, among those attached to none of its records."""
    for batch in batches(things):
        subjects = [thing.subject.id for thing in batch if isinstance(thing, Relation)]
        entities = store.things.same_keys([Entity(id=id, name="") for id in subjects])
        own = {entity.id: entity.scope for entity in entities if isinstance(entity, Entity)}
        there = store.records.known([id for thing in batch for id in _attached_to(thing)], [scope])
        for thing in batch:
            named = getattr(thing, "scope", None)
            if isinstance(thing, Relation) and named == DEFAULT_SCOPE:
                # A relation without a scope of its own has that of its subject.
                named = own.get(thing.subject.id, named)
            if named == scope or not there.isdisjoint(_attached_to(thing)):
                yield thing


def _attached_to(thing: Thing) -> tuple[str, ...]:
    return (thing.older,) if isinstance(thing, Supersession) else (owner_of(thing),)


def _is_conversation(item: Item) -> bool:
    return isinstance(item, Blob) and item.table in CONVERSATION_TABLES
