"""What an import will do with a batch: which records are new, which are merged, which are skipped, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from memglot.formats.base import NoteSupport
from memglot.merging.edited_notes import merge_edited_note
from memglot.merging.memory_state import MemoryState, join_states, known_of_deleted
from memglot.merging.records import (
    MERGED_INTO,
    add_tags_and_places,
    conflicts_of,
    includes_value_of,
    is_unchanged_by,
    merge_records,
)
from memglot.merging.registers import normalise, set_time
from memglot.merging.things import ThingChanges, merge_things
from memglot.model import (
    DELETED,
    Conflict,
    Record,
    Thing,
    Tombstone,
    canonical,
    canonical_record,
    content_hash,
    has_no_time,
    to_builtins,
)
from memglot.store.contract import ContentKey, Import, Store


@dataclass
class Change:
    """A memory before and after, each with its clashes."""

    before: Record
    after: Record
    had: list[Conflict]
    has: list[Conflict]

    @property
    def found(self) -> int:
        """How many clashes are new, or say more than they did."""
        known = {canonical(conflict) for conflict in self.had}
        return sum(canonical(conflict) not in known for conflict in self.has)

    @property
    def is_none(self) -> bool:
        """Tell whether nothing changes."""
        return canonical_record(self.before) == canonical_record(self.after) and canonical(self.had) == canonical(
            self.has
        )


@dataclass
class Plan:
    """What a batch will do."""

    new: list[Record] = field(default_factory=list)
    clashing: list[Change] = field(default_factory=list)
    """Memories that stay as they are, or are new, and get clashes."""
    merged: list[Change] = field(default_factory=list)
    united: list[tuple[dict[str, Any], Record]] = field(default_factory=list)
    restored: list[Tombstone] = field(default_factory=list)
    remains: list[tuple[MemoryState, int | None]] = field(default_factory=list)
    """What the input tells of memories that stay deleted, and the batches that had brought these."""
    skipped: list[str] = field(default_factory=list)
    doubles: list[tuple[Record, Record]] = field(default_factory=list)
    """Records that are skipped, each with the one of the same content that stays."""
    pending: set[int] = field(default_factory=set)
    """Records by identity that will be written anyway."""
    raised: dict[str, MemoryState] = field(default_factory=dict)
    """Memories that were deleted and come back, as they were while they were gone."""
    from_notes: bool = False
    without_id: int = 0
    differ: int = 0
    deleted: int = 0
    twice: int = 0
    poorer: int = 0
    """Doubles that say something which the record that stays does not."""

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing will change."""
        return not (self.new or self.merged or self.united or self.restored or self.remains or self.clashing)


