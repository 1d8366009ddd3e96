"""Undo an import: remove what it added and restore what it changed, except what was changed since."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice

import msgspec

from memglot.disk import DiskList, DiskMap
from memglot.display import plural
from memglot.editing.batches import ShowCount, work_in_batches
from memglot.editing.history import find_import
from memglot.editing.operations import IMPORT, cancelled_parts
from memglot.editing.supersede import undo_supersession
from memglot.editing.undo import Undone
from memglot.formats.core.sidecar import kind_name
from memglot.importing.bases import BASE
from memglot.merging.memory_state import AFTER_DELETION, BATCH_MARKER, parse_revision, set_conflicts
from memglot.merging.records import MERGED_INTO
from memglot.merging.redirects import RedirectChanges, merged_into, update_redirects
from memglot.model import (
    LATEST,
    THINGS,
    Conflict,
    Relation,
    Supersession,
    Thing,
    Tombstone,
    linked_memories,
    now,
    owner_of,
    thing_key,
)
from memglot.report import Report
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Base, Import, Revision, Store

_RECORD = "record"
Key = tuple[str, str]
"""The kind and the key of an item; a deletion belongs to the history of its record."""


def undo(store: Store, import_id: str, *, force: bool = False, progress: ShowCount | None = None) -> Undone:
    """Restore what was stored before an import, and leave no tombstone; an import is undone only once.

    What was changed or linked since is kept, with a note, unless `force` is set. Large imports are undone in short
    transactions; after an interruption, the same call finishes the rest.
    """
    report = Report()
    entry = find_import(store.history.imports(), import_id)
    if entry.state == "undone":
        # So that a command that was killed when it was done can be repeated.
        note = f"the import `{entry.id}` is already undone; use `memglot imports` to find another one"
        return Undone(id=entry.id, action=IMPORT, notes=[note])
    with DiskMap() as kept:
        _Undo(store, entry, report, kept, force).run(progress)
        count = len(kept)
        if count:
            memories = sum(1 for key in kept if key.startswith(_RECORD))
            report.note(_kept_since(memories, count - memories))
    with store.writing():
        entry.state = "undone" if not count else "partly undone"
        store.history.put_import(entry)
        store.history.log("undo", entry.id, "", {"removed": report.imported, "restored": report.merged, "kept": count})
    return Undone(
        id=entry.id, action=IMPORT, removed=report.imported, restored=report.merged, kept=count, notes=report.notes
    )


class _Undo:
    """Undoes one import. Each step finds out by itself what is left to do, so that a killed undo can be repeated."""

    def __init__(self, store: Store, entry: Import, report: Report, kept: DiskMap, force: bool) -> None:
        self._store, self._report, self._force, self._at = store, report, force, entry.at
        self._kept = kept
        """The kinds and keys of what was changed since."""
        self._batches = store.history.batches(entry.id)
        first = store.history.revisions(batches=self._batches[:1]) if self._batches else iter(())
        self._begin = next((revision.number for revision in first if revision.kind == BATCH_MARKER), 0)
        self._has_changes = any(
            revision.kind != BATCH_MARKER
            for batch in self._batches
            for revision in store.history.revisions(batches=[batch])
        )
        self._cancelled = cancelled_parts(store, entry.at)

    def run(self, progress: ShowCount | None) -> None:
        """Undo what can be undone. What one batch imported together is never seen apart."""
        if not self._batches:
            return
        with self._store.writing() if len(self._batches) == 1 else nullcontext():
            self._undo_batches(progress)

    def _undo_batches(self, progress: ShowCount | None) -> None:
        added = self._store.records.ids_in_batches(self._batches)
        work_in_batches(self._store, added, self._remove_records, progress)
        with self._store.writing():
            self._remove_dead()
            self._remove_things()
        for batch in reversed(self._batches) if self._has_changes else ():
            with self._store.writing():
                self._put_back(list(self._store.history.revisions(batches=[batch])))
            self._store.give_way()
        with self._store.writing():
            # Memories that were merged into a removed one are restored.
            update_redirects(self._store, RedirectChanges(has_tombstones=True), now())

    def _keep(self, key: Key) -> None:
        self._kept[" ".join(key)] = True

    def _is_kept(self, key: Key) -> bool:
        return " ".join(key) in self._kept

    def _remove_records(self, ids: list[str]) -> int:
        """Remove records that the import added, except those that were changed or linked since."""
        since = list(self._linked_since(ids))
        if self._force:
            gone = ids
        else:
            stays = self._changed_among(ids) | {id for _, ends in since for id in ends}
            for id in stays:
                self._keep((_RECORD, id))
            gone = [id for id in ids if id not in stays]
        self._forget(gone)
        self._store.records.remove(gone)
        self._store.things.remove(list(self._store.things.select(Conflict, gone)))
        self._report.imported += len(gone)
        if self._force:
            for thing, _ in since:
                self._remove_link(thing)
        return len(gone)

    def _forget(self, ids: list[str]) -> None:
        """Remove what is remembered of memories, so that they can be imported again."""
        self._store.history.remove_imported_digests(ids)
        if self._has_changes:
            found = self._store.history.record_changes(ids, 0)
            own = [one.number for one in found if one.kind == _RECORD and one.batch in self._batches]
            self._store.history.delete_revisions(own)

    def _changed_among(self, ids: list[str]) -> set[str]:
        """Return those of the memories that were changed by something else after this import began."""
        return {one.key for one in self._store.history.record_changes(ids, self._begin) if self._is_since(one)}

    def _is_since(self, revision: Revision) -> bool:
        """Return True if a revision says that something else changed an item, and no undo changed it back."""
        return (
            revision.number > self._begin
            and revision.batch not in self._batches
            and revision.action != AFTER_DELETION
            and not self._is_cancelled(revision.number)
        )

    def _linked_since(self, ids: list[str]) -> Iterator[tuple[Thing, set[str]]]:
        """Yield links and deletions of some memories since the import, with the ids of these memories."""
        things, wanted = self._store.things, set(ids)
        for kind in (Relation, Supersession):
            if next(things.select(kind), None) is None:
                continue
            found = {thing_key(thing): thing for thing in things.select(kind, ids)}
            for id in ids:
                found |= {thing_key(thing): thing for thing in things.by_second_key(kind, id)}
            for thing in found.values():
                if self._is_linked_since(thing):
                    yield thing, wanted.intersection(linked_memories(thing))
        for tombstone in things.by_reason([MERGED_INTO + id for id in ids]):
            target = merged_into(tombstone)
            if target is not None and self._is_linked_since(tombstone):
                yield tombstone, {target}

    def _is_linked_since(self, thing: Thing) -> bool:
        batch = self._store.things.batches_of([thing])[0]
        if batch is not None:
            return batch > max(self._batches)
        return _time(thing) >= self._at

    def _remove_link(self, thing: Thing) -> None:
        if isinstance(thing, Supersession):
            undo_supersession(self._store, thing)
        elif isinstance(thing, Relation):
            self._store.things.remove([thing])

    def _taken(self) -> Iterator[Revision]:
        """Yield the states of what this import had added when something else changed it."""
        found = self._store.history.revisions(previous_batches=self._batches)
        return (revision for revision in found if revision.batch not in self._batches)

    def _remove_dead(self) -> None:
        """Remove memories of this import that were deleted, or merged into others, since."""
        keys: DiskList[str] = DiskList(str)
        for revision in self._taken():
            if revision.kind == _RECORD:
                keys.append(revision.key)
        rest = iter(keys)
        while some := sorted(set(islice(rest, BATCH_SIZE))):
            dead = sorted(set(some) - self._store.records.known(some))
            for tombstone in list(self._store.things.select(Tombstone, dead)) if dead else ():
                if not self._force:
                    self._keep((_RECORD, tombstone.id))
                    continue
                self._store.things.remove([tombstone])
                self._forget([tombstone.id])
                self._report.imported += 1

    def _remove_things(self) -> None:
        gone: DiskList[Key] = DiskList(tuple[str, str])
        for thing in self._store.things.in_batches(self._batches):
            key = _key(kind_name(thing), thing_key(thing))
            # Items of a memory that is kept are kept too.
            if self._is_kept((_RECORD, owner_of(thing))) or self._is_kept(key):
                continue
            if not self._force and self._is_changed(key):
                self._keep(key)
            else:
                gone.append((kind_name(thing), thing_key(thing)))
        replaced = [revision for revision in self._taken() if revision.kind in THINGS]
        for revision in replaced:
            present = self._store.things.get(THINGS[revision.kind], revision.key)
            if present is not None and not self._force:
                self._keep(_key(revision.kind, revision.key))
            elif present is not None:
                gone.append((revision.kind, revision.key))
        for kind, name in gone:
            there = self._store.things.get(THINGS[kind], name)
            self._store.things.remove([there] if there is not None else [])

    def _put_back(self, revisions: list[Revision]) -> None:
        """Restore what one batch changed, the newest change first."""
        for revision in reversed(revisions):
            key = _key(revision.kind, revision.key)
            if revision.kind == BASE:
                self._restore_base(revision)
                continue
            if revision.kind == BATCH_MARKER:
                continue
            if revision.action != AFTER_DELETION and not self._force and (self._is_kept(key) or self._is_changed(key)):
                self._keep(key)
                continue
            # A restored item counts as never changed, also for the next undo; and the states of deleted memories
            # were never visible.
            self._store.history.delete_revisions([revision.number])
            if revision.action != AFTER_DELETION:
                self._restore(revision)

    def _restore_base(self, revision: Revision) -> None:
        """Forget what a source said in this import, unless it was exchanged again since."""
        before = revision.before or {}
        for base in self._store.history.bases([revision.key]):
            if (base.tool, base.space) == (before.get("tool"), before.get("space")) and base.batch in self._batches:
                self._store.history.remove_bases([base])
                if before.get("base") is not None:
                    self._store.history.put_bases([msgspec.convert(before["base"], Base)])
        self._store.history.delete_revisions([revision.number])

    def _restore(self, revision: Revision) -> None:
        store = self._store
        if revision.kind != _RECORD:
            thing = msgspec.convert(revision.before, THINGS[revision.kind])
            if not (isinstance(thing, Tombstone) and store.records.known([thing.id])):
                store.things.put([thing], revision.previous_batch)
        elif revision.before is not None:
            before, had = parse_revision(revision.before)
            if store.records.known([before.id]):
                store.records.replace(before)
            else:
                store.records.add([before], revision.previous_batch)
            set_conflicts(store, before.id, had)
            self._report.merged += 1

    def _is_changed(self, key: Key) -> bool:
        """Return True if an item was changed by something else after this import began."""
        kinds = (_RECORD, "tombstone") if key[0] == _RECORD else (key[0],)
        found = self._store.history.revisions(key=key[1])
        return any(revision.kind in kinds and self._is_since(revision) for revision in found)

    def _is_cancelled(self, number: int) -> bool:
        place = bisect_right(self._cancelled, (number, LATEST))
        return place > 0 and self._cancelled[place - 1][1] >= number


def _key(kind: str, key: str) -> Key:
    return (_RECORD if kind == "tombstone" else kind), key


def _time(thing: Thing) -> int:
    match thing:
        case Relation():
            return thing.updated_at
        case Supersession():
            return thing.decided_at or 0
        case Tombstone():
            return thing.deleted_at
        case _:
            return 0


def _kept_since(memories: int, others: int) -> str:
    kept = [plural(memories, "memory")] if memories else []
    kept += [plural(others, "other item")] if others else []
    return f"kept {' and '.join(kept)} changed since the import; use `--force` to undo them too"
