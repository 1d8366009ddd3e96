"""Sensitive scopes: which ones a store has, and what belongs to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

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
    is_link_tombstone,
    mentioned_ids,
    owner_of,
)
from memglot.model.ids import UUID7
from memglot.report import Report
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store, ThingT
from memglot.store.query import Filter

_ALL = Filter(with_deleted=True)
_MAX_BATCH_BYTES = 1 << 20
SENSITIVE = "sensitive:"
"""Prefix of the settings that mark a scope as sensitive; the name of the scope follows."""


def sensitive_scopes(store: Store) -> frozenset[str]:
    """Return the scopes marked as sensitive: they leave a store only encrypted, or in a copy of all of it."""
    return frozenset(name.removeprefix(SENSITIVE) for name in store.settings() if name.startswith(SENSITIVE))


def complete(store: Store) -> Store:
    """Return the store behind a view, for upkeep that concerns hidden memories too and shows nothing of them."""
    return store if store.hidden is None else store.hidden.store


def batches(things: Iterable[ThingT]) -> Iterator[list[ThingT]]:
    """Yield things in batches, so that they are looked up together; batches of large ones are small."""
    batch: list[ThingT] = []
    weight = 0
    for thing in things:
        batch.append(thing)
        if isinstance(thing, Blob):
            weight += len(thing.data or b"") + len(canonical(thing.row))
        elif isinstance(thing, Document):
            weight += len(thing.content)
        if len(batch) >= BATCH_SIZE or weight > _MAX_BATCH_BYTES:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


class HiddenScopes:
    """Decides what belongs to scopes that a caller may not see: the only place that does.

    Without `scopes`, these are the sensitive scopes of the store at each moment.
    """

    def __init__(self, store: Store, scopes: frozenset[str] | None = None) -> None:
        self.store, self._scopes = store, scopes
        """The complete store."""
        self.count = 0
        """Number of things that `visible` left out."""

    @property
    def scopes(self) -> frozenset[str]:
        """The hidden scopes."""
        return sensitive_scopes(self.store) if self._scopes is None else self._scopes

    @contextmanager
    def fixed(self) -> Iterator[None]:
        """Look the scopes up once inside a transaction, in which nobody else can change them."""
        if self._scopes is not None:
            yield
            return
        self._scopes = sensitive_scopes(self.store)
        try:
            yield
        finally:
            self._scopes = None

    def refresh(self) -> None:
        """Look the scopes up again, after one was marked inside a transaction."""
        self._scopes = None

    def narrow(self, filter: Filter) -> Filter:
        """Return the same filter without records of hidden scopes."""
        if scopes := self.scopes:
            return msgspec.structs.replace(filter, without_scopes=(*filter.without_scopes, *sorted(scopes)))
        return filter

    def visible(self, things: Iterable[ThingT]) -> Iterator[ThingT]:
        """Yield the things that reveal nothing about the scopes, in order."""
        scopes = self.scopes
        if not scopes:
            yield from things
            return
        for batch in batches(things):
            ends = [self._ends_of(thing) for thing in batch]
            hidden, strays = self._look_up(ends, scopes)
            for thing, mentioned in zip(batch, ends, strict=True):
                stray = isinstance(thing, (Blob, Conflict, Embedding)) and owner_of(thing) in strays
                if stray or _scope_of(thing) in scopes or not hidden.isdisjoint(mentioned):
                    self.count += 1
                else:
                    yield thing

    def ids(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that are memories or entities of the scopes, including deleted ones."""
        scopes = self.scopes
        return self._among(ids, scopes)[0] if scopes else set()

    def report_left_out(self, report: Report, filter: Filter = _ALL) -> None:
        """Note what was left out, if anything, after an export of everything that `filter` selects."""
        scopes = self.scopes
        counts = {scope: count for scope, count in self.store.records.count_by("scope", filter) if scope in scopes}
        if counts or self.count:
            report.note_sensitive(sum(counts.values()), self.count, sorted(counts or scopes))

    def _among(self, ids: Sequence[str], scopes: frozenset[str]) -> tuple[set[str], set[str]]:
        """Return the ids of hidden memories and entities, and all ids of entities and tombstones.

        A deleted memory that was merged into a hidden one is hidden too, because it has the same text.
        """
        hidden, kept = self._directly_among(ids, scopes)
        found, rest, seen = kept, set(ids), set(ids)
        mentioned_by: dict[str, list[str]] = {}
        while rest:
            mentions = {one.id: set(tombstone_mentions(one)) for one in found if isinstance(one, Tombstone)}
            for id, mentioned in mentions.items():
                for other in mentioned:
                    mentioned_by.setdefault(other, []).append(id)
            rest = set().union(*mentions.values()) - seen
            seen |= rest
            if rest:
                more, found = self._directly_among(sorted(rest), scopes)
                hidden |= more
        waiting = list(hidden) if mentioned_by else []
        while waiting:
            new = set(mentioned_by.pop(waiting.pop(), ())) - hidden
            hidden |= new
            waiting += new
        return hidden.intersection(ids), {one.id for one in kept}

    def _directly_among(self, ids: Sequence[str], scopes: frozenset[str]) -> tuple[set[str], list[Entity | Tombstone]]:
        """Return the ids of memories, entities and tombstones of the scopes, and all entities and tombstones."""
        hidden = self.store.records.known(ids, sorted(scopes))
        keys: list[Thing] = [Entity(id=id, name="") for id in ids]
        keys += [Tombstone(id=id, content_hash="", deleted_at=0) for id in ids]
        kept = [found for found in self.store.things.same_keys(keys) if isinstance(found, (Entity, Tombstone))]
        return hidden | {found.id for found in kept if found.scope in scopes}, kept

    def _ends_of(self, thing: Thing) -> list[str]:
        """Return the memories and entities that a thing mentions, or that a removed relation had connected."""
        if not (isinstance(thing, Tombstone) and is_link_tombstone(thing)):
            return _ends(thing)
        removed = [
            msgspec.convert(revision.before, Relation)
            for revision in self.store.history.revisions(key=thing.id)
            if revision.kind == "relation" and revision.before is not None
        ]
        return [*_ends(thing), *(id for relation in removed for id in mentioned_ids(relation))]

    def _look_up(self, ends: Sequence[Sequence[str]], scopes: frozenset[str]) -> tuple[set[str], set[str]]:
        """Return the ends of things that are hidden, and the ends that never existed here."""
        ids = sorted({id for mentioned in ends for id in mentioned})
        hidden, kept = self._among(ids, scopes)
        if DEFAULT_SCOPE not in scopes:
            return hidden, set()
        # What is attached to a memory that never existed has no scope, so it gets the default one, as a memory would.
        return hidden, set(ids) - self.store.records.known(ids) - kept


def tombstone_mentions(tombstone: Tombstone) -> list[str]:
    """Return the memories that a tombstone mentions: in the key of a removed link, or as the target of a merge."""
    return [*tombstone.id.split(), *UUID7.findall(tombstone.reason)]


def _ends(thing: Thing) -> list[str]:
    """Return the memories and entities that a thing mentions; `""` for a foreign row without an owner."""
    if isinstance(thing, Tombstone):
        return tombstone_mentions(thing)
    return mentioned_ids(thing) or ([""] if isinstance(thing, Blob) else [])


def _scope_of(thing: Thing) -> str | None:
    """Return the scope that a thing names."""
    if (
        isinstance(thing, Relation)
        and thing.scope == DEFAULT_SCOPE
        and not (thing.subject.entity or thing.object.entity)
    ):
        # Between two memories the default scope means nothing: their own scopes decide.
        return None
    if isinstance(thing, Blob):
        row = thing.row if isinstance(thing.row, dict) else {}
        details = row.get("details")
        inner = details.get("scope_hash") if isinstance(details, dict) else None
        # An audit row of another tool has the scope in one of these places.
        scope = row.get("scope", row.get("scope_hash", inner))
        return scope if isinstance(scope, str) else None
    return getattr(thing, "scope", None)
