"""Merge exact duplicates and update strengths; weak memories are never deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from time import monotonic
from typing import Any, TypeVar

import msgspec

from memglot.disk import DiskList, DiskMap
from memglot.editing.decay import FADED, StrengthClock, differs, remember_base
from memglot.editing.memory import delete_records
from memglot.editing.operations import recorded
from memglot.merging.records import MERGED_INTO, absorb
from memglot.merging.redirects import repoint
from memglot.merging.registers import normalise
from memglot.model import Record, now, to_builtins
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Revision, Store

T = TypeVar("T")
OPERATION = "consolidate"
_MERGED, _KEPT = "gone", "kept"


class Consolidation(msgspec.Struct, kw_only=True):
    """Result of a consolidation. `faded` memories are weaker than 0.05 and are kept."""

    merged: int = 0
    updated: int = 0
    faded: int = 0
    memories: int = 0
    duration_ms: int = 0
    dry_run: bool = False

    @property
    def exit_code(self) -> int:
        """Always 0; errors are raised."""
        return 0

    def value(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        found = {name: getattr(self, name) for name in ("merged", "updated", "faded", "memories")}
        return {**found, "durationMs": self.duration_ms, **({"dryRun": True} if self.dry_run else {})}


def consolidate(store: Store, *, dry_run: bool = False) -> Consolidation:
    """Merge memories with the same content, kind and scope, and update every strength, in one transaction.

    Memories that do not change are not written.
    """
    started = monotonic()
    with DiskMap() as done:
        if dry_run:
            result = _Run(store, done, dry_run).run()
        else:
            with recorded(store, OPERATION):
                result = _Run(store, done, dry_run).run()
                if result.merged or result.updated:
                    store.history.log(OPERATION, "", "", {"merged": result.merged, "updated": result.updated})
    result.duration_ms = round((monotonic() - started) * 1000)
    return result


class _Run:
    """One consolidation in progress."""

    def __init__(self, store: Store, done: DiskMap, dry_run: bool) -> None:
        self._store, self._done, self._dry_run = store, done, dry_run
        self._clock = StrengthClock(store, now())
        self.result = Consolidation(dry_run=dry_run)

    def run(self) -> Consolidation:
        """Merge duplicates, then update strengths."""
        # Changes are collected on disk first, since the store must not be read while it is written.
        groups: DiskList[list[str]] = DiskList()
        for ids in self._store.records.duplicates():
            groups.append(ids)
        for ids in groups:
            self._merge(ids)
        weaker: DiskList[str] = DiskList()
        for batch in _batches(self._store.records.select()):
            weaker.extend([record.id for record in batch if self._look(record)])
        for ids in _batches(weaker):
            for record in self._store.records.get(ids):
                before = msgspec.structs.replace(record)
                self._clock.age(record)
                self._replace(before, record)
        return self.result

    def _look(self, record: Record) -> bool:
        """Count a record; return True if its strength must be written."""
        state = self._done.get(record.id) if self.result.merged else None
        if state == _MERGED:
            return False
        self.result.memories += 1
        return state is None and self._weigh(record)

    def _weigh(self, record: Record) -> bool:
        strength = self._clock.strength(record)
        self.result.faded += strength is not None and strength < FADED
        changes = differs(strength, record.strength)
        self.result.updated += changes
        return changes

    def _merge(self, ids: list[str]) -> None:
        """Merge duplicates into the oldest of them, which is the same on every machine."""
        kept = min((record for batch in _batches(ids) for record in self._store.records.get(batch)), key=_rank)
        before = msgspec.structs.replace(kept)
        for batch in _batches(id for id in ids if id != kept.id):
            others = sorted(self._store.records.get(batch), key=_rank)
            for other in others:
                self._strengthen(kept, other)
                absorb(kept, other)
                self._done[other.id] = _MERGED
                if not self._dry_run:
                    repoint(self._store, other.id, kept.id, self._clock.moment, OPERATION)
            self.result.merged += len(others)
            if not self._dry_run:
                delete_records(self._store, others, action=OPERATION, reason=MERGED_INTO + kept.id)
        self._weigh(kept)
        self._clock.age(kept)
        self._done[kept.id] = _KEPT
        self._replace(before, kept)

    def _strengthen(self, kept: Record, other: Record) -> None:
        """Give the kept memory the greater strength of both."""
        theirs, mine = self._clock.base(other), self._clock.base(kept)
        moment = self._clock.moment
        if theirs is not None and (mine is None or theirs.rank(moment) > mine.rank(moment)):
            kept.strength = other.strength
            kept.clocks = {**kept.clocks, "strength": moment}
            remember_base(kept, theirs)

    def _replace(self, before: Record, after: Record) -> None:
        """Write a record that changed; since nobody edited it, its time and the clocks of merged values stay."""
        if after == before or self._dry_run:
            return
        normalise(after)
        self._store.records.replace(after)
        at, key = self._clock.moment, after.id
        self._store.history.add_revisions(
            [Revision(kind="record", key=key, at=at, action=OPERATION, before=to_builtins(before))]
        )


def _rank(record: Record) -> tuple[int, str]:
    return record.created_at, record.id


def _batches(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while batch := list(islice(rest, BATCH_SIZE)):
        yield batch
