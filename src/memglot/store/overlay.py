"""A store that shows what a change would do: it reads a real one and writes to a scratch one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from memglot.model import Record, Thing
from memglot.store.contract import ContentKey, Import, Revision, Store, ThingT
from memglot.store.location import open_store

# What hides a setting of the real store.
_FORGOTTEN = "\x1fforgotten"


class Overlay:
    """The part of the store contract that an import uses, so that a dry run goes through the very same code."""

    def __init__(self, real: Store | None, folder: str) -> None:
        self._real = real
        self._scratch = open_store(f"{folder}/dry-run.db")

    def close(self) -> None:
        self._scratch.close()

    def writing(self) -> Any:
        return self._scratch.writing()

    def loading(self, *, by_content: bool) -> Any:
        return self._scratch.loading(by_content=by_content)

    def add(self, records: Sequence[Record], batch: int | None = None) -> bytes:
        return self._scratch.add(records, batch)

    def replace(self, record: Record) -> None:
        if self._scratch.known([record.id]):
            self._scratch.replace(record)
        else:
            self._scratch.add([record])

    def remove(self, ids: Sequence[str]) -> None:
        self._scratch.remove(ids)

    def get(self, ids: Sequence[str]) -> list[Record]:
        found = {record.id: record for record in self._real.get(ids)} if self._real else {}
        return list((found | {record.id: record for record in self._scratch.get(ids)}).values())

    def known(self, ids: Sequence[str], scopes: Sequence[str] | None = None) -> set[str]:
        return (self._real.known(ids, scopes) if self._real else set()) | self._scratch.known(ids, scopes)

    def ids_of_contents(self, keys: Sequence[ContentKey]) -> dict[ContentKey, str]:
        return self._scratch.ids_of_contents(keys) | (self._real.ids_of_contents(keys) if self._real else {})

    def doubles(self) -> Iterator[list[str]]:
        """What shares its tags with another counts as nothing that a dry run tells of."""
        return iter(())

    def put(self, things: Sequence[Thing], batch: int | None = None) -> None:
        self._scratch.put(things, batch)

    def take(self, things: Sequence[Thing]) -> None:
        """Nothing is taken from the real store."""

    def things(self, kind: type[ThingT], owners: Sequence[str] | None = None) -> Iterator[ThingT]:
        real = self._real.things(kind, owners) if self._real else iter(())
        return chain(real, self._scratch.things(kind, owners))

    def kept(self, thing: ThingT) -> ThingT | None:
        return self._scratch.kept(thing) or (self._real.kept(thing) if self._real else None)

    def thing(self, kind: type[ThingT], key: str) -> ThingT | None:
        return self._scratch.thing(kind, key) or (self._real.thing(kind, key) if self._real else None)

    def all_kept(self, things: Sequence[Thing]) -> list[Thing | None]:
        return [self.kept(thing) for thing in things]

    def origins(self, things: Sequence[Thing]) -> list[int | None]:
        return [None for _ in things]

    def mentions(self, kind: type[ThingT], other: str) -> Iterator[ThingT]:
        real = self._real.mentions(kind, other) if self._real else iter(())
        return chain(real, self._scratch.mentions(kind, other))

    def count_things(self, kind: type[Thing]) -> int:
        return (self._real.count_things(kind) if self._real else 0) + self._scratch.count_things(kind)

    def settings(self) -> dict[str, str]:
        real = self._real.settings() if self._real else {}
        return {name: value for name, value in (real | self._scratch.settings()).items() if value != _FORGOTTEN}

    def put_setting(self, name: str, value: str | None) -> None:
        self._scratch.put_setting(name, _FORGOTTEN if value is None else value)

    def remember(self, revisions: Sequence[Revision]) -> None:
        """A dry run has no history."""

    def revisions(self, *, key: str) -> Iterator[Revision]:
        return self._real.revisions(key=key) if self._real else iter(())

    def knows_event(self, this_hash: str) -> bool:
        return self._real is not None and self._real.knows_event(this_hash)

    def log(self, action: str, target: str, scope: str, details: dict[str, Any]) -> None:
        """A dry run leaves no trace."""

    def put_import(self, entry: Import) -> None:
        self._scratch.put_import(entry)

    def new_batch(self, import_id: str) -> int:
        return self._scratch.new_batch(import_id)

    def origin(self, id: str) -> int | None:
        return None

    def batch_of(self, id: str) -> str | None:
        return self._scratch.batch_of(id)


@contextmanager
def overlay(real: Store | None) -> Iterator[Any]:
    """A scratch store over a real one, or over nothing; it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="memglot-") as folder:
        store = Overlay(real, folder)
        try:
            yield store
        finally:
            store.close()
