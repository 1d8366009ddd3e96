"""Meeting: things that an import brings and those of the same key that are there become one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from memglot.merging.edited_notes import is_text_link
from memglot.merging.memory_state import LINK_KINDS, is_link_tombstone, link_time
from memglot.merging.records import join_lists
from memglot.merging.registers import digest
from memglot.model import (
    Blob,
    Document,
    Entity,
    Relation,
    Supersession,
    Thing,
    Tombstone,
    canonical,
    thing_key,
)
from memglot.store.contract import Store

_NEVER = -(1 << 63)
Key = tuple[type[Any], str]


@dataclass
class Met:
    """What a meeting changes: things to put, and things that go."""

    put: list[Thing] = field(default_factory=list)
    gone: list[Thing] = field(default_factory=list)


class Meeting:
    """Lets things meet those in a store, one after the other, under a policy."""

    def __init__(self, store: Store, policy: str, *, notes: bool, restore_deleted: bool) -> None:
        self._store, self._policy = store, policy
        self._notes, self._restore = notes, restore_deleted
        self._first: dict[Key, Thing | None] = {}
        self._now: dict[Key, Thing | None] = {}
        self._alive: dict[str, int] = {}
        self.unapplied: set[str] = set()

    def of(self, things: list[Thing]) -> Met:
        """What changes when these things come."""
        self._look_up(things)
        for thing in things:
            if isinstance(thing, Tombstone):
                self._bury(thing)
            elif isinstance(thing, (Relation, Supersession)):
                self._relate(thing)
            else:
                self._take(thing)
        met = Met()
        for key, now in self._now.items():
            before = self._first[key]
            if now is None and before is not None:
                met.gone.append(before)
            elif now is not None and (before is None or canonical(now) != canonical(before)):
                met.put.append(now)
        return met

    def _look_up(self, things: list[Thing]) -> None:
        for thing, kept in zip(things, self._store.things.same_keys(things), strict=True):
            self._first[_key(thing)] = kept
        dead = [thing.id for thing in things if isinstance(thing, Tombstone)]
        if dead:
            self._alive = {record.id: record.updated_at for record in self._store.records.get(dead)}
        for thing in things:
            if isinstance(thing, Tombstone) and is_link_tombstone(thing):
                kind = LINK_KINDS[thing.kind]
                self._first.setdefault((kind, thing.id), self._store.things.get(kind, thing.id))
        related = [thing_key(thing) for thing in things if isinstance(thing, (Relation, Supersession))]
        if related and self._store.things.count(Tombstone):
            for tombstone in self._store.things.select(Tombstone, related):
                self._first.setdefault((Tombstone, tombstone.id), tombstone)
        self._now = dict(self._first)

    def _bury(self, thing: Tombstone) -> None:
        """A deletion wins over what was not edited since; one that an edit came after is not kept."""
        link = self._now.get((LINK_KINDS[thing.kind], thing.id)) if is_link_tombstone(thing) else None
        edited = link_time(link) if isinstance(link, (Relation, Supersession)) else self._alive.get(thing.id)
        if edited is not None:
            if self._policy == "skip" and link is None:
                self.unapplied.add(thing.id)
            wins = self._policy == "merge" and thing.deleted_at >= edited
            if not wins and self._policy != "prefer-remote":
                return
            if link is not None:
                self._now[LINK_KINDS[thing.kind], thing.id] = None
        self._take(thing)

    def _relate(self, thing: Relation | Supersession) -> None:
        """A relation, or a decision, that was taken away stays so, until it is made again."""
        tombstone = self._now.get((Tombstone, thing_key(thing)))
        if isinstance(tombstone, Tombstone):
            if link_time(thing) <= tombstone.deleted_at:
                if not self._restore:
                    return
                # Else the next machine that knows of its end would take it away again.
                field = "updated_at" if isinstance(thing, Relation) else "decided_at"
                thing = msgspec.structs.replace(thing, **{field: tombstone.deleted_at + 1})
            self._now[Tombstone, tombstone.id] = None
        self._take(thing)

    def _take(self, thing: Thing) -> None:
        key = _key(thing)
        kept = self._now.get(key)
        if kept is None or self._policy == "prefer-remote":
            self._now[key] = thing
        elif self._policy == "merge":
            # A link in a note says where it leads now.
            says = self._notes and isinstance(thing, Relation) and is_text_link(thing)
            self._now[key] = thing if says else join_things(kept, thing)


def _key(thing: Thing) -> Key:
    return type(thing), thing_key(thing)


def join_things(one: Thing, other: Thing) -> Thing:
    """What two things of one key say together: the same on every machine, in any order."""
    if isinstance(one, Entity) and isinstance(other, Entity):
        return _join_entities(one, other)
    return max(one, other, key=_rank)


def _rank(thing: Thing) -> tuple[float, bytes]:
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
    return time or 0, digest(thing)


_PIECE = ("name", "type", "scope", "confidence")


def _join_entities(one: Entity, other: Entity) -> Entity:
    """Field by field; what an entity is called goes together, and comes from where it was seen last."""
    said = max(one, other, key=_seen)
    return Entity(
        id=one.id,
        **{name: getattr(said, name) for name in _PIECE},
        aliases=join_lists(one.aliases, other.aliases),
        foreign=join_lists(one.foreign, other.foreign),
        first_seen=min(_told(one.first_seen, other.first_seen), default=None),
        last_seen=max(_told(one.last_seen, other.last_seen), default=None),
        mentions=max(one.mentions, other.mentions),
        meta=_join_objects(one.meta, other.meta),
        extra=_join_objects(one.extra, other.extra),
    )


def _told(*times: int | None) -> list[int]:
    return [time for time in times if time is not None]


def _seen(entity: Entity) -> tuple[int, bytes]:
    piece = [getattr(entity, name) for name in _PIECE]
    return _NEVER if entity.last_seen is None else entity.last_seen, digest(piece)


def _join_objects(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    found = {**one, **other}
    for key in one.keys() & other.keys():
        found[key] = max(one[key], other[key], key=digest)
    return found
