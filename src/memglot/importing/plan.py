"""Plan a batch of an import: which records are new, merged or skipped, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from memglot.importing.bases import BaseChange, Bases, add_change, new_base
from memglot.importing.duplicates import content_key
from memglot.importing.imported_before import ImportedBefore
from memglot.merging.memory_state import MemoryState, join_states, known_of_deleted
from memglot.merging.records import (
    MERGED_INTO,
    add_tags_and_places,
    conflicts_of,
    includes_value_of,
    is_note,
    is_unchanged_by,
    merge_records,
)
from memglot.merging.registers import normalise, set_time
from memglot.merging.things import ThingChanges, merge_things
from memglot.merging.tool_edits import ToolFormat, merge_tool_version, stamp_tool_edits
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
from memglot.store.stream import has_any


@dataclass
class RecordChange:
    """A memory before and after an import, each with its conflicts."""

    before: Record
    after: Record
    conflicts_before: list[Conflict]
    conflicts_after: list[Conflict]

    @property
    def new_conflicts(self) -> int:
        """Number of conflicts that are new or have more values than before."""
        known = {canonical(conflict) for conflict in self.conflicts_before}
        return sum(canonical(conflict) not in known for conflict in self.conflicts_after)

    @property
    def is_empty(self) -> bool:
        """Return True if nothing changes."""
        if canonical_record(self.before) != canonical_record(self.after):
            return False
        return canonical(self.conflicts_before) == canonical(self.conflicts_after)


@dataclass
class BatchPlan:
    """What a batch will change."""

    new: list[Record] = field(default_factory=list)
    conflicting: list[RecordChange] = field(default_factory=list)
    """Memories that are unchanged or new, and get conflicts."""
    merged: list[RecordChange] = field(default_factory=list)
    extended: list[tuple[dict[str, Any], Record]] = field(default_factory=list)
    """Memories that get tags and places from skipped duplicates, each with its old value."""
    restored: list[Tombstone] = field(default_factory=list)
    deleted_states: list[tuple[MemoryState, int | None]] = field(default_factory=list)
    """What the input says about memories that stay deleted, and the batches that imported them."""
    skipped: list[str] = field(default_factory=list)
    duplicates: list[tuple[Record, Record]] = field(default_factory=list)
    """Records that are skipped, each with the one of the same text that is kept."""
    renamed: list[tuple[Record, Record]] = field(default_factory=list)
    """Records that the source calls by another id, each with the memory that they are."""
    pending: set[int] = field(default_factory=set)
    """Identities of records that will be written anyway."""
    revived: dict[str, MemoryState] = field(default_factory=dict)
    """Deleted memories that are restored, with what is known of them."""
    from_notes: bool = False
    differing: int = 0
    """Number of skipped records that differ from the stored ones."""
    deleted_before: int = 0
    repeated: int = 0
    """Number of skipped records whose id occurs earlier in the input."""
    other_fields: int = 0
    """Number of duplicates with field values that the kept record does not have."""
    imported_before: int = 0
    """Number of skipped records without an id."""
    digests: list[tuple[bytes, Record]] = field(default_factory=list)
    """Digests of new records without an id, as they were read."""
    bases: list[BaseChange] = field(default_factory=list)
    """What the source says about stored memories, where that is new."""
    went_back: int = 0
    """Number of memories of which the source has an older version."""
    never_exchanged: int = 0
    """Number of memories that differ in a source with which they were never exchanged."""

    @property
    def is_empty(self) -> bool:
        """Return True if nothing will change."""
        return not (
            self.new or self.merged or self.extended or self.restored or self.deleted_states or self.conflicting
        )


class Planner:
    """Plans batches by the rules of the current format: `dedup` is `id` or `content`, `conflict` a policy."""

    def __init__(
        self,
        store: Store,
        entry: Import,
        restore_deleted: bool,
        imported_before: ImportedBefore,
        tree: str = "",
        tags: Sequence[str] = (),
    ) -> None:
        self._imported_before = imported_before
        self._store, self._import_id, self._restore_deleted = store, entry.id, restore_deleted
        self._tree, self._tags = tree, tags
        self._at = entry.at
        self._bases = Bases(store)
        self.format: ToolFormat | None = None
        self.dedup = "id"
        self.separates_own = False
        """Whether memories with the same text that memglot wrote into one input stay separate memories."""
        self.conflict = "skip"
        self.started = False
        self.not_deleted: set[str] = set()
        """Memories that the input says were deleted, and that are kept."""

    def plan_records(self, records: list[Record]) -> BatchPlan:
        """Plan what to do with records."""
        plan = BatchPlan(from_notes=self._has_notes)
        for record in records:
            normalise(record)
            if self._by_clocks:
                self._set_fields(record)
        records = self._without_repeated(records, plan)
        rest = self._without_deleted(records, plan) if has_any(self._store, Tombstone) else records
        explicit = [record.id for record in rest if record.id]
        known = self._store.records.known(explicit) if explicit else set()
        there = {record.id: record for record in self._store.records.get(list(known))} if known else {}
        conflicts = self._conflicts_of(list(there))
        by_content = self.dedup == "content"
        if there and self.format is not None and self.conflict != "skip":
            self._bases.use(list(there))
        for record in rest:
            if record.id in there:
                self._merge(plan, there[record.id], record, conflicts[record.id])
        stored = self._same_texts(rest, plan) if by_content else {}
        renamed = self._bases.renamed([id for id in explicit if id not in there]) if not self._by_clocks else {}
        plan.pending.update(id(change.after) for change in plan.merged)
        for record in rest:
            if record.id in there:
                continue
            if (same := renamed.get(record.id)) is not None:
                plan.skipped.append(same.id)
                plan.renamed.append((record, same))
                continue
            kept = record if self._is_alone(record) else stored.setdefault(content_key(record), record)
            if kept is not record and not self._is_separate(record, kept, plan, is_new=kept.id not in there):
                plan.skipped.append(kept.id)
                plan.duplicates.append((record, kept))
            else:
                self._prepare(plan, record)
                plan.new.append(record)
                plan.pending.add(id(record))
                self._revive(plan, record)
        self._extend_kept(plan)
        return plan

    def _without_repeated(self, records: list[Record], plan: BatchPlan) -> list[Record]:
        """Skip records without an id that were imported before; those to be restored get their id."""
        alone = [record for record in records if not record.id and self._is_alone(record)]
        if not alone:
            return records
        as_stored = alone
        if not self._by_clocks and (self._tree or self._tags):
            as_stored = [msgspec.structs.replace(record) for record in alone]
            for record in as_stored:
                self._set_fields(record)
        found = self._imported_before.find(as_stored)
        repeated = set()
        for record, (digest, known) in zip(alone, found, strict=True):
            if known and has_any(self._store, Tombstone) and self._store.things.get(Tombstone, known) is not None:
                record.id = known
            elif known:
                repeated.add(id(record))
                plan.skipped.append(known)
                plan.imported_before += 1
            else:
                plan.digests.append((digest, record))
        return [record for record in records if id(record) not in repeated]

    def _is_alone(self, record: Record) -> bool:
        """Return True if a record is compared by its id alone, as one that is deleted in its source always is."""
        return self.dedup != "content" or record.status == DELETED

    def plan_things(self, things: list[Thing]) -> ThingChanges:
        """Plan what items other than records and conflicts change."""
        others = [thing for thing in things if not isinstance(thing, Conflict)]
        restore = self._restore_deleted
        changes = merge_things(self._store, others, self.conflict, notes=self._has_notes, restore_deleted=restore)
        self.not_deleted |= changes.unapplied
        return changes

    def plan_conflicts(self, plan: BatchPlan, things: list[Thing]) -> None:
        """Merge the conflicts in the input with those of its memories, as the plan leaves them."""
        given: dict[str, list[Conflict]] = {}
        for thing in things:
            if isinstance(thing, Conflict):
                given.setdefault(thing.record, []).append(thing)
        if not given:
            return
        changes = {change.after.id: change for change in [*plan.merged, *plan.conflicting]}
        fresh = {record.id: RecordChange(record, record, [], []) for record in plan.new if record.id in given}
        rest = [id for id in given if id not in changes and id not in fresh]
        known = self._conflicts_of(rest)
        there = {record.id: record for record in self._store.records.get(rest)}
        there |= {after.id: after for _, after in plan.extended if after.id in known}
        stored = {id: RecordChange(record, record, known[id], known[id]) for id, record in there.items()}
        for id, conflicts in given.items():
            change = changes.get(id) or fresh.get(id) or stored.get(id)
            if change is None:
                self._keep_for_deleted(plan, id, conflicts)
                continue
            change.conflicts_after = self._merge_conflicts(change, conflicts, new=id in fresh)
            if id not in changes and not change.is_empty:
                plan.conflicting.append(change)

    def _keep_for_deleted(self, plan: BatchPlan, id: str, conflicts: list[Conflict]) -> None:
        """Keep the conflicts of a memory that stays deleted with what is known of it."""
        tombstone = self._store.things.get(Tombstone, id) if self.conflict == "merge" else None
        if tombstone is None:
            return
        kept = known_of_deleted(self._store, tombstone)
        known, origin = next(
            (found for found in plan.deleted_states if found[0].record and found[0].record.id == id), kept
        )
        found = join_states(known, MemoryState(known.record, tuple(conflicts)))
        if known.value() != found.value():
            plan.deleted_states = [one for one in plan.deleted_states if one[0] is not known] + [(found, origin)]

    def _merge_conflicts(self, change: RecordChange, conflicts: list[Conflict], *, new: bool) -> list[Conflict]:
        if self.conflict != "merge" and not new:
            # Other policies decide conflicts, so only a conflict that includes the stored value is added.
            mine = {} if self.conflict == "prefer-remote" else {one.field: one for one in change.conflicts_after}
            conflicts = [one for one in conflicts if one.field not in mine and includes_value_of(one, change.after)]
        return conflicts_of(change.after, [*change.conflicts_after, *conflicts])

    def _conflicts_of(self, ids: list[str]) -> dict[str, list[Conflict]]:
        """Return the conflicts of memories."""
        found: dict[str, dict[str, Conflict]] = {id: {} for id in ids}
        if ids:
            # A dry run sees both the stored conflicts and those it would store; the latter come last.
            for conflict in self._store.things.select(Conflict, ids):
                found[conflict.record][conflict.field] = conflict
        return {id: list(conflicts.values()) for id, conflicts in found.items()}

    def _is_separate(self, record: Record, kept: Record, plan: BatchPlan, *, is_new: bool) -> bool:
        """Return True if memglot wrote two memories with the same text into the inputs of this import."""
        if not self.separates_own or not record.id or record.foreign and not record.is_carried:
            return False
        if is_new and id(kept) in plan.pending:
            return True
        return self.started and self._store.history.import_of(kept.id) == self._import_id

    def _same_texts(self, records: list[Record], plan: BatchPlan) -> dict[ContentKey, Record]:
        """Return the stored record of each text that is already stored, as it will be after this batch."""
        ids = self._store.records.ids_by_content(
            [content_key(record) for record in records if record.status != DELETED]
        )
        found = {record.id: record for record in self._store.records.get(list(ids.values()))}
        found |= {change.after.id: change.after for change in plan.merged if change.after.id in found}
        return {
            key: found[id] for key, id in ids.items() if content_key(found[id]) == key and found[id].status != DELETED
        }

    def _without_deleted(self, records: list[Record], plan: BatchPlan) -> list[Record]:
        ids = [record.id for record in records if record.id]
        tombstones = {tombstone.id: tombstone for tombstone in self._store.things.select(Tombstone, ids)}
        rest = []
        for record in records:
            tombstone = tombstones.get(record.id) if record.id else self._tombstone_of_text(record)
            found = record if tombstone is None else self._revived(record, tombstone, plan)
            if found is not None:
                rest.append(found)
            elif tombstone is not None:
                plan.deleted_before += not tombstone.reason.startswith(MERGED_INTO)
                plan.skipped.append(tombstone.id)
        return rest

    def _revived(self, record: Record, tombstone: Tombstone, plan: BatchPlan) -> Record | None:
        """Return a deleted memory that is restored; `None` if it stays deleted.

        A memory that was edited after its deletion is restored, with all that is known of it. What an older version
        says is kept for that case, so that the order of imports does not matter.
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
                    plan.deleted_states.append((found, origin))
                return None
        assert found.record is not None
        if self._restore_deleted and found.record.updated_at <= tombstone.deleted_at:
            # Otherwise the next machine that knows of the deletion would delete it again.
            set_time(found.record, max(self._at, tombstone.deleted_at + 1))
        plan.revived[record.id] = MemoryState(found.record, found.conflicts, tombstone)
        return found.record

    def _tombstone_of_text(self, record: Record) -> Tombstone | None:
        for tombstone in self._store.things.by_second_key(Tombstone, content_hash(record.content).hex()):
            if (tombstone.kind, tombstone.scope) == (record.kind, record.scope):
                return tombstone
        return None

    def _merge(self, plan: BatchPlan, local: Record, remote: Record, known: list[Conflict]) -> None:
        """Plan what to do with a record whose id is already stored."""
        if self.conflict != "skip":
            change = self._merged(plan, local, remote, known)
            if not change.is_empty:
                plan.merged.append(change)
                return
        elif self.started and self._store.history.import_of(local.id) == self._import_id:
            plan.repeated += 1
        elif not is_unchanged_by(local, remote):
            plan.differing += 1
        plan.skipped.append(local.id)

    def _merged(self, plan: BatchPlan, local: Record, remote: Record, known: list[Conflict]) -> RecordChange:
        """Return a memory merged with what the input says of it."""
        format, is_same = self.format, canonical_record(local) == canonical_record(remote)
        by_clocks = format is None or format.merges_by_clocks(remote)
        # Tags that the caller asked for may be new, though the record is not.
        is_complete = self._by_clocks or set(self._tags) <= set(local.tags)
        if is_same and is_complete:
            if by_clocks or remote.tool_edits == {} or self._bases.is_as_imported(local.id):
                return RecordChange(local, local, known, known)
        if format is None or by_clocks:
            merged, conflicts = merge_records(local, remote, self.conflict, known)
            if not self._by_clocks:
                self._set_fields(merged, local.tree)
            return RecordChange(local, merged, known, conflicts)
        stored, base = self._bases.find(format, local, remote)
        found = merge_tool_version(local, remote, base, format, self.conflict, self._at, known)
        add_change(plan.bases, stored, base, found.base)
        plan.went_back += bool(found.went_back)
        plan.never_exchanged += bool(found.unknown)
        self._set_fields(found.record, local.tree)
        return RecordChange(local, found.record, known, found.conflicts)

    @property
    def _by_clocks(self) -> bool:
        return self.format is None or self.format.merging.has_clocks

    def _prepare(self, plan: BatchPlan, record: Record) -> None:
        """Complete a new record; remember what the source said if that is not what will be stored."""
        if record.tool_edits:
            stamp_tool_edits(record, self._at)
        if not self._by_clocks and (self._tree or self._tags):
            self._remember(plan, record)
            self._set_fields(record)

    def _set_fields(self, record: Record, known_tree: str | None = None) -> None:
        """Set the tree and the tags that the caller asked for; a tree that is stored already stays."""
        if self._tree and record.tree != known_tree:
            record.tree = f"{self._tree}.{record.tree}" if record.tree else self._tree
        if self._tags:
            record.tags = [*record.tags, *(tag for tag in self._tags if tag not in record.tags)]

    def _remember(self, plan: BatchPlan, record: Record) -> None:
        """Remember what a source says of a new record."""
        if record.id and self.format is not None and not self.format.merges_by_clocks(record):
            plan.bases.append((None, new_base(self.format, record)))

    def _revive(self, plan: BatchPlan, record: Record) -> None:
        """Remove the tombstone of a memory that is restored, and restore its conflicts."""
        state = plan.revived.get(record.id) if record.id else None
        if state is not None and state.tombstone is not None:
            plan.restored.append(state.tombstone)
            if state.conflicts:
                plan.conflicting.append(RecordChange(record, record, [], list(state.conflicts)))

    @property
    def _has_notes(self) -> bool:
        return self.format is not None and self.format.merging.by_hand

    def _extend_kept(self, plan: BatchPlan) -> None:
        """Add the tags, foreign ids and places of duplicates to the records that are kept."""
        groups: dict[int, tuple[Record, list[Record]]] = {}
        for record, kept in plan.duplicates:
            groups.setdefault(id(kept), (kept, []))[1].append(record)
        for kept, duplicates in groups.values():
            before = to_builtins(kept)
            if id(kept) in plan.pending and not self._by_clocks:
                self._remember(plan, kept)
            add_tags_and_places(kept, *duplicates)
            # A note with the same text is written back as it was.
            plan.other_fields += sum(not is_note(one) and not is_unchanged_by(kept, one) for one in duplicates)
            if id(kept) not in plan.pending and to_builtins(kept) != before:
                conflicts = [to_builtins(conflict) for conflict in self._conflicts_of([kept.id])[kept.id]]
                plan.extended.append(({**before, "conflicts": conflicts}, kept))
