"""Merge imported things (relations, entities, tombstones and so on) with stored ones of the same key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from memglot.merging.memory_state import link_time
from memglot.merging.records import join_lists
from memglot.merging.registers import digest
from memglot.model import (
    DEFAULT_SCOPE,
    LINK_KINDS,
    Blob,
    Document,
    Entity,
    Relation,
    Supersession,
    Thing,
    Tombstone,
    canonical,
    is_link_tombstone,
    thing_key,
)
from memglot.store.contract import Store

_NEVER = -(1 << 63)
Key = tuple[type[Any], str]


@dataclass
class ThingChanges:
    """What merging changes: things to put, things to remove, and ids of deletions that were not applied."""

    put: list[Thing] = field(default_factory=list)
    removed: list[Thing] = field(default_factory=list)
    unapplied: set[str] = field(default_factory=set)


def merge_things(
    store: Store, things: Sequence[Thing], policy: str, *, notes: bool = False, restore_deleted: bool = False
) -> ThingChanges:
    """Return what changes when these things are merged into a store, one after the other, under a policy.

    With `notes` they come from notes, whose links are always current. With `restore_deleted` an imported link comes
    back although it was removed here.
    """
    return _ThingMerge(store, policy, notes, restore_deleted).merge(things)


class _ThingMerge:
    def __init__(self, store: Store, policy: str, notes: bool, restore_deleted: bool) -> None:
        self._store, self._policy = store, policy
        self._notes, self._restore = notes, restore_deleted
        self._before: dict[Key, Thing | None] = {}
        self._now: dict[Key, Thing | None] = {}
        self._edited: dict[str, int] = {}
        """When the records that a tombstone would delete were last edited."""
        self._changes = ThingChanges()

    def merge(self, things: Sequence[Thing]) -> ThingChanges:
        self._look_up(things)
        for thing in things:
            if isinstance(thing, Tombstone):
                self._merge_tombstone(thing)
            elif isinstance(thing, (Relation, Supersession)):
                self._merge_link(thing)
            else:
                self._merge_thing(thing)
        for key, now in self._now.items():
            before = self._before[key]
            if now is None and before is not None:
                self._changes.removed.append(before)
            elif now is not None and (before is None or canonical(now) != canonical(before)):
                self._changes.put.append(now)
        return self._changes

    def _look_up(self, things: Sequence[Thing]) -> None:
        for thing, kept in zip(things, self._store.things.same_keys(things), strict=True):
            self._before[_key(thing)] = kept
        deleted = [thing.id for thing in things if isinstance(thing, Tombstone)]
        if deleted:
            self._edited = {record.id: record.updated_at for record in self._store.records.get(deleted)}
        for thing in things:
            if isinstance(thing, Tombstone) and is_link_tombstone(thing):
                kind = LINK_KINDS[thing.kind]
                self._before.setdefault((kind, thing.id), self._store.things.get(kind, thing.id))
        links = [thing_key(thing) for thing in things if isinstance(thing, (Relation, Supersession))]
        if links:
            for tombstone in self._store.things.select(Tombstone, links):
                self._before.setdefault((Tombstone, tombstone.id), tombstone)
        self._now = dict(self._before)

    def _merge_tombstone(self, thing: Tombstone) -> None:
        """Delete what was not edited since; drop a deletion that is older than an edit."""
        link = self._now.get((LINK_KINDS[thing.kind], thing.id)) if is_link_tombstone(thing) else None
        edited = link_time(link) if isinstance(link, (Relation, Supersession)) else self._edited.get(thing.id)
        if edited is not None:
            if self._policy == "skip" and link is None:
                self._changes.unapplied.add(thing.id)
            wins = self._policy == "merge" and thing.deleted_at >= edited
            if not wins and self._policy != "prefer-remote":
                return
            if link is not None:
                self._now[LINK_KINDS[thing.kind], thing.id] = None
        self._merge_thing(thing)

    def _merge_link(self, thing: Relation | Supersession) -> None:
        """Merge a relation or a supersession; one that was removed comes back only if it was made again later."""
        tombstone = self._now.get((Tombstone, thing_key(thing)))
        if isinstance(tombstone, Tombstone):
            if link_time(thing) <= tombstone.deleted_at:
                if not self._restore:
                    return
                # Otherwise the next machine that has the tombstone would remove it again.
                field = "updated_at" if isinstance(thing, Relation) else "decided_at"
                thing = msgspec.structs.replace(thing, **{field: tombstone.deleted_at + 1})
            self._now[Tombstone, tombstone.id] = None
        self._merge_thing(thing)

    def _merge_thing(self, thing: Thing) -> None:
        key = _key(thing)
        kept = self._now.get(key)
        if kept is None or self._policy == "prefer-remote":
            self._now[key] = thing
        elif self._policy == "merge":
            # A link in a note is always where it points now.
            current = self._notes and isinstance(thing, Relation) and is_text_link(thing)
            self._now[key] = thing if current else join_things(kept, thing)


def is_text_link(relation: Relation) -> bool:
    """Return True if a relation is a link in the text of a note, and is removed with it."""
    return any(isinstance(own, dict) and "link" in own for own in relation.extra.values())


def _key(thing: Thing) -> Key:
    return type(thing), thing_key(thing)


def join_things(one: Thing, other: Thing) -> Thing:
    """Return one thing from two of the same key: the same on every machine, in any order."""
    if isinstance(one, Entity) and isinstance(other, Entity):
        return _join_entities(one, other)
    return max(one, other, key=_rank)


def _rank(thing: Thing) -> tuple[float, bool, bytes]:
    match thing:
        case Relation():
            time: Any = thing.updated_at
        case Supersession():
            time = thing.decided_at
        case Document():
            time = thing.created_at
        case Tombstone():
            time = thing.deleted_at
        case Blob(row=dict()):
            names = ("updated_at", "deleted_at", "decided_at", "last_seen", "created_at")
            found = (thing.row.get(name) for name in names)
            time = max((one for one in found if isinstance(one, (int, float))), default=0)
        case _:
            time = 0
    return time or 0, _has_scope(thing), digest(thing)


def _has_scope(thing: Thing) -> bool:
    """Return True if a thing names its scope; a tool's export may not, although the tool knows it."""
    return getattr(thing, "scope", DEFAULT_SCOPE) != DEFAULT_SCOPE


_DESCRIPTION = ("name", "type", "scope", "confidence")


def _join_entities(one: Entity, other: Entity) -> Entity:
    """Merge field by field; name, type, scope and confidence come from the entity that was seen last."""
    newer = max(one, other, key=_last_seen_rank)
    return Entity(
        id=one.id,
        **{name: getattr(newer, name) for name in _DESCRIPTION},
        aliases=join_lists(one.aliases, other.aliases),
        foreign=join_lists(one.foreign, other.foreign),
        first_seen=min(_known_times(one.first_seen, other.first_seen), default=None),
        last_seen=max(_known_times(one.last_seen, other.last_seen), default=None),
        mentions=max(one.mentions, other.mentions),
        meta=_join_objects(one.meta, other.meta),
        extra=_join_objects(one.extra, other.extra),
    )


def _known_times(*times: int | None) -> list[int]:
    return [time for time in times if time is not None]


def _last_seen_rank(entity: Entity) -> tuple[int, bool, bytes]:
    described = [getattr(entity, name) for name in _DESCRIPTION]
    return _NEVER if entity.last_seen is None else entity.last_seen, _has_scope(entity), digest(described)


def _join_objects(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    found = {**one, **other}
    for key in one.keys() & other.keys():
        found[key] = max(one[key], other[key], key=digest)
    return found
