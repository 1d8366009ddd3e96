"""Duplicates: memories that an import skips because another one with the same text is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from memglot.disk import DiskList, DiskMap
from memglot.model import Blob, Conflict, Embedding, Endpoint, Record, Relation, Supersession, Thing, content_hash
from memglot.store.contract import ContentKey, Store


def content_key(record: Record) -> ContentKey:
    """Return what makes two memories duplicates: the same text, kind and scope."""
    return content_hash(record.content), record.kind, record.scope


class Duplicates:
    """Which memory is kept for which duplicate, on disk; relations wait here until all duplicates are known."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: DiskMap | None = None
        self._relations, self._supersessions = DiskList(Relation), DiskList(Supersession)
        self.to_itself = 0
        """Number of relations that would connect a memory with itself."""

    def close(self) -> None:
        """Delete the files on disk."""
        if self._kept is not None:
            self._kept.close()

    def add(self, duplicates: Iterable[tuple[Record, Record]], *, same: bool = False) -> None:
        """Add duplicates, each with the record that is kept instead; `same` if they are one memory with two ids."""
        for skipped, kept in duplicates:
            if skipped.id and kept.id and skipped.id != kept.id:
                if self._kept is None:
                    self._kept = DiskMap()
                if skipped.id not in self._kept:
                    self._kept[skipped.id] = kept.id
                self._kept[f"{'same' if same else 'kept'} {kept.id}"] = ""

    def is_kept(self, id: str) -> bool:
        """Return True if a memory is kept instead of a duplicate, so its text still exists in the input."""
        return self._kept is not None and f"kept {id}" in self._kept

    def wait(self, thing: Thing) -> bool:
        """Keep a link for later, because its second memory may follow; return True if it is a link."""
        if isinstance(thing, Relation):
            self._relations.append(thing)
        elif isinstance(thing, Supersession):
            self._supersessions.append(thing)
        return isinstance(thing, (Relation, Supersession))

    def waiting(self) -> Iterator[Thing]:
        """Return the links that waited."""
        relations, supersessions = self._relations, self._supersessions
        self._relations, self._supersessions = DiskList(Relation), DiskList(Supersession)
        yield from relations
        yield from supersessions

    def repoint(self, things: list[Thing]) -> list[Thing]:
        """Make items refer to the memories that are kept; leave out those that would then be meaningless."""
        if self._kept is None:
            return things
        found = (self._repoint_one(thing) for thing in things)
        return [thing for thing in found if thing is not None]

    def _repoint_one(self, thing: Thing) -> Thing | None:
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
        if isinstance(moved, Relation) and self._is_known_link(moved):
            return None
        # The memory that is kept has its own vector and its own conflicts.
        if isinstance(moved, (Embedding, Conflict)) and self._store.things.same_key(moved) is not None:
            return None
        return moved

    def _is_known_link(self, moved: Relation) -> bool:
        """Return True if a memory that has two ids has such a relation already; the entity may have two ids as well."""
        if self._kept is None or f"same {moved.subject.id}" not in self._kept:
            return False
        known = self._store.things.select(Relation, [moved.subject.id])
        return any((one.predicate, one.object.entity) == (moved.predicate, moved.object.entity) for one in known)

    def _end(self, end: Endpoint) -> Endpoint:
        return end if end.entity else Endpoint(str(self._id(end.id)))

    def _id(self, id: str | None) -> str | None:
        return self._kept.get(id, id) if self._kept is not None and id else id
