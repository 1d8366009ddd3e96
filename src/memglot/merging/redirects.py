"""Redirects: memories that were merged into another one.

Everything attached to a merged memory is attached to the memory it was merged into, on every machine. The deletion of
a merged memory holds only while the other memory exists, or was merged in turn. Two machines may each merge without
knowing what the other deleted, merged or edited: then a copy is restored, so that at least one remains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from memglot.formats.core.sidecar import kind_name
from memglot.merging.memory_state import (
    MemoryState,
    known_of_deleted,
    link_time,
    link_tombstone,
    revision_value,
    set_conflicts,
)
from memglot.merging.records import MERGED_INTO, absorb, conflicts_of
from memglot.merging.registers import set_time
from memglot.model import (
    DEFAULT_SCOPE,
    LATEST,
    Blob,
    Conflict,
    Embedding,
    Endpoint,
    Record,
    Relation,
    Supersession,
    Thing,
    Tombstone,
    content_hash,
    linked_memories,
    owner_of,
    thing_key,
    to_builtins,
)
from memglot.store.contract import Revision, Store
from memglot.store.hidden import complete

OPERATION = "merge"


def merged_into(tombstone: Tombstone | None) -> str | None:
    """Return the id of the memory that a deleted one was merged into; `None` if it was simply deleted."""
    if tombstone is None or not tombstone.reason.startswith(MERGED_INTO):
        return None
    return tombstone.reason.removeprefix(MERGED_INTO)


@dataclass
class RedirectChanges:
    """Changes by an import that affect merged memories."""

    ids: set[str] = field(default_factory=set)
    """Merged memories that changed, or that a new thing refers to."""
    removed: set[str] = field(default_factory=set)
    """Merged memories that existed until this import."""
    has_tombstones: bool = False

    def add_batch(
        self, store: Store, put: Sequence[Thing], removed: Iterable[str], learnt: Iterable[MemoryState]
    ) -> None:
        """Record the changes of a batch: things put, records removed, and deleted memories with new information."""
        merged = {thing.id for thing in put if isinstance(thing, Tombstone) and merged_into(thing) is not None}
        self.has_tombstones |= any(isinstance(thing, Tombstone) for thing in put)
        self.removed |= merged.intersection(removed)
        ends = {id for thing in put for id in linked_memories(thing)}
        ends |= {state.record.id for state in learnt if state.record is not None}
        if ends:
            merged |= {
                found.id for found in store.things.select(Tombstone, sorted(ends)) if merged_into(found) is not None
            }
        self.ids |= merged


def update_redirects(store: Store, changes: RedirectChanges, at: int, batch: int | None = None) -> int:
    """Merge changed memories into the ones they were merged into, and restore those that have none left.

    Return how many were restored of those that existed until this import.
    """
    # In a view, a memory that is hidden must not count as deleted.
    update = _RedirectUpdate(complete(store), changes, at, batch)
    update.run()
    return update.revived


class _RedirectUpdate:
    def __init__(self, store: Store, changes: RedirectChanges, at: int, batch: int | None) -> None:
        self._store, self._changes, self._at, self._batch = store, changes, at, batch
        self._targets: dict[str, str | None] = {}
        self.revived = 0

    def run(self) -> None:
        wanted = set(self._changes.ids)
        if self._changes.has_tombstones:
            wanted |= {one.id for one in self._store.things.select(Tombstone) if merged_into(one) is not None}
        for id in sorted(wanted):
            self._follow(id)

    def _follow(self, id: str) -> None:
        """Follow a chain of redirects to its target and update each link, the last one first."""
        chain: list[Tombstone] = []
        while id not in self._targets:
            # Independent machines may have merged in a circle: its last memory is restored.
            self._targets[id] = None
            tombstone = self._store.things.get(Tombstone, id)
            target = merged_into(tombstone)
            if self._store.records.known([id]):
                self._targets[id] = id
            elif tombstone is not None and target is not None:
                chain.append(tombstone)
                id = target
        found = self._targets[id]
        for tombstone in reversed(chain):
            found = self._targets[tombstone.id] = self._update(tombstone, found)

    def _update(self, tombstone: Tombstone, target: str | None) -> str | None:
        """Update one merged memory; return the id of the memory that has its content now."""
        id = tombstone.id
        if target is not None and id not in self._changes.ids:
            return target
        known, origin = known_of_deleted(self._store, tombstone)
        if target is None or _was_edited_elsewhere(tombstone, known):
            if known.record is None or tombstone.deleted_at >= LATEST:
                return target
            self._revive(tombstone, known, origin)
            return id
        if known.record is not None:
            self._absorb(target, known.record)
        repoint(self._store, id, target, self._at, OPERATION, self._batch)
        return target

    def _revive(self, tombstone: Tombstone, known: MemoryState, origin: int | None) -> None:
        record = known.record
        assert record is not None
        # Later than its merging, by the same amount on every machine.
        set_time(record, max(record.updated_at, tombstone.deleted_at + 1))
        existed = record.id in self._changes.removed
        self.revived += existed
        if not existed and self._batch is not None:
            brought = self._store.things.batches_of([tombstone])[0]
            before = to_builtins(tombstone)
            self._add_revision(
                Revision(kind="tombstone", key=record.id, at=0, action="", before=before, previous_batch=brought)
            )
            origin = self._batch
        self._store.things.remove([tombstone])
        self._store.records.add([record], origin)
        set_conflicts(self._store, record.id, conflicts_of(record, known.conflicts))

    def _absorb(self, target: str, duplicate: Record) -> None:
        (kept,) = self._store.records.get([target])
        before = msgspec.structs.replace(kept)
        absorb(kept, duplicate)
        if kept == before:
            return
        had = list(self._store.things.select(Conflict, [target]))
        self._store.records.replace(kept)
        set_conflicts(self._store, target, conflicts_of(kept, had))
        self._add_revision(Revision(kind="record", key=target, at=0, action="", before=revision_value(before, had)))

    def _add_revision(self, revision: Revision) -> None:
        revision.at, revision.action, revision.batch = self._at, OPERATION, self._batch
        self._store.history.add_revisions([revision])


def _was_edited_elsewhere(tombstone: Tombstone, known: MemoryState) -> bool:
    """Return True if a merged memory was edited elsewhere, so it no longer duplicates what it was merged into."""
    record = known.record
    if record is None or not tombstone.content_hash:
        return False
    present = content_hash(record.content).hex(), record.kind, record.scope
    return present != (tombstone.content_hash, tombstone.kind, tombstone.scope)


def delete_merged_into(store: Store, ids: Iterable[str], at: int, reason: str) -> None:
    """Delete for good what was merged into memories that are being deleted."""
    store = complete(store)
    rest = set(ids)
    seen: set[str] = set()
    while rest:
        seen |= rest
        found = list(store.things.by_reason([MERGED_INTO + id for id in sorted(rest)]))
        for tombstone in found:
            deleted_at = min(LATEST, max(at, tombstone.deleted_at + 1))
            store.things.put([msgspec.structs.replace(tombstone, reason=reason, deleted_at=deleted_at)])
        rest = {tombstone.id for tombstone in found} - seen


def repoint(store: Store, old: str, new: str, at: int, action: str, batch: int | None = None) -> None:
    """Attach the relations, supersessions, vectors, conflicts and blobs of one record to another.

    Remove what would link the other record to itself or already exists there; revisions keep the previous state.
    """
    store = complete(store)
    have = {_triple(relation) for relation in _relations(store, new)}
    for relation in _relations(store, old):
        moved = msgspec.structs.replace(
            relation,
            subject=_moved(relation.subject, old, new),
            object=_moved(relation.object, old, new),
            source_record=new if relation.source_record == old else relation.source_record,
            # A machine whose clock runs ahead must not restore the old endpoint.
            updated_at=min(LATEST, max(at, relation.updated_at + 1)),
        )
        fits = moved.subject != moved.object and _triple(moved) not in have
        have.add(_triple(moved))
        _replace(store, relation, moved if fits else None, at, action, batch)
    for decision in [*store.things.select(Supersession, [old]), *store.things.by_second_key(Supersession, old)]:
        newer, older = (new if id == old else id for id in (decision.newer, decision.older))
        own = msgspec.structs.replace(decision, newer=newer, older=older)
        tombstone = store.things.get(Tombstone, thing_key(own))
        fits = newer != older and store.things.same_key(own) is None
        fits = fits and (tombstone is None or tombstone.deleted_at < link_time(own))
        _replace(store, decision, own if fits else None, at, action, batch)
    for kind in (Embedding, Conflict):
        for thing in list(store.things.select(kind, [old])):
            moving = msgspec.structs.replace(thing, record=new)
            fits = store.things.same_key(moving) is None and (
                not isinstance(moving, Conflict) or _is_conflict(store, moving)
            )
            _replace(store, thing, moving if fits else None, at, action, batch)
    for blob in list(store.things.select(Blob, [old])):
        _replace(store, blob, msgspec.structs.replace(blob, owner=new), at, action, batch)


def _is_conflict(store: Store, conflict: Conflict) -> bool:
    """Return True if a conflict still holds in the record that it was moved to."""
    return any(conflicts_of(record, [conflict]) for record in store.records.get([conflict.record]))


def _relations(store: Store, id: str) -> list[Relation]:
    """Return the relations with a record at either end, each once; an entity may have the same id."""
    found = [*store.things.select(Relation, [id]), *store.things.by_second_key(Relation, id)]
    return list({one.id: one for one in found if Endpoint(id) in (one.subject, one.object)}.values())


def _moved(end: Endpoint, old: str, new: str) -> Endpoint:
    return Endpoint(new) if end == Endpoint(old) else end


def _triple(relation: Relation) -> tuple[Endpoint, str, Endpoint]:
    return relation.subject, relation.predicate, relation.object


def _replace(store: Store, old: Thing, new: Thing | None, at: int, action: str, batch: int | None) -> None:
    origin = store.things.batches_of([old])[0]
    store.things.remove([old])
    if new is not None:
        store.things.put([new], batch)
    if isinstance(old, (Relation, Supersession)) and (new is None or thing_key(new) != thing_key(old)):
        # Otherwise the next file of a machine that does not know of it would restore it.
        scope = next((record.scope for record in store.records.get([owner_of(new or old)])), DEFAULT_SCOPE)
        store.things.put([link_tombstone(old, at, scope)], batch)
    revision = Revision(kind=kind_name(old), key=thing_key(old), at=at, action=action, before=to_builtins(old))
    revision.batch, revision.previous_batch = batch, origin
    store.history.add_revisions([revision])
    if new is not None and batch is None and thing_key(new) != thing_key(old):
        # Nothing else says that it did not exist before.
        store.history.add_revisions(
            [Revision(kind=kind_name(new), key=thing_key(new), at=at, action=action, before=None)]
        )
