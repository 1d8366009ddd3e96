"""Everything a store holds, in the order that writers take it: each record with its riders, then what has no record."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from memglot.model import (
    CONVERSATION_TABLES,
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
from memglot.store.contract import Filter, Store

_RIDING: tuple[type[Thing], ...] = (Relation, Supersession, Conflict)
ALONE: tuple[type[Thing], ...] = (Entity, Document, Blob, Tombstone)
"""What belongs to no record."""


def all_items(
    store: Store, *, embeddings: bool = True, conversations: bool = True, sealed: bool = False
) -> Iterator[Item]:
    """Everything; without `conversations` neither what came from one nor the conversations themselves."""
    filter = Filter(with_deleted=True, with_conversations=conversations)
    riding = _riding(store, embeddings)
    records = _with_riders(store, store.records(filter, sealed=sealed), riding)
    alone = (store.things(kind) for kind in ALONE)
    found = chain(records, *alone, _ownerless(store, riding))
    return found if conversations else (item for item in found if not _is_conversation(item))


def some_items(store: Store, filter: Filter, limit: int | None, *, embeddings: bool) -> Iterator[Item]:
    """The records that a filter selects, each with its riders behind it; sealed."""
    return _with_riders(store, store.records(filter, limit=limit, sealed=True), _riding(store, embeddings))


def _riding(store: Store, embeddings: bool) -> list[type[Thing]]:
    kinds = (*_RIDING, Embedding) if embeddings else _RIDING
    return [kind for kind in kinds if store.count_things(kind)]


def _with_riders(store: Store, records: Iterator[Record], riding: list[type[Thing]]) -> Iterator[Item]:
    if not riding:
        yield from records
    while batch := list(islice(records, BATCH_SIZE)):
        ids = [record.id for record in batch]
        found: dict[str, list[Thing]] = {}
        for kind in riding:
            for thing in store.things(kind, ids):
                found.setdefault(owner_of(thing), []).append(thing)
        for record in batch:
            yield record
            yield from found.get(record.id, ())


def _ownerless(store: Store, riding: list[type[Thing]]) -> Iterator[Item]:
    """What would ride with a record that is not there rides with nobody."""
    for kind in riding:
        for thing in store.things(kind):
            if not store.known([owner_of(thing)]):
                yield thing


def _is_conversation(item: Item) -> bool:
    return isinstance(item, Blob) and item.table in CONVERSATION_TABLES
