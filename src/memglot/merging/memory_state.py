"""The state of a memory: its record, conflicts and deletion, and what is known of a deleted one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from memglot.merging.records import conflicts_of, merge_records
from memglot.merging.registers import digest
from memglot.model import (
    LINK_KINDS,
    Conflict,
    Record,
    Relation,
    Supersession,
    Tombstone,
    canonical,
    thing_key,
    to_builtins,
)
from memglot.store.contract import Revision, Store

AFTER_DELETION = "remains"
"""The operation of a revision that describes a memory after its deletion, when it had no record."""
BATCH_MARKER = "batch"
"""The kind of a revision that marks the beginning of a batch of an import."""


@dataclass(frozen=True)
class MemoryState:
    """Everything that a store knows of a memory."""

    record: Record | None = None
    conflicts: tuple[Conflict, ...] = ()
    tombstone: Tombstone | None = None

    @property
    def is_alive(self) -> bool:
        """Whether the memory exists: it was never deleted, or edited after its deletion."""
        if self.record is None:
            return False
        return self.tombstone is None or self.record.updated_at > self.tombstone.deleted_at

    def value(self) -> bytes:
        """Return the state as bytes, equal for equal states."""
        return canonical([self.record, list(self.conflicts), self.tombstone])


def join_states(one: MemoryState, other: MemoryState) -> MemoryState:
    """Return the combination of two states: the same in any order, and however often it is repeated."""
    tombstone = max(filter(None, (one.tombstone, other.tombstone)), key=tombstone_rank, default=None)
    known = [*one.conflicts, *other.conflicts]
    if one.record is None or other.record is None:
        record = one.record or other.record
        found = MemoryState(record, tuple(conflicts_of(record, known)) if record else (), tombstone)
    else:
        merged, conflicts = merge_records(one.record, other.record, "merge", known)
        found = MemoryState(merged, tuple(conflicts), tombstone)
    # A deletion before the last edit no longer counts.
    return MemoryState(found.record, found.conflicts) if found.is_alive else found


def tombstone_rank(tombstone: Tombstone) -> tuple[int, bytes]:
    """Return the sort key of deletions of one memory: the later one wins."""
    return tombstone.deleted_at, digest(tombstone)


def link_time(link: Relation | Supersession) -> int:
    """Return when a relation was last changed, or when a supersession was decided."""
    return link.updated_at if isinstance(link, Relation) else link.decided_at or 0


def link_tombstone(link: Relation | Supersession, at: int, scope: str) -> Tombstone:
    """Return the tombstone of a link that is removed, so that no older file restores it; never before the link."""
    kind = next(name for name, struct in LINK_KINDS.items() if isinstance(link, struct))
    deleted_at = max(at, link_time(link))
    return Tombstone(id=thing_key(link), content_hash="", kind=kind, scope=scope, deleted_at=deleted_at)


def revision_value(record: Record, conflicts: Iterable[Conflict]) -> dict[str, Any]:
    """Return a record and its conflicts as a revision stores them: they are restored together."""
    value: dict[str, Any] = to_builtins(record)
    found = [to_builtins(conflict) for conflict in conflicts]
    return {**value, "conflicts": found} if found else value


def parse_revision(before: dict[str, Any]) -> tuple[Record, list[Conflict]]:
    """Return the record and the conflicts that a revision stores."""
    found = msgspec.convert(before.get("conflicts", []), list[Conflict])
    return msgspec.convert(before, Record), found


def known_of_deleted(store: Store, tombstone: Tombstone) -> tuple[MemoryState, int | None]:
    """Return what is still known of a deleted memory, and the batch that had added it."""
    past: list[Revision] = [
        revision
        for revision in store.history.revisions(key=tombstone.id)
        if revision.kind == "record" and revision.before is not None
    ]
    if not past or past[-1].before is None:
        return MemoryState(tombstone=tombstone), None
    record, conflicts = parse_revision(past[-1].before)
    return MemoryState(record, tuple(conflicts), tombstone), past[-1].previous_batch


def set_conflicts(store: Store, record: str, conflicts: Iterable[Conflict]) -> None:
    """Replace the conflicts of a record."""
    wanted = {conflict.field: conflict for conflict in conflicts}
    store.things.remove(
        [conflict for conflict in store.things.select(Conflict, [record]) if conflict.field not in wanted]
    )
    store.things.put(list(wanted.values()))