class Planner:
    """Decides by the rules of the present format: `dedup` is `id` or `content`, `conflict` one of the policies."""

    def __init__(self, store: Store, entry: Import, restore_deleted: bool) -> None:
        self._store, self._import_id, self._restore_deleted = store, entry.id, restore_deleted
        self._at = entry.at
        self.notes: NoteSupport | None = None
        self.dedup = "id"
        self.conflict = "skip"
        self.started = False
        self.unapplied: set[str] = set()

    def records(self, records: list[Record]) -> Plan:
        """What to do with records."""
        plan = Plan(from_notes=self.notes is not None)
        for record in records:
            normalise(record)
        rest = self._without_deleted(records, plan) if self._store.things.count(Tombstone) else records
        explicit = [record.id for record in rest if record.id]
        known = self._store.records.known(explicit) if explicit else set()
        there = {record.id: record for record in self._store.records.get(list(known))} if known else {}
        had = self._had(list(there))
        by_content = self.dedup == "content"
        for record in rest:
            if record.id in there:
                self._meet(plan, there[record.id], record, had[record.id])
        doubles = self._doubles(rest, plan) if by_content else {}
        plan.pending.update(id(change.after) for change in plan.merged)
        for record in rest:
            if record.id in there:
                continue
            # What was deleted in its source is no double of what was not.
            alone = not by_content or record.status == DELETED
            if not alone and (double := doubles.setdefault(_key(record), record)) is not record:
                plan.skipped.append(double.id)
                plan.doubles.append((record, double))
            else:
                plan.new.append(record)
                plan.pending.add(id(record))
                plan.without_id += not record.id
                self._raise(plan, record)
        self._unite(plan)
        return plan

    def things(self, things: list[Thing]) -> ThingChanges:
        """What changes when things come that are no clashes."""
        others = [thing for thing in things if not isinstance(thing, Conflict)]
        is_note, restore = self.notes is not None, self._restore_deleted
        changes = merge_things(self._store, others, self.conflict, notes=is_note, restore_deleted=restore)
        self.unapplied |= changes.unapplied
        return changes

    def clashes(self, plan: Plan, things: list[Thing]) -> None:
        """Let clashes that an input tells of meet those that its memories have, as the plan leaves them."""
        told: dict[str, list[Conflict]] = {}
        for thing in things:
            if isinstance(thing, Conflict):
                told.setdefault(thing.record, []).append(thing)
        if not told:
            return
        changes = {change.after.id: change for change in [*plan.merged, *plan.clashing]}
        fresh = {record.id: Change(record, record, [], []) for record in plan.new if record.id in told}
        rest = [id for id in told if id not in changes and id not in fresh]
        had = self._had(rest)
        there = {record.id: record for record in self._store.records.get(rest)}
        there |= {after.id: after for _, after in plan.united if after.id in had}
        stored = {id: Change(record, record, had[id], had[id]) for id, record in there.items()}
        for id, conflicts in told.items():
            change = changes.get(id) or fresh.get(id) or stored.get(id)
            if change is None:
                self._learn(plan, id, conflicts)
                continue
            change.has = self._told(change, conflicts, new=id in fresh)
            if id not in changes and not change.is_none:
                plan.clashing.append(change)

    def _learn(self, plan: Plan, id: str, conflicts: list[Conflict]) -> None:
        """Keep the clashes of a memory that stays deleted with what remains of it."""
        tombstone = self._store.things.get(Tombstone, id) if self.conflict == "merge" else None
        if tombstone is None:
            return
        kept = known_of_deleted(self._store, tombstone)
        known, origin = next((found for found in plan.remains if found[0].record and found[0].record.id == id), kept)
        found = join_states(known, MemoryState(known.record, tuple(conflicts)))
        if known.value() != found.value():
            plan.remains = [one for one in plan.remains if one[0] is not known] + [(found, origin)]

    def _told(self, change: Change, conflicts: list[Conflict], *, new: bool) -> list[Conflict]:
        if self.conflict != "merge" and not new:
            # Nothing is to clash here that does not yet, and what was preferred does not.
            mine = {} if self.conflict == "prefer-remote" else {one.field: one for one in change.has}
            conflicts = [one for one in conflicts if one.field not in mine and includes_value_of(one, change.after)]
        return conflicts_of(change.after, [*change.has, *conflicts])

    def _had(self, ids: list[str]) -> dict[str, list[Conflict]]:
        """The clashes that memories have."""
        found: dict[str, dict[str, Conflict]] = {id: {} for id in ids}
        if ids and self._store.things.count(Conflict):
            # A dry run sees both what is stored and what would be; the latter comes last.
            for conflict in self._store.things.select(Conflict, ids):
                found[conflict.record][conflict.field] = conflict
        return {id: list(conflicts.values()) for id, conflicts in found.items()}

    def _doubles(self, records: list[Record], plan: Plan) -> dict[ContentKey, Record]:
        """The stored record of each content that is there already, as it will be when the plan is done."""
        ids = self._store.records.ids_by_content([_key(record) for record in records if record.status != DELETED])
        found = {record.id: record for record in self._store.records.get(list(ids.values()))}
        found |= {change.after.id: change.after for change in plan.merged if change.after.id in found}
        return {key: found[id] for key, id in ids.items() if _key(found[id]) == key and found[id].status != DELETED}

    def _without_deleted(self, records: list[Record], plan: Plan) -> list[Record]:
        ids = [record.id for record in records if record.id]
        buried = {tombstone.id: tombstone for tombstone in self._store.things.select(Tombstone, ids)}
        rest = []
        for record in records:
            tombstone = buried.get(record.id) if record.id else self._buried_content(record)
            found = record if tombstone is None else self._raised(record, tombstone, plan)
            if found is not None:
                rest.append(found)
            elif tombstone is not None:
                plan.deleted += not tombstone.reason.startswith(MERGED_INTO)
                plan.skipped.append(tombstone.id)
        return rest

    def _raised(self, record: Record, tombstone: Tombstone, plan: Plan) -> Record | None:
        """A memory that comes back from its deletion; `None` for one that stays away.

        One that was edited after the deletion is alive, with all that is still known of it. What an older one tells is
        kept for that case, so that it does not matter which came first.
        """
        if not record.id:
            plan.restored += [tombstone] if self._restore_deleted else []
            return record if self._restore_deleted else None
        if self.conflict != "merge" or has_no_time(record):
            if not self._restore_deleted:
                return None
            known, found = MemoryState(tombstone=tombstone), MemoryState(msgspec.structs.replace(record))
        else:
            known, origin = known_of_deleted(self._store, tombstone)
            found = join_states(known, MemoryState(record))
            if not (found.is_alive or self._restore_deleted):
                if known.value() != found.value():
                    plan.remains.append((found, origin))
                return None
        assert found.record is not None
        if self._restore_deleted and found.record.updated_at <= tombstone.deleted_at:
            # Else the next machine that knows of the deletion would delete it again.
            set_time(found.record, max(self._at, tombstone.deleted_at + 1))
        plan.raised[record.id] = MemoryState(found.record, found.conflicts, tombstone)
        return found.record

    def _buried_content(self, record: Record) -> Tombstone | None:
        for tombstone in self._store.things.by_second_key(Tombstone, content_hash(record.content).hex()):
            if (tombstone.kind, tombstone.scope) == (record.kind, record.scope):
                return tombstone
        return None

    def _meet(self, plan: Plan, local: Record, remote: Record, had: list[Conflict]) -> None:
        """What to do about a record whose id is there already."""
        if self.conflict == "merge" and self._is_note(local, remote):
            if (found := merge_edited_note(local, remote, self._at, self.notes, had)) is not None:
                plan.merged.append(Change(local, found[0], had, found[1]))
                return
        elif self.conflict != "skip":
            if canonical_record(local) != canonical_record(remote):
                merged, has = merge_records(local, remote, self.conflict, had)
                change = Change(local, merged, had, has)
                if not change.is_none:
                    plan.merged.append(change)
                    return
        elif self.started and self._store.history.import_of(local.id) == self._import_id:
            plan.twice += 1
        elif not is_unchanged_by(local, remote):
            plan.differ += 1
        plan.skipped.append(local.id)

    def _raise(self, plan: Plan, record: Record) -> None:
        """Take the tombstone of a memory that comes back away, and give it the clashes that it had."""
        state = plan.raised.get(record.id) if record.id else None
        if state is not None and state.tombstone is not None:
            plan.restored.append(state.tombstone)
            if state.conflicts:
                plan.clashing.append(Change(record, record, [], list(state.conflicts)))

    def _is_note(self, local: Record, remote: Record) -> bool:
        """Tell whether times do not tell which of the two is newer, as with notes that anybody edits."""
        if has_no_time(remote):
            return True
        return self.notes is not None and self.notes.bytes_key in local.extra and remote.updated_at == local.updated_at

    def _unite(self, plan: Plan) -> None:
        """Records whose content is there already give their tags, foreign ids and places to the one that stays."""
        groups: dict[int, tuple[Record, list[Record]]] = {}
        for record, stays in plan.doubles:
            groups.setdefault(id(stays), (stays, []))[1].append(record)
        for stays, doubles in groups.values():
            before = to_builtins(stays)
            add_tags_and_places(stays, *doubles)
            plan.poorer += sum(not is_unchanged_by(stays, record) for record in doubles)
            if id(stays) not in plan.pending and to_builtins(stays) != before:
                had = [to_builtins(conflict) for conflict in self._had([stays.id])[stays.id]]
                plan.united.append(({**before, "conflicts": had}, stays))


def _key(record: Record) -> ContentKey:
    return content_hash(record.content), record.kind, record.scope
