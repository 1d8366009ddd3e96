"""Changes: what an import does to what is there already, with a revision of each thing as it was."""

from __future__ import annotations

from typing import Any

from memglot.engine.doubles import Doubles
from memglot.engine.forward import in_text
from memglot.engine.plan import Plan
from memglot.formats.beside import key_of
from memglot.model import THINGS, Relation, Thing, Tombstone, plain
from memglot.store.contract import Revision, Store

_NAMES: dict[type[Any], str] = {kind: name for name, kind in THINGS.items()}


class Changes:
    """Makes the changes of one import, inside its transactions, and counts those a person should hear of."""

    def __init__(self, store: Store, doubles: Doubles, at: int) -> None:
        self._store, self._doubles, self._at = store, doubles, at
        self.conflicts = self.removed = 0

    def make(self, plan: Plan, things: list[Thing], batch: int) -> None:
        """Change what a plan and new things change; what was there before is remembered."""
        at = self._at
        revisions = []
        changed = [(plain(before), after) for before, after, _ in plan.merged] + plan.united
        for before, after in changed:
            self._store.replace(after)
            revisions.append(Revision(kind="record", key=after.id, at=at, deed="import", before=before, batch=batch))
        gone: list[Thing] = [*plan.restored, *self._stale_links(plan)]
        gone_revisions = self._revisions(gone, batch)
        self._store.take(gone)
        revisions += gone_revisions
        conflicts = [conflict for *_, found in plan.merged for conflict in found]
        self.conflicts += len(conflicts)
        revisions += self._replaced([*things, *conflicts], batch)
        revisions += self._buried(things, batch)
        self._store.put([*things, *conflicts], batch)
        self._store.remember(revisions)

    def _stale_links(self, plan: Plan) -> list[Relation]:
        """Links in the texts of notes that changed; those that are still there come again."""
        changed = [
            after.id for before, after, _ in plan.merged if (before.content, before.meta) != (after.content, after.meta)
        ]
        return [relation for relation in self._store.things(Relation, changed) if in_text(relation)] if changed else []

    def _replaced(self, things: list[Thing], batch: int) -> list[Revision]:
        """What the things replace."""
        return self._revisions([kept for kept in self._store.all_kept(things) if kept is not None], batch)

    def _revisions(self, things: list[Thing], batch: int) -> list[Revision]:
        """What things are before they change."""
        return [
            Revision(
                kind=_NAMES[type(thing)],
                key=key_of(thing),
                at=self._at,
                deed="import",
                before=plain(thing),
                batch=batch,
                origin=origin,
            )
            for thing, origin in zip(things, self._store.origins(things), strict=True)
        ]

    def _buried(self, things: list[Thing], batch: int) -> list[Revision]:
        """Remove the records that the tombstones among the things speak of."""
        dead = [thing.id for thing in things if isinstance(thing, Tombstone)]
        records = [record for record in self._store.get(dead) if not self._doubles.stays(record.id)]
        at, deed = self._at, "delete"
        found = [
            Revision(
                kind="record",
                key=record.id,
                at=at,
                deed=deed,
                before=plain(record),
                batch=batch,
                origin=self._store.origin(record.id),
            )
            for record in records
        ]
        self._store.remove([record.id for record in records])
        self.removed += len(records)
        return found
