"""Take back a change of a relation, a supersession, an entity, an identity text, or what is attached to a memory."""

from __future__ import annotations

from typing import Any

import msgspec

from memglot.editing.revert import same
from memglot.formats.core.sidecar import kind_name
from memglot.merging.memory_state import link_time, link_tombstone
from memglot.merging.records import conflicts_of
from memglot.merging.registers import next_time
from memglot.model import (
    DEFAULT_SCOPE,
    THINGS,
    Conflict,
    Document,
    Entity,
    Relation,
    Supersession,
    Thing,
    Tombstone,
    now,
    owner_of,
    thing_key,
    to_builtins,
)
from memglot.store.contract import Revision, Store

_TIMES = ("created_at", "updated_at", "decided_at", "last_seen")
_LINKS = (Relation, Supersession)


class ThingRevert:
    """Takes back changes of things, inside of a transaction."""

    def __init__(self, store: Store, action: str, *, force: bool) -> None:
        self._store, self._action, self._force = store, action, force

    def run(self, revision: Revision) -> bool | None:
        """Take one change back; return False if the thing was changed since, and `None` if there is nothing to do."""
        if revision.kind not in THINGS or revision.kind == "tombstone":
            return None
        kind = THINGS[revision.kind]
        before: Any = None if revision.before is None else msgspec.convert(revision.before, kind)
        present: Any = self._store.things.get(kind, revision.key)
        if kind is Document:
            return self._revert_text(before, present)
        if _same(before, present):
            return None
        if not self._force and not _same(self._after(revision, present), present):
            return False
        if before is None and isinstance(present, Entity) and self._is_mentioned(present):
            return False
        return self._put_back(before, present)

    def _after(self, revision: Revision, present: Any) -> Any:
        """Return a thing as it was right after a change."""
        for later in self._store.history.revisions(key=revision.key):
            if later.number > revision.number and later.kind == revision.kind:
                return None if later.before is None else msgspec.convert(later.before, THINGS[later.kind])
        return present

    def _put_back(self, before: Any, present: Any) -> bool:
        things = self._store.things
        known = before if before is not None else present
        self._keep(known, present)
        if before is None:
            things.remove([present])
            if isinstance(present, _LINKS):
                # Otherwise the next file of another machine would restore it.
                things.put([link_tombstone(present, now(), self._scope_of(present))])
        elif isinstance(before, Conflict):
            records = self._store.records.get([before.record])
            things.put([one for record in records for one in conflicts_of(record, [before])])
        else:
            tombstone = things.get(Tombstone, thing_key(before)) if isinstance(before, _LINKS) else None
            # It must win even if a clock ran ahead somewhere.
            things.put([_with_time(before, present, tombstone)])
            things.remove([tombstone] if tombstone is not None else [])
        self._log(known)
        return True

    def _revert_text(self, before: Document | None, present: Document | None) -> bool | None:
        """Set the identity text again that another one had replaced, or remove the only one."""
        things = self._store.things
        if present is None:
            if before is None:
                return None
            self._keep(before, None)
            things.put([msgspec.structs.replace(before, created_at=now())])
            self._log(before)
            return True
        others = [
            one
            for one in things.by_second_key(Document, present.name)
            if one.scope == present.scope and one.id != present.id
        ]
        if not self._force and any(one.created_at > present.created_at for one in others):
            return False
        previous = max(others, key=lambda one: (one.created_at, one.id), default=None)
        if previous is None:
            self._keep(present, present)
            things.remove([present])
        else:
            self._keep(previous, previous)
            at = max(now(), *(one.created_at + 1 for one in (*others, present)))
            things.put([msgspec.structs.replace(previous, created_at=at)])
        self._log(previous or present)
        return True

    def _keep(self, thing: Thing, present: Thing | None) -> None:
        """Keep a revision of a thing as it is now."""
        revision = Revision(
            kind=kind_name(thing),
            key=thing_key(thing),
            at=now(),
            action=self._action,
            before=None if present is None else to_builtins(present),
        )
        if present is not None:
            revision.previous_batch = self._store.things.batches_of([present])[0]
        self._store.history.add_revisions([revision])

    def _log(self, thing: Thing) -> None:
        self._store.history.log(self._action, thing_key(thing), self._scope_of(thing), {"kind": kind_name(thing)})

    def _scope_of(self, thing: Thing) -> str:
        scope = getattr(thing, "scope", None)
        if isinstance(scope, str):
            return scope
        return next((record.scope for record in self._store.records.get([owner_of(thing)])), DEFAULT_SCOPE)

    def _is_mentioned(self, entity: Entity) -> bool:
        things = self._store.things
        links = (*things.select(Relation, [entity.id]), *things.by_second_key(Relation, entity.id))
        return bool(links) or any(one.entity == entity.id for one in things.select(Supersession))


def _with_time(before: Any, present: Any, tombstone: Tombstone | None) -> Any:
    deleted = tombstone.deleted_at if tombstone is not None else 0
    match before:
        case Relation():
            times = [link_time(one) for one in (before, present) if one is not None]
            return msgspec.structs.replace(before, updated_at=next_time(deleted, *times))
        case Supersession():
            times = [link_time(one) for one in (before, present) if one is not None]
            return msgspec.structs.replace(before, decided_at=next_time(deleted, *times))
        case Entity():
            seen = [one.last_seen or 0 for one in (before, present) if one is not None]
            return msgspec.structs.replace(before, last_seen=next_time(*seen))
        case _:
            return before


def _same(one: Any, other: Any) -> bool:
    """Return True if two things have the same values, whenever these were set."""
    if one is None or other is None:
        return one is other
    values = ({name: value for name, value in _fields(thing).items() if name not in _TIMES} for thing in (one, other))
    return same(*values)


def _fields(thing: Any) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in thing.__struct_fields__}
