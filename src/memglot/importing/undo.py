"""Undo an import: remove what it added and restore what it changed, except what was changed since."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import msgspec

from memglot.display import plural
from memglot.editing.batches import ShowCount
from memglot.editing.history import find_import
from memglot.editing.operations import IMPORT, cancelled_parts
from memglot.editing.supersede import undo_supersession
from memglot.editing.undo import Undone
from memglot.formats.core.sidecar import kind_name
from memglot.importing.bases import BASE
from memglot.merging.memory_state import AFTER_DELETION, BATCH_MARKER, parse_revision, set_conflicts
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

    What was changed or linked since is kept, with a note, unless `force` is set.
    """
    report = Report()
    with store.writing():
        entry = find_import(store.history.imports(), import_id)
        if entry.state == "undone":
            # So that a command that was killed when it was done can be repeated.
            note = f"the import `{entry.id}` is already undone; use `memglot imports` to find another one"
            return Undone(id=entry.id, action=IMPORT, notes=[note])
        running = _Undo(store, entry, report, force)
        running.run()
        kept = running.kept
        if kept:
            memories = sum(kind == _RECORD for kind, _ in kept)
            report.note(_kept_since(memories, len(kept) - memories))
        entry.state = "undone" if not kept else "partly undone"
        store.history.put_import(entry)
        store.history.log(
            "undo", entry.id, "", {"removed": report.imported, "restored": report.merged, "kept": len(kept)}
        )
    return Undone(
        id=entry.id,
        action=IMPORT,
        removed=report.imported,
        restored=report.merged,
        kept=len(kept),
        notes=report.notes,
    )


class _Undo:
    """Undoes one import."""

    def __init__(self, store: Store, entry: Import, report: Report, force: bool) -> None:
        self._store, self._report, self._force, self._at = store, report, force, entry.at
        self._batches = store.history.batches(entry.id)
        self._revisions = list(store.history.revisions(batches=self._batches))
        self._begin = next((revision.number for revision in self._revisions if revision.kind == BATCH_MARKER), 0)
        self._cancelled = cancelled_parts(store, entry.at)
        self._removed: set[str] = set()
        self.kept: set[Key] = set()

    def run(self) -> None:
        """Undo what can be undone."""
        self._remove_records()
        taken = list(self._store.history.revisions(previous_batches=self._batches)) if self._batches else []
        self._remove_dead(taken)
        self._remove_things(taken)
        self._put_back()
        if self._removed:
            # Memories that were merged into a removed one are restored.
            update_redirects(self._store, RedirectChanges(has_tombstones=True), now())

    def _remove_records(self) -> None:
        ids = [record.id for record in self._store.records.in_batches(self._batches)]
        since = list(self._linked_since(set(ids)))
        linked = {id for _, ends in since for id in ends}
        gone = []
        for id in ids:
            if not self._force and (id in linked or self._is_changed((_RECORD, id))):
                self.kept.add((_RECORD, id))
            else:
                gone.append(id)
        for start in range(0, len(gone), BATCH_SIZE):
            some = gone[start : start + BATCH_SIZE]
            self._store.records.remove(some)
            self._store.things.remove(list(self._store.things.select(Conflict, some)))
            self._store.history.remove_imported_digests(some)
        self._removed.update(gone)
        self._report.imported += len(gone)
        if self._force:
            for thing, _ in since:
                self._remove_link(thing)

    def _linked_since(self, ids: set[str]) -> Iterator[tuple[Thing, set[str]]]:
        """Yield links and deletions of some memories since the import, with the ids of these memories."""
        for kind in (Relation, Supersession, Tombstone):
            for thing in self._store.things.select(kind) if ids else ():
                ends = ids.intersection(_ends(thing))
                if ends and self._is_since(thing):
                    yield thing, ends

    def _is_since(self, thing: Thing) -> bool:
        batch = self._store.things.batches_of([thing])[0]
        if batch is not None:
            return batch > max(self._batches)
        return _time(thing) >= self._at

    def _remove_link(self, thing: Thing) -> None:
        if isinstance(thing, Supersession):
            undo_supersession(self._store, thing)
        elif isinstance(thing, Relation):
            self._store.things.remove([thing])

    def _remove_dead(self, taken: list[Revision]) -> None:
        """Remove memories of this import that were deleted, or merged into others, since."""
        dead = {one.key for one in taken if one.kind == _RECORD and one.batch not in self._batches}
        dead -= self._store.records.known(sorted(dead)) | self._removed
        for tombstone in list(self._store.things.select(Tombstone, sorted(dead))) if dead else ():
            if not self._force:
                self.kept.add((_RECORD, tombstone.id))
                continue
            self._store.things.remove([tombstone])
            self._store.history.remove_imported_digests([tombstone.id])
            self._removed.add(tombstone.id)
            self._report.imported += 1

    def _remove_things(self, taken: list[Revision]) -> None:
        stays = {id for _, id in self.kept}
        gone: list[Thing] = []
        for thing in list(self._store.things.in_batches(self._batches)):
            key = _key(kind_name(thing), thing_key(thing))
            # Items of a memory that is kept are kept too.
            if owner_of(thing) in stays or key in self.kept:
                continue
            if not self._force and self._is_changed(key):
                self.kept.add(key)
            else:
                gone.append(thing)
        for revision in taken:
            if revision.kind != _RECORD and revision.batch not in self._batches:
                thing = msgspec.convert(revision.before, THINGS[revision.kind])
                now = self._store.things.same_key(thing)
                if now is not None and not self._force:
                    self.kept.add(_key(revision.kind, revision.key))
                elif now is not None:
                    gone.append(now)
        self._store.things.remove(gone)

    def _put_back(self) -> None:
        for revision in reversed(self._revisions):
            key = _key(revision.kind, revision.key)
            if revision.kind == BASE:
                self._restore_base(revision)
                continue
            if revision.kind == BATCH_MARKER or (revision.kind == _RECORD and revision.key in self._removed):
                continue
            if revision.action != AFTER_DELETION and not self._force and (key in self.kept or self._is_changed(key)):
                self.kept.add(key)
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
        """Return True if an item was changed by something else after this import began, and not back by an undo."""
        kinds = (_RECORD, "tombstone") if key[0] == _RECORD else (key[0],)
        return any(
            revision.number > self._begin
            and revision.batch not in self._batches
            and revision.action != AFTER_DELETION
            and not self._is_cancelled(revision.number)
            for revision in self._store.history.revisions(key=key[1])
            if revision.kind in kinds
        )

    def _is_cancelled(self, number: int) -> bool:
        place = bisect_right(self._cancelled, (number, LATEST))
        return place > 0 and self._cancelled[place - 1][1] >= number


def _key(kind: str, key: str) -> Key:
    return (_RECORD if kind == "tombstone" else kind), key


def _ends(thing: Thing) -> tuple[str, ...]:
    """Return the memories that an item belongs to; a merged memory's deletion belongs to the one it was merged into."""
    target = merged_into(thing) if isinstance(thing, Tombstone) else None
    return linked_memories(thing) if target is None else (target,)


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
