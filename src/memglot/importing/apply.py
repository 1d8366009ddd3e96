"""Apply a plan: change what is stored, and keep a revision of everything as it was before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from memglot.importing.bases import BASE, BaseChange
from memglot.importing.duplicates import Duplicates
from memglot.importing.plan import BatchPlan
from memglot.merging.memory_state import AFTER_DELETION, BATCH_MARKER, MemoryState, revision_value, set_conflicts
from memglot.merging.redirects import RedirectChanges, update_redirects
from memglot.merging.things import ThingChanges, is_text_link
from memglot.model import THINGS, Conflict, Record, Relation, Thing, Tombstone, thing_key, to_builtins
from memglot.store.contract import Base, Revision, Store

_NAMES: dict[type[Any], str] = {kind: name for name, kind in THINGS.items()}


class BatchWriter:
    """Writes the batches of one import, inside its transactions."""

    def __init__(self, store: Store, duplicates: Duplicates, at: int) -> None:
        self._store, self._duplicates, self._at = store, duplicates, at
        self._redirects = RedirectChanges()
        self.conflicts = self.deleted = 0

    def begin_batch(self, import_id: str, format: str = "") -> int:
        """Return the number of a new batch, and mark its begin among the revisions."""
        batch = self._store.history.new_batch(import_id, format)
        mark = Revision(kind=BATCH_MARKER, key=import_id, at=self._at, action="import", before=None, batch=batch)
        self._store.history.add_revisions([mark])
        return batch

    def write(self, plan: BatchPlan, things: ThingChanges, batch: int) -> None:
        """Make all changes of a batch except adding new records; keep what was stored before."""
        at = self._at
        revisions = [
            Revision(kind="record", key=after.id, at=at, action="import", before=before, batch=batch)
            for before, after in self._changed(plan)
        ]
        for known, origin in plan.deleted_states:
            revisions += self._state_revision(known, origin, batch)
        gone: list[Thing] = [*plan.restored, *things.removed, *self._stale_links(plan)]
        revisions += self._revisions(gone, batch)
        self._store.things.remove(gone)
        revisions += self._replaced(things.put, batch)
        deleted = self._delete_records(things.put, batch)
        revisions += deleted
        self._store.things.put(things.put, batch)
        self._store.history.add_revisions(revisions)
        self.write_bases(plan.bases, batch)
        if plan.digests:
            self._store.history.put_imported_digests([(digest, record.id) for digest, record in plan.digests], batch)
        states = [known for known, _ in plan.deleted_states]
        self._redirects.add_batch(self._store, things.put, [revision.key for revision in deleted], states)

    def write_bases(self, changes: list[BaseChange], batch: int | None) -> None:
        """Store what sources said; a batch keeps what was known before, so that it can be undone."""
        if not changes:
            return
        history = self._store.history
        history.put_bases([msgspec.structs.replace(after, batch=batch) for _, after in changes])
        if batch is not None:
            history.add_revisions([self._base_revision(before, after, batch) for before, after in changes])

    def _base_revision(self, before: Base | None, after: Base, batch: int) -> Revision:
        known = None if before is None else to_builtins(before)
        source = {"tool": after.tool, "space": after.space, "base": known}
        return Revision(kind=BASE, key=after.record, at=self._at, action="import", before=source, batch=batch)

    def update_redirects(self, import_id: str) -> None:
        """Update memories into which others were merged with what the import changed in those."""
        changed = self._redirects
        if changed.ids or changed.has_tombstones:
            with self._store.writing():
                revived = update_redirects(self._store, changed, self._at, self.begin_batch(import_id))
            self.deleted -= revived

    def _changed(self, plan: BatchPlan) -> Iterator[tuple[dict[str, Any], Record]]:
        """Change records; yield the old value and the new record of each."""
        for before, after in plan.extended:
            self._store.records.replace(after)
            yield before, after
        new = {record.id for record in plan.new}
        for change in [*plan.merged, *plan.conflicting]:
            if change.before is not change.after:
                self._store.records.replace(change.after)
            set_conflicts(self._store, change.after.id, change.conflicts_after)
            self.conflicts += change.new_conflicts
            if change.after.id not in new:
                yield revision_value(change.before, change.conflicts_before), change.after

    def _state_revision(self, known: MemoryState, origin: int | None, batch: int) -> Iterator[Revision]:
        """Keep what is known of a memory that stays deleted, in case it is restored."""
        if known.record is not None:
            before = revision_value(known.record, known.conflicts)
            yield Revision(
                kind="record",
                key=known.record.id,
                at=self._at,
                action=AFTER_DELETION,
                before=before,
                batch=batch,
                previous_batch=origin,
            )

    def _stale_links(self, plan: BatchPlan) -> list[Relation]:
        """Return the links in the texts of changed notes; those that still exist are added again."""
        if not plan.from_notes:
            return []
        changed = [
            change.after.id
            for change in plan.merged
            if (change.before.content, change.before.meta) != (change.after.content, change.after.meta)
        ]
        relations = self._store.things.select(Relation, changed) if changed else ()
        return [relation for relation in relations if is_text_link(relation)]

    def _replaced(self, things: list[Thing], batch: int) -> list[Revision]:
        """Return revisions of the stored items that the given ones replace."""
        return self._revisions([kept for kept in self._store.things.same_keys(things) if kept is not None], batch)

    def _revisions(self, things: list[Thing], batch: int) -> list[Revision]:
        """Return revisions of items before they change."""
        return [
            Revision(
                kind=_NAMES[type(thing)],
                key=thing_key(thing),
                at=self._at,
                action="import",
                before=to_builtins(thing),
                batch=batch,
                previous_batch=origin,
            )
            for thing, origin in zip(things, self._store.things.batches_of(things), strict=True)
        ]

    def _delete_records(self, things: list[Thing], batch: int) -> list[Revision]:
        """Delete the records of the tombstones among the items; return their revisions."""
        dead = [thing.id for thing in things if isinstance(thing, Tombstone)]
        records = [record for record in self._store.records.get(dead) if not self._duplicates.is_kept(record.id)]
        had: dict[str, list[Conflict]] = {record.id: [] for record in records}
        for conflict in self._store.things.select(Conflict, list(had)) if had else ():
            had[conflict.record].append(conflict)
        found = [
            Revision(
                kind="record",
                key=record.id,
                at=self._at,
                action="delete",
                before=revision_value(record, had[record.id]),
                batch=batch,
                previous_batch=self._store.records.batch_of(record.id),
            )
            for record in records
        ]
        self._store.things.remove([conflict for conflicts in had.values() for conflict in conflicts])
        self._store.records.remove([record.id for record in records])
        self.deleted += len(records)
        return found
