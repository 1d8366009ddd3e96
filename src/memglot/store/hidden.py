"""Sensitive scopes: which are marked in a store, and what an export must leave out for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memglot.model import (
    DEFAULT_SCOPE,
    Blob,
    Conflict,
    Document,
    Embedding,
    Entity,
    Relation,
    Thing,
    Tombstone,
    canonical,
    mentioned_ids,
    owner_of,
)
from memglot.notes import note_sensitive
from memglot.report import Report
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store
from memglot.store.query import Filter

_ALL = Filter(with_deleted=True)
_HEAVY = 1 << 20
SENSITIVE = "sensitive:"
"""What the names of settings begin with that mark a scope; the scope itself follows."""


def sensitive_scopes(store: Store) -> frozenset[str]:
    """The scopes that are marked as sensitive: they leave the store only encrypted, or in a copy of the whole store."""
    return frozenset(name.removeprefix(SENSITIVE) for name in store.settings() if name.startswith(SENSITIVE))


def batches(things: Iterable[Thing]) -> Iterator[list[Thing]]:
    """Things by the batch, so that they are looked up together; large ones in small batches, so that memory is flat."""
    batch: list[Thing] = []
    weight = 0
    for thing in things:
        batch.append(thing)
        if isinstance(thing, Blob):
            weight += len(thing.data or b"") + len(canonical(thing.row))
        elif isinstance(thing, Document):
            weight += len(thing.content)
        if len(batch) >= BATCH_SIZE or weight > _HEAVY:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


class Hiding:
    """Leaves out what belongs to some scopes, and what hangs on it at either end, and counts it."""

    def __init__(self, store: Store, scopes: frozenset[str]) -> None:
        self._store, self.scopes = store, scopes
        self.count = 0

    def open(self, things: Iterable[Thing]) -> Iterator[Thing]:
        """Those that tell nothing about the scopes, in their order."""
        for batch in batches(things):
            hidden, strays = self._look_up(batch)
            for thing in batch:
                stray = isinstance(thing, (Blob, Conflict, Embedding)) and owner_of(thing) in strays
                if stray or _scope_of(thing) in self.scopes or not hidden.isdisjoint(_ends(thing)):
                    self.count += 1
                else:
                    yield thing

    def tell(self, report: Report, filter: Filter = _ALL) -> None:
        """Say what was left out, if anything was, once everything was gone through that `filter` selects."""
        counts = {
            scope: count for scope, count in self._store.records.count_by("scope", filter) if scope in self.scopes
        }
        if counts or self.count:
            report.note(note_sensitive(sum(counts.values()), self.count, sorted(counts or self.scopes)))

    def ids(self, ids: list[str]) -> set[str]:
        """Which of some ids are memories or entities of the scopes, deleted ones too."""
        return self._among(ids)[0]

    def _among(self, ids: list[str]) -> tuple[set[str], set[str]]:
        hidden = self._store.records.known(ids, sorted(self.scopes))
        keys: list[Thing] = [Entity(id=id, name="") for id in ids]
        keys += [Tombstone(id=id, content_hash="", deleted_at=0) for id in ids]
        kept = [found for found in self._store.things.same_keys(keys) if isinstance(found, (Entity, Tombstone))]
        return hidden | {found.id for found in kept if found.scope in self.scopes}, {found.id for found in kept}

    def _look_up(self, things: list[Thing]) -> tuple[set[str], set[str]]:
        """Which ends of things are memories or entities of the scopes, deleted ones too, and which are strays."""
        ids = sorted({id for thing in things for id in _ends(thing)})
        hidden, kept = self._among(ids)
        if DEFAULT_SCOPE not in self.scopes:
            return hidden, set()
        # What hangs on a memory that never was says not whose it is, so it is the user's, as a memory would be.
        return hidden, set(ids) - self._store.records.known(ids) - kept


def _ends(thing: Thing) -> list[str]:
    """The memories and entities that a thing speaks of; a foreign row that hangs on none hangs on nobody's."""
    return mentioned_ids(thing) or ([""] if isinstance(thing, Blob) else [])


def _scope_of(thing: Thing) -> str | None:
    """The scope that a thing says it belongs to."""
    if (
        isinstance(thing, Relation)
        and thing.scope == DEFAULT_SCOPE
        and not (thing.subject.entity or thing.object.entity)
    ):
        # Between two memories the default says nothing: they tell whose it is.
        return None
    if isinstance(thing, Blob):
        row = thing.row if isinstance(thing.row, dict) else {}
        details = row.get("details")
        inner = details.get("scope_hash") if isinstance(details, dict) else None
        # An audit row of another tool says it in one of these places.
        scope = row.get("scope", row.get("scope_hash", inner))
        return scope if isinstance(scope, str) else None
    return getattr(thing, "scope", None)
