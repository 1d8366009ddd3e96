"""Doubles: memories that an import skips because another one of the same content stays, and what spoke of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from memglot.disk import DiskList, DiskMap
from memglot.model import Blob, Conflict, Embedding, Endpoint, Record, Relation, Supersession, Thing
from memglot.store.contract import Store


class Doubles:
    """Which memory stays for which, on disk; relations wait here until all of them are known."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: DiskMap | None = None
        self._relations, self._supersessions = DiskList(Relation), DiskList(Supersession)
        self.to_itself = 0
        """Relations that would have led from a memory to itself."""

    def close(self) -> None:
        """Let go of what is on disk."""
        if self._kept is not None:
            self._kept.close()

    def learn(self, doubles: Iterable[tuple[Record, Record]]) -> None:
        """Remember which record stays for each that was skipped."""
        for skipped, stays in doubles:
            if skipped.id and stays.id and skipped.id != stays.id:
                if self._kept is None:
                    self._kept = DiskMap()
                if skipped.id not in self._kept:
                    self._kept[skipped.id] = stays.id
                self._kept[f"stays {stays.id}"] = ""

    def stays(self, id: str) -> bool:
        """Tell whether a memory stays for one that was skipped: its content is alive where that came from."""
        return self._kept is not None and f"stays {id}" in self._kept

    def wait(self, thing: Thing) -> bool:
        """Keep a thing that speaks of two memories, of which the second may come later; tell whether it was one."""
        if isinstance(thing, Relation):
            self._relations.append(thing)
        elif isinstance(thing, Supersession):
            self._supersessions.append(thing)
        return isinstance(thing, (Relation, Supersession))

    def waiting(self) -> Iterator[Thing]:
        """The things that waited."""
        relations, supersessions = self._relations, self._supersessions
        self._relations, self._supersessions = DiskList(Relation), DiskList(Supersession)
        yield from relations
        yield from supersessions

    def repointed(self, things: list[Thing]) -> list[Thing]:
        """Things that speak of the memories that stay; those that would say nothing then are left out."""
        if self._kept is None:
            return things
        found = (self._repointed(thing) for thing in things)
        return [thing for thing in found if thing is not None]

    def _repointed(self, thing: Thing) -> Thing | None:
        match thing:
            case Relation():
                changed: dict[str, Any] = {
                    "subject": self._end(thing.subject),
                    "object": self._end(thing.object),
                    "source_record": self._id(thing.source_record),
                }
            case Supersession():
                changed = {"newer": self._id(thing.newer), "older": self._id(thing.older)}
            case Embedding() | Conflict():
                changed = {"record": self._id(thing.record)}
            case Blob():
                changed = {"owner": self._id(thing.owner)}
            case _:
                return thing
        if all(getattr(thing, field) == value for field, value in changed.items()):
            return thing
        moved = msgspec.structs.replace(thing, **changed)
        if isinstance(moved, Relation) and moved.subject == moved.object:
            self.to_itself += 1
            return None
        if isinstance(moved, Supersession) and moved.newer == moved.older:
            return None
        # The vector and the clashes of the memory that stays are its own.
        return (
            None
            if isinstance(moved, (Embedding, Conflict)) and self._store.things.same_key(moved) is not None
            else moved
        )

    def _end(self, end: Endpoint) -> Endpoint:
        return end if end.entity else Endpoint(str(self._id(end.id)))

    def _id(self, id: str | None) -> str | None:
        return self._kept.get(id, id) if self._kept is not None and id else id
