"""What an import will do with a batch: which records are new, which are merged, which are skipped, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from memglot.engine.forward import in_text, meet_note
from memglot.engine.merge import MERGED, absorb, merge_records, same, unite
from memglot.formats.format import Format
from memglot.model import (
    DELETED,
    Blob,
    Conflict,
    Record,
    Relation,
    Thing,
    Tombstone,
    canonical,
    content_hash,
    is_news,
    plain,
)
from memglot.store.contract import ContentKey, Import, Store

_TIMES = ("updated_at", "deleted_at", "decided_at", "last_seen", "created_at")


@dataclass
class Plan:
    """What a batch will do."""

    new: list[Record] = field(default_factory=list)
    merged: list[tuple[Record, Record, list[Conflict]]] = field(default_factory=list)
    united: list[tuple[dict[str, Any], Record]] = field(default_factory=list)
    restored: list[Tombstone] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    doubles: list[tuple[Record, Record]] = field(default_factory=list)
    """Records that are skipped, each with the one of the same content that stays."""
    pending: set[int] = field(default_factory=set)
    """Records by identity that will be written anyway."""
    without_id: int = 0
    differ: int = 0
    deleted: int = 0
    twice: int = 0
    poorer: int = 0
    """Doubles that say something which the record that stays does not."""

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing will change."""
        return not (self.new or self.merged or self.united or self.restored)


class Planner:
    """Decides by the rules of the present format: `dedup` is `id` or `content`, `conflict` one of the policies."""

    def __init__(self, store: Store, entry: Import, restore_deleted: bool) -> None:
        self._store, self._import_id, self._restore_deleted = store, entry.id, restore_deleted
        self._at = entry.at
        self.notes: Format | None = None
        self.absorbs = False
        """Whether a memory takes over what a double of it says, as when stores are merged."""
        self.dedup = "id"
        self.conflict = "skip"
        self.started = False
        self.unapplied: set[str] = set()

    def records(self, records: list[Record]) -> Plan:
        """What to do with records."""
        plan = Plan()
        rest = self._without_deleted(records, plan) if self._store.count_things(Tombstone) else records
        explicit = [record.id for record in rest if record.id]
        known = self._store.known(explicit) if explicit else set()
        there = {record.id: record for record in self._store.get(list(known))} if known else {}
        by_content = self.dedup == "content"
        for record in rest:
            if record.id in there:
                self._meet(plan, there[record.id], record)
        doubles = self._doubles(rest, plan) if by_content else {}
        plan.pending.update(id(after) for _, after, _ in plan.merged)
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
        self._unite(plan)
        return plan

    def things(self, things: list[Thing]) -> list[Thing]:
        """Those that are not there yet, or that replace what is."""
        dead = [thing.id for thing in things if isinstance(thing, Tombstone)]
        alive = {record.id: record.updated_at for record in self._store.get(dead)} if dead else {}
        kept = self._store.all_kept(things)
        return [thing for thing, there in zip(things, kept, strict=True) if self._is_wanted(thing, there, alive)]

    def _is_wanted(self, thing: Thing, kept: Thing | None, alive: dict[str, int]) -> bool:
        if isinstance(thing, Tombstone) and thing.id in alive:
            if self.conflict == "skip":
                self.unapplied.add(thing.id)
            older = thing.deleted_at >= alive[thing.id]
            return self.conflict == "prefer-remote" or (self.conflict == "merge" and older)
        if kept is None or kept == thing:
            return kept is None
        if isinstance(thing, Relation) and in_text(thing) and self.conflict == "merge":
            # A link in a note says where it leads now.
            return True
        return self.conflict == "prefer-remote" or (self.conflict == "merge" and _rank(thing) > _rank(kept))

    def _doubles(self, records: list[Record], plan: Plan) -> dict[ContentKey, Record]:
        """The stored record of each content that is there already, as it will be when the plan is done."""
        ids = self._store.ids_of_contents([_key(record) for record in records if record.status != DELETED])
        found = {record.id: record for record in self._store.get(list(ids.values()))}
        found |= {after.id: after for _, after, _ in plan.merged if after.id in found}
        return {key: found[id] for key, id in ids.items() if _key(found[id]) == key and found[id].status != DELETED}

    def _without_deleted(self, records: list[Record], plan: Plan) -> list[Record]:
        ids = [record.id for record in records if record.id]
        buried = {tombstone.id: tombstone for tombstone in self._store.things(Tombstone, ids)}
        rest = []
        for record in records:
            tombstone = buried.get(record.id) if record.id else self._buried_content(record)
            if tombstone is None or self._restore_deleted:
                rest.append(record)
                plan.restored += [tombstone] if tombstone is not None else []
            else:
                plan.deleted += not tombstone.reason.startswith(MERGED)
                plan.skipped.append(tombstone.id)
        return rest

    def _buried_content(self, record: Record) -> Tombstone | None:
        for tombstone in self._store.mentions(Tombstone, content_hash(record.content).hex()):
            if (tombstone.kind, tombstone.scope) == (record.kind, record.scope):
                return tombstone
        return None

    def _meet(self, plan: Plan, local: Record, remote: Record) -> None:
        """What to do about a record whose id is there already."""
        if self.conflict == "merge" and self._is_note(local, remote):
            if (found := meet_note(local, remote, self._at, self.notes)) is not None:
                plan.merged.append((local, *found))
                return
        elif self.conflict != "skip":
            merged, conflicts = merge_records(local, remote, self.conflict)
            if merged != local or any(self._store.kept(conflict) != conflict for conflict in conflicts):
                plan.merged.append((local, merged, conflicts))
                return
        elif self.started and self._store.batch_of(local.id) == self._import_id:
            plan.twice += 1
        elif not same(local, remote):
            plan.differ += 1
        plan.skipped.append(local.id)

    def _is_note(self, local: Record, remote: Record) -> bool:
        """Tell whether times do not tell which of the two is newer, as with notes that anybody edits."""
        if is_news(remote):
            return True
        return self.notes is not None and self.notes.residue in local.extra and remote.updated_at == local.updated_at

    def _unite(self, plan: Plan) -> None:
        """Records whose content is there already give their tags, foreign ids and places to the one that stays."""
        groups: dict[int, tuple[Record, list[Record]]] = {}
        for record, stays in plan.doubles:
            groups.setdefault(id(stays), (stays, []))[1].append(record)
        for stays, doubles in groups.values():
            before = plain(stays)
            unite(stays, *doubles)
            if self.absorbs:
                for record in doubles:
                    absorb(stays, record)
            plan.poorer += sum(not same(stays, record) for record in doubles)
            if id(stays) not in plan.pending and plain(stays) != before:
                plan.united.append((before, stays))


def _rank(thing: Thing) -> tuple[bool, float, bytes]:
    """Which of two things with one key stands: the later one, else one that every machine chooses alike."""
    row = thing.row if isinstance(thing, Blob) and isinstance(thing.row, dict) else {}
    times = [getattr(thing, name, None) or row.get(name) for name in _TIMES]
    latest = max((time for time in times if isinstance(time, (int, float))), default=0)
    settled = isinstance(thing, Conflict) and thing.state != "open"
    return settled, latest, sha256(canonical(thing)).digest()


def _key(record: Record) -> ContentKey:
    return content_hash(record.content), record.kind, record.scope
