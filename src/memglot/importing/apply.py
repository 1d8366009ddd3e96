"""Changes: what an import does to what is there already, with a revision of each thing as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memglot.importing.duplicates import Doubles
from memglot.importing.plan import Plan
from memglot.merging.edited_notes import is_text_link
from memglot.merging.memory_state import AFTER_DELETION, BATCH_MARKER, MemoryState, revision_value, set_conflicts
from memglot.merging.redirects import RedirectChanges, update_redirects
from memglot.merging.things import ThingChanges
from memglot.model import THINGS, Conflict, Record, Relation, Thing, Tombstone, thing_key, to_builtins
from memglot.store.contract import Revision, Store

_NAMES: dict[type[Any], str] = {kind: name for name, kind in THINGS.items()}


class Changes:
    """Makes the changes of one import, inside its transactions, and counts those a person should hear of."""

    def __init__(self, store: Store, doubles: Doubles, at: int) -> None:
        self._store, self._doubles, self._at = store, doubles, at
        self._touched = RedirectChanges()
        self.conflicts = self.removed = 0

    def begin(self, import_id: str) -> int:
        """A number for the next batch, and a mark among the revisions, so that later ones are known as such."""
        batch = self._store.history.new_batch(import_id)
        mark = Revision(kind=BATCH_MARKER, key=import_id, at=self._at, action="import", before=None, batch=batch)
        self._store.history.add_revisions([mark])
        return batch

    def make(self, plan: Plan, met: ThingChanges, batch: int) -> None:
        """Change what a plan and new things change; what was there before is remembered."""
        at = self._at
        revisions = [
            Revision(kind="record", key=after.id, at=at, action="import", before=before, batch=batch)
            for before, after in self._changed(plan)
        ]
        for known, origin in plan.remains:
            revisions += self._learnt(known, origin, batch)
        gone: list[Thing] = [*plan.restored, *met.removed, *self._stale_links(plan)]
        gone_revisions = self._revisions(gone, batch)
        self._store.things.remove(gone)
        revisions += gone_revisions
        revisions += self._replaced(met.put, batch)
        removed = self._buried(met.put, batch)
        revisions += removed
        self._store.things.put(met.put, batch)
        self._store.history.add_revisions(revisions)
        learnt = [known for known, _ in plan.remains]
        self._touched.add_batch(self._store, met.put, [revision.key for revision in removed], learnt)

    def reunite(self, import_id: str) -> None:
        """Bring merged memories, and those that they live on in, into step with all that came."""
        touched = self._touched
        if touched.ids or touched.has_tombstones:
            with self._store.writing():
                revived = update_redirects(self._store, touched, self._at, self.begin(import_id))
            self.removed -= revived

    def _changed(self, plan: Plan) -> Iterator[tuple[dict[str, Any], Record]]:
        """Change what the plan changes; what each memory was before comes first."""
        for before, after in plan.united:
            self._store.records.replace(after)
            yield before, after
        new = {record.id for record in plan.new}
        for change in [*plan.merged, *plan.clashing]:
            if change.before is not change.after:
                self._store.records.replace(change.after)
            set_conflicts(self._store, change.after.id, change.has)
            self.conflicts += change.found
            if change.after.id not in new:
                yield revision_value(change.before, change.had), change.after

    def _learnt(self, known: MemoryState, origin: int | None, batch: int) -> Iterator[Revision]:
        """What is known now of a memory that stays deleted, for the day that it comes back."""
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

    def _stale_links(self, plan: Plan) -> list[Relation]:
        """Links in the texts of notes that changed; those that are still there come again."""
        if not plan.from_notes:
            return []
        changed = [
            change.after.id
            for change in plan.merged
            if (change.before.content, change.before.meta) != (change.after.content, change.after.meta)
        ]
        return (
            [relation for relation in self._store.things.select(Relation, changed) if is_text_link(relation)]
            if changed
            else []
        )

    def _replaced(self, things: list[Thing], batch: int) -> list[Revision]:
        """What the things replace."""
        return self._revisions([kept for kept in self._store.things.same_keys(things) if kept is not None], batch)

    def _revisions(self, things: list[Thing], batch: int) -> list[Revision]:
        """What things are before they change."""
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

    def _buried(self, things: list[Thing], batch: int) -> list[Revision]:
        """Remove the records that the tombstones among the things speak of."""
        dead = [thing.id for thing in things if isinstance(thing, Tombstone)]
        records = [record for record in self._store.records.get(dead) if not self._doubles.stays(record.id)]
        at, deed = self._at, "delete"
        had: dict[str, list[Conflict]] = {record.id: [] for record in records}
        for conflict in self._store.things.select(Conflict, list(had)) if had else ():
            had[conflict.record].append(conflict)
        found = [
            Revision(
                kind="record",
                key=record.id,
                at=at,
                action=deed,
                before=revision_value(record, had[record.id]),
                batch=batch,
                previous_batch=self._store.records.batch_of(record.id),
            )
            for record in records
        ]
        self._store.things.remove([conflict for conflicts in had.values() for conflict in conflicts])
        self._store.records.remove([record.id for record in records])
        self.removed += len(records)
        return found
