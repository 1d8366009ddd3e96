"""Consolidate: exact doubles become one memory, and strengths fade; nothing is ever deleted for being weak."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from time import monotonic
from typing import Any, TypeVar

import msgspec

from memglot.disk import DiskList, DiskMap
from memglot.editing.decay import FADED, StrengthClock, differs, remember_base
from memglot.editing.memory import delete_records
from memglot.merging.records import MERGED_INTO, absorb
from memglot.merging.redirects import repoint
from memglot.merging.registers import normalise
from memglot.model import Record, now, to_builtins
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Revision, Store

T = TypeVar("T")
OPERATION = "consolidate"
_MERGED, _KEPT = "gone", "stays"


class Consolidation(msgspec.Struct, kw_only=True):
    """What a consolidation did. `faded` memories are weaker than 0.05 and are still there."""

    merged: int = 0
    updated: int = 0
    faded: int = 0
    memories: int = 0
    duration_ms: int = 0
    dry_run: bool = False

    @property
    def exit_code(self) -> int:
        """Always 0: whatever goes wrong is raised."""
        return 0

    def value(self) -> dict[str, Any]:
        """The result as its JSON shows it."""
        found = {name: getattr(self, name) for name in ("merged", "updated", "faded", "memories")}
        return {**found, "durationMs": self.duration_ms, **({"dryRun": True} if self.dry_run else {})}


def consolidate(store: Store, *, dry_run: bool = False) -> Consolidation:
    """Merge memories of the same content, kind and scope, and bring every strength up to date.

    It lands whole or not at all, and what it changes nothing about is not written.
    """
    started = monotonic()
    with DiskMap() as done:
        if dry_run:
            result = _Run(store, done, dry_run).run()
        else:
            with store.writing():
                result = _Run(store, done, dry_run).run()
                if result.merged or result.updated:
                    store.history.log(OPERATION, "", "", {"merged": result.merged, "updated": result.updated})
    result.duration_ms = round((monotonic() - started) * 1000)
    return result


class _Run:
    """One consolidation under way."""

    def __init__(self, store: Store, done: DiskMap, dry_run: bool) -> None:
        self._store, self._done, self._dry_run = store, done, dry_run
        self._clock = StrengthClock(store, now())
        self.result = Consolidation(dry_run=dry_run)

    def run(self) -> Consolidation:
        """Merge, then age."""
        # What will change is found first and lies on disk: nobody reads on while the store is being written.
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
        """Count a record; tell whether its strength is to be written."""
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
        """Let the oldest of some doubles, which is the same one on every machine, take in the others."""
        stays = min((record for batch in _batches(ids) for record in self._store.records.get(batch)), key=_rank)
        before = msgspec.structs.replace(stays)
        for batch in _batches(id for id in ids if id != stays.id):
            others = sorted(self._store.records.get(batch), key=_rank)
            for other in others:
                self._strengthen(stays, other)
                absorb(stays, other)
                self._done[other.id] = _MERGED
                if not self._dry_run:
                    repoint(self._store, other.id, stays.id, self._clock.moment, OPERATION)
            self.result.merged += len(others)
            if not self._dry_run:
                delete_records(self._store, others, deed=OPERATION, reason=MERGED_INTO + stays.id)
        self._weigh(stays)
        self._clock.age(stays)
        self._done[stays.id] = _KEPT
        self._replace(before, stays)

    def _strengthen(self, stays: Record, other: Record) -> None:
        """Let the one that stays be as strong as the stronger of both."""
        theirs, mine = self._clock.base(other), self._clock.base(stays)
        moment = self._clock.moment
        if theirs is not None and (mine is None or theirs.rank(moment) > mine.rank(moment)):
            stays.strength = other.strength
            stays.clocks = {**stays.clocks, "strength": moment}
            remember_base(stays, theirs)

    def _replace(self, before: Record, after: Record) -> None:
        """Keep a record that changed. Nobody edited it: its time stays, and what it took in keeps its clocks."""
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
