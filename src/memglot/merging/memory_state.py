"""The state of a memory: what is known of it, its clashes, its deletion; and what remains of one that was deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from memglot.merging.records import conflicts_of, merge_records
from memglot.merging.registers import digest
from memglot.model import Conflict, Record, Relation, Supersession, Tombstone, canonical, thing_key, to_builtins
from memglot.store.contract import Revision, Store

AFTER_DELETION = "remains"
"""The deed of a revision that no record stood behind: what was learnt of a memory after its deletion."""
BATCH_MARKER = "batch"
"""The kind of a revision that stands where a batch of an import began."""
LINK_KINDS: dict[str, type[Relation] | type[Supersession]] = {"relation": Relation, "supersession": Supersession}
"""What can be taken away so that it stays away; its tombstone has its key and the name of its kind."""


@dataclass(frozen=True)
class MemoryState:
    """All that a store can know of one memory; it is alive when it was edited after its deletion."""

    record: Record | None = None
    conflicts: tuple[Conflict, ...] = ()
    tombstone: Tombstone | None = None

    @property
    def is_alive(self) -> bool:
        """Tell whether the memory is there."""
        if self.record is None:
            return False
        return self.tombstone is None or self.record.updated_at > self.tombstone.deleted_at

    def value(self) -> bytes:
        """The same bytes for the same knowledge."""
        return canonical([self.record, list(self.conflicts), self.tombstone])


def join_states(one: MemoryState, other: MemoryState) -> MemoryState:
    """What both know together: the same in any order, and however often it is told."""
    tombstone = max(filter(None, (one.tombstone, other.tombstone)), key=tombstone_rank, default=None)
    known = [*one.conflicts, *other.conflicts]
    if one.record is None or other.record is None:
        record = one.record or other.record
        found = MemoryState(record, tuple(conflicts_of(record, known)) if record else (), tombstone)
    else:
        merged, conflicts = merge_records(one.record, other.record, "merge", known)
        found = MemoryState(merged, tuple(conflicts), tombstone)
    # A deletion that an edit came after says nothing any more.
    return MemoryState(found.record, found.conflicts) if found.is_alive else found


def tombstone_rank(tombstone: Tombstone) -> tuple[int, bytes]:
    """Which of two deletions of one memory stands: the later one."""
    return tombstone.deleted_at, digest(tombstone)


def is_link_tombstone(tombstone: Tombstone) -> bool:
    """Tell whether it is a relation, or a word that one memory replaced another, that was taken away."""
    return tombstone.kind in LINK_KINDS and not tombstone.content_hash


def link_time(link: Relation | Supersession) -> int:
    """When a relation was made or changed, or a decision was taken."""
    return link.updated_at if isinstance(link, Relation) else link.decided_at or 0


def link_tombstone(link: Relation | Supersession, at: int, scope: str) -> Tombstone:
    """The mark of a link that is taken away, so that no old file brings it back; later than the link itself."""
    kind = next(name for name, struct in LINK_KINDS.items() if isinstance(link, struct))
    gone = max(at, link_time(link))
    return Tombstone(id=thing_key(link), content_hash="", kind=kind, scope=scope, deleted_at=gone)


def revision_value(record: Record, conflicts: Iterable[Conflict]) -> dict[str, Any]:
    """A record and its clashes as a revision keeps them: they are one state, and come back together."""
    value: dict[str, Any] = to_builtins(record)
    found = [to_builtins(conflict) for conflict in conflicts]
    return {**value, "conflicts": found} if found else value


def parse_revision(before: dict[str, Any]) -> tuple[Record, list[Conflict]]:
    """The record and the clashes that a revision keeps."""
    found = msgspec.convert(before.get("conflicts", []), list[Conflict])
    return msgspec.convert(before, Record), found


def known_of_deleted(store: Store, tombstone: Tombstone) -> tuple[MemoryState, int | None]:
    """What is still known of a deleted memory, and the batch that had brought it."""
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
    """Let a record have these clashes and no others."""
    wanted = {conflict.field: conflict for conflict in conflicts}
    store.things.remove(
        [conflict for conflict in store.things.select(Conflict, [record]) if conflict.field not in wanted]
    )
    store.things.put(list(wanted.values()))
