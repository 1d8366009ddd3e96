"""Doubles: memories that an import skips because another one of the same content stays, and what spoke of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from memglot.disk import Scratch
from memglot.model import Blob, Conflict, Embedding, End, Record, Relation, Supersession, Thing
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store

T = TypeVar("T", Relation, Supersession)


class Pile(Generic[T]):
    """Structs of one kind in the order they came; all but the last few lie on disk."""

    def __init__(self, kind: type[T]) -> None:
        self.kind: type[T] = kind
        self._recent: list[T] = []
        self._file = tempfile.SpooledTemporaryFile(max_size=1 << 20)
        self._sizes: list[int] = []

    def __del__(self) -> None:
        self._file.close()

    def add(self, thing: T) -> None:
        """Put one on the pile."""
        self._recent.append(thing)
        if len(self._recent) >= BATCH_SIZE:
            text = msgspec.msgpack.encode(self._recent)
            self._sizes.append(len(text))
            self._file.write(text)
            self._recent = []

    def __iter__(self) -> Iterator[T]:
        decode = msgspec.msgpack.Decoder(list[self.kind]).decode  # type: ignore[name-defined]
        self._file.seek(0)
        for size in self._sizes:
            yield from decode(self._file.read(size))
        yield from self._recent


class Doubles:
    """Which memory stays for which, on disk; relations wait here until all of them are known."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._scratch: Scratch | None = None
        self._waiting: tuple[Pile[Any], ...] = (Pile(Relation), Pile(Supersession))
        self.to_itself = 0
        """Relations that would have led from a memory to itself."""

    def close(self) -> None:
        """Let go of what is on disk."""
        if self._scratch is not None:
            self._scratch.__exit__()

    def learn(self, doubles: Iterable[tuple[Record, Record]]) -> None:
        """Remember which record stays for each that was skipped."""
        for skipped, stays in doubles:
            if skipped.id and stays.id and skipped.id != stays.id:
                if self._scratch is None:
                    self._scratch = Scratch().__enter__()
                self._scratch.put(skipped.id, stays.id.encode())
                self._scratch.put(f"stays {stays.id}", b"")

    def stays(self, id: str) -> bool:
        """Tell whether a memory stays for one that was skipped: its content is alive where that came from."""
        return self._scratch is not None and self._scratch.get(f"stays {id}") is not None

    def wait(self, thing: Thing) -> bool:
        """Keep a thing that speaks of two memories, of which the second may come later; tell whether it was one."""
        for pile in self._waiting:
            if isinstance(thing, pile.kind):
                pile.add(thing)
                return True
        return False

    def waiting(self) -> Iterator[Thing]:
        """The things that waited."""
        piles, self._waiting = self._waiting, (Pile(Relation), Pile(Supersession))
        for pile in piles:
            yield from pile

    def repointed(self, things: list[Thing]) -> list[Thing]:
        """Things that speak of the memories that stay; those that would say nothing then are left out."""
        if self._scratch is None:
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
        return None if isinstance(moved, (Embedding, Conflict)) and self._store.kept(moved) is not None else moved

    def _end(self, end: End) -> End:
        return end if end.entity else End(str(self._id(end.id)))

    def _id(self, id: str | None) -> str | None:
        stays = self._scratch.get(id) if self._scratch is not None and id else None
        return stays.decode() if stays is not None else id
