"""Everything a store holds, in the order that writers take it: each record with its riders, then what has no record."""

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

_RIDING: tuple[type[Thing], ...] = (Relation, Supersession, Conflict)
ALONE: tuple[type[Thing], ...] = (Entity, Document, Blob, Tombstone)
"""What belongs to no record."""


def all_items(
    store: Store,
    *,
    embeddings: bool = True,
    conversations: bool = True,
    sealed: bool = False,
    scope: str | None = None,
    hidden: HiddenScopes | None = None,
    graph_first: bool = False,
) -> Iterator[Item]:
    """Everything, or everything of one scope; without `conversations` neither what came from one nor themselves.

    What `hidden` leaves out is not among it. With `graph_first`, entities and the relations between them come before
    the records.
    """
    filter = Filter(with_deleted=True, with_conversations=conversations, scope=() if scope is None else (scope,))
    riding = _riding(store, embeddings)
    found_records = store.records.select(_narrow(filter, hidden), sealed=sealed)
    records: Iterator[Item] = _with_riders(store, found_records, riding, hidden)
    if scope is not None:
        # What a memory of the scope has to do with another one's affairs is that one's.
        records = (item for item in records if not isinstance(item, Relation) or item.scope in (scope, DEFAULT_SCOPE))

    def alone(kinds: Iterable[type[Thing]], riders: list[type[Thing]]) -> Iterator[Thing]:
        things: Iterator[Thing] = chain(*(store.things.select(kind) for kind in kinds), _ownerless(store, riders))
        if scope is not None:
            things = _of_scope(store, things, scope)
        return hidden.visible(things) if hidden is not None else things

    if graph_first:
        first = alone([Entity], [kind for kind in riding if kind is Relation])
        rest = alone([kind for kind in ALONE if kind is not Entity], [kind for kind in riding if kind is not Relation])
        found = chain(first, records, rest)
    else:
        found = chain(records, alone(ALONE, riding))
    return found if conversations else (item for item in found if not _is_conversation(item))


def some_items(
    store: Store, filter: Filter, limit: int | None, *, embeddings: bool, hidden: HiddenScopes | None = None
) -> Iterator[Item]:
    """The records that a filter selects, each with its riders behind it; sealed."""
    records = store.records.select(_narrow(filter, hidden), limit=limit, sealed=True)
    return _with_riders(store, records, _riding(store, embeddings), hidden)


def _narrow(filter: Filter, hidden: HiddenScopes | None) -> Filter:
    return filter if hidden is None else hidden.narrow(filter)


def _riding(store: Store, embeddings: bool) -> list[type[Thing]]:
    kinds = (*_RIDING, Embedding) if embeddings else _RIDING
    return [kind for kind in kinds if store.things.count(kind)]


def _with_riders(
    store: Store, records: Iterator[Record], riding: list[type[Thing]], hidden: HiddenScopes | None
) -> Iterator[Item]:
    if not riding:
        yield from records
    while batch := list(islice(records, BATCH_SIZE)):
        ids = [record.id for record in batch]
        found: dict[str, list[Thing]] = {}
        for kind in riding:
            things: Iterator[Thing] = store.things.select(kind, ids)
            for thing in hidden.visible(things) if hidden else things:
                found.setdefault(owner_of(thing), []).append(thing)
        for record in batch:
            yield record
            yield from found.get(record.id, ())


def _ownerless(store: Store, riding: list[type[Thing]]) -> Iterator[Thing]:
    """What would ride with a record that is not there rides with nobody."""
    for kind in riding:
        for thing in store.things.select(kind):
            if not store.records.known([owner_of(thing)]):
                yield thing


def _of_scope(store: Store, things: Iterator[Thing], scope: str) -> Iterator[Thing]:
    """What belongs to a scope of what rides with none of its records."""
    for batch in batches(things):
        subjects = [thing.subject.id for thing in batch if isinstance(thing, Relation)]
        entities = store.things.same_keys([Entity(id=id, name="") for id in subjects])
        own = {entity.id: entity.scope for entity in entities if isinstance(entity, Entity)}
        there = store.records.known([id for thing in batch for id in _hangs_on(thing)], [scope])
        for thing in batch:
            said = getattr(thing, "scope", None)
            if isinstance(thing, Relation) and said == DEFAULT_SCOPE:
                # A relation that names no scope of its own is its subject's.
                said = own.get(thing.subject.id, said)
            if said == scope or not there.isdisjoint(_hangs_on(thing)):
                yield thing


def _hangs_on(thing: Thing) -> tuple[str, ...]:
    return (thing.older,) if isinstance(thing, Supersession) else (owner_of(thing),)


def _is_conversation(item: Item) -> bool:
    return isinstance(item, Blob) and item.table in CONVERSATION_TABLES
