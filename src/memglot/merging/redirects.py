"""Merged memories: each lives on in another one, and what is said of it is said of that one, on every machine.

A deletion by merging holds only while the memory that took it in is there, or lives on in turn. Two machines may each
merge without knowing what the other deleted, merged or edited meanwhile: then a copy comes back rather than that none
is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from memglot.merging.memory_state import MemoryState, known_of_deleted, revision_value, set_conflicts
from memglot.merging.records import MERGED_INTO, absorb, conflicts_of
from memglot.merging.registers import set_time
from memglot.merging.repoint import repoint
from memglot.model import LATEST, Conflict, Record, Thing, Tombstone, content_hash, linked_memories, to_builtins
from memglot.store.contract import Revision, Store

OPERATION = "merge"


def merged_into(tombstone: Tombstone | None) -> str | None:
    """The memory that a deleted one was merged into; `None` for one that was simply deleted."""
    if tombstone is None or not tombstone.reason.startswith(MERGED_INTO):
        return None
    return tombstone.reason.removeprefix(MERGED_INTO)


@dataclass
class RedirectChanges:
    """What an import did that merged memories may depend on."""

    ids: set[str] = field(default_factory=set)
    """Merged memories of which there is news, or which something new speaks of."""
    removed: set[str] = field(default_factory=set)
    """Merged memories that were there until now."""
    deaths: bool = False

    def look(self, store: Store, put: Sequence[Thing], removed: Iterable[str], learnt: Iterable[MemoryState]) -> None:
        """Take note of a batch: things that were put, records that were removed, and news of deleted ones."""
        merged = {thing.id for thing in put if isinstance(thing, Tombstone) and merged_into(thing) is not None}
        self.deaths |= any(isinstance(thing, Tombstone) for thing in put)
        self.removed |= merged.intersection(removed)
        ends = {id for thing in put for id in linked_memories(thing)}
        ends |= {state.record.id for state in learnt if state.record is not None}
        if ends and store.things.count(Tombstone):
            merged |= {
                found.id for found in store.things.select(Tombstone, sorted(ends)) if merged_into(found) is not None
            }
        self.ids |= merged


class RedirectUpdate:
    """Brings merged memories and those that they live on in into step."""

    def __init__(self, store: Store, touched: RedirectChanges, at: int, batch: int | None = None) -> None:
        self._store, self._touched, self._at, self._batch = store, touched, at, batch
        self._homes: dict[str, str | None] = {}
        self.revived = 0
        """How many came back of those that were there until now."""

    def run(self) -> None:
        """Let each merged memory give what it says to its home, or come back where it has none."""
        wanted = set(self._touched.ids)
        if self._touched.deaths:
            wanted |= {one.id for one in self._store.things.select(Tombstone) if merged_into(one) is not None}
        for id in sorted(wanted):
            self._follow(id)

    def _follow(self, id: str) -> None:
        """Go from a merged memory to where it lives on, and settle all on the way, the last one first."""
        way: list[Tombstone] = []
        while id not in self._homes:
            # Machines that did not know of each other may have merged in a circle: its last one comes back.
            self._homes[id] = None
            tombstone = self._store.things.get(Tombstone, id)
            home = merged_into(tombstone)
            if self._store.records.known([id]):
                self._homes[id] = id
            elif tombstone is not None and home is not None:
                way.append(tombstone)
                id = home
        found = self._homes[id]
        for tombstone in reversed(way):
            found = self._homes[tombstone.id] = self._settle(tombstone, found)

    def _settle(self, tombstone: Tombstone, home: str | None) -> str | None:
        """Settle one merged memory; tells where it lives now."""
        id = tombstone.id
        if home is not None and id not in self._touched.ids:
            return home
        known, origin = known_of_deleted(self._store, tombstone)
        if home is None or _was_edited_elsewhere(tombstone, known):
            if known.record is None or tombstone.deleted_at >= LATEST:
                return home
            self._revive(tombstone, known, origin)
            return id
        if known.record is not None:
            self._give(home, known.record)
        repoint(self._store, id, home, self._at, OPERATION, self._batch)
        return home

    def _revive(self, tombstone: Tombstone, known: MemoryState, origin: int | None) -> None:
        record = known.record
        assert record is not None
        # Later than its merging, by as much on every machine.
        set_time(record, max(record.updated_at, tombstone.deleted_at + 1))
        was_there = record.id in self._touched.removed
        self.revived += was_there
        if not was_there and self._batch is not None:
            brought = self._store.things.batches_of([tombstone])[0]
            before = to_builtins(tombstone)
            self._remember(
                Revision(kind="tombstone", key=record.id, at=0, action="", before=before, previous_batch=brought)
            )
            origin = self._batch
        self._store.things.remove([tombstone])
        self._store.records.add([record], origin)
        set_conflicts(self._store, record.id, conflicts_of(record, known.conflicts))

    def _give(self, home: str, double: Record) -> None:
        (stays,) = self._store.records.get([home])
        before = msgspec.structs.replace(stays)
        absorb(stays, double)
        if stays == before:
            return
        had = list(self._store.things.select(Conflict, [home]))
        self._store.records.replace(stays)
        set_conflicts(self._store, home, conflicts_of(stays, had))
        self._remember(Revision(kind="record", key=home, at=0, action="", before=revision_value(before, had)))

    def _remember(self, revision: Revision) -> None:
        revision.at, revision.action, revision.batch = self._at, OPERATION, self._batch
        self._store.history.add_revisions([revision])


def _was_edited_elsewhere(tombstone: Tombstone, known: MemoryState) -> bool:
    """Tell whether a merged memory was edited elsewhere, so that it is no double of what it was merged into."""
    record = known.record
    if record is None or not tombstone.content_hash:
        return False
    said = content_hash(record.content).hex(), record.kind, record.scope
    return said != (tombstone.content_hash, tombstone.kind, tombstone.scope)


def delete_merged_into(store: Store, ids: Iterable[str], at: int, reason: str) -> None:
    """Let those that were merged into memories which somebody deletes be deleted for good, with them."""
    if not store.things.count(Tombstone):
        return
    inside: dict[str, list[Tombstone]] = {}
    for tombstone in store.things.select(Tombstone):
        if (home := merged_into(tombstone)) is not None:
            inside.setdefault(home, []).append(tombstone)
    rest = list(ids) if inside else []
    while rest:
        for tombstone in inside.pop(rest.pop(), ()):
            gone = min(LATEST, max(at, tombstone.deleted_at + 1))
            store.things.put([msgspec.structs.replace(tombstone, reason=reason, deleted_at=gone)])
            rest.append(tombstone.id)
