"""Dry runs: a store that reads from a real store and writes to a temporary one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from typing import Any

from memglot.model import Event, Record, Thing, Tombstone
from memglot.store.contract import (
    Base,
    Compaction,
    ContentKey,
    Counted,
    History,
    Import,
    Operation,
    RecordOrigin,
    Records,
    Revision,
    Store,
    Things,
    ThingT,
)
from memglot.store.hidden import complete
from memglot.store.location import open_store
from memglot.store.query import Filter
from memglot.store.view import VisibleStore

_REMOVED = "\x1fremoved"
"""Value of a setting that the dry run removed from the real store."""


@contextmanager
def overlay(real: Store | None) -> Iterator[Store]:
    """Open a temporary store over a real one, or over nothing; it is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="memglot-") as folder:
        scratch = open_store(f"{folder}/dry-run.db")
        base = open_store(":memory:") if real is None else real
        try:
            store = Overlay(complete(base), scratch)
            yield store if base.hidden is None else VisibleStore(store)
        finally:
            scratch.close()
            if real is None:
                base.close()


class Overlay:
    """A store for the dry run of an import. It changes nothing in the real store, and removes nothing from view.

    Search and vectors are those of the temporary store: an import does not use them.
    """

    def __init__(self, real: Store, scratch: Store) -> None:
        self._real, self._scratch = real, scratch
        self.url, self.notes, self.hidden = real.url, real.notes, None
        self.records = OverlayRecords(real.records, scratch.records)
        self.things = OverlayThings(real.things, scratch.things)
        self.history = OverlayHistory(real.history, scratch.history)
        self.search, self.vectors = scratch.search, scratch.vectors

    def close(self) -> None:
        """Close the temporary store."""
        self._scratch.close()

    @property
    def is_writable(self) -> bool:
        """Return True: the temporary store can be written."""
        return self._scratch.is_writable

    @property
    def is_writing(self) -> bool:
        """Return True inside a write transaction of the temporary store."""
        return self._scratch.is_writing

    @property
    def is_resting(self) -> bool:
        """Return True if no read or write is under way."""
        return self._scratch.is_resting and self._real.is_resting

    def writing(self) -> AbstractContextManager[None]:
        """Open a write transaction of the temporary store."""
        return self._scratch.writing()

    def reading(self) -> AbstractContextManager[None]:
        """Read from one snapshot of the real store."""
        return self._real.reading()

    def give_way(self) -> None:
        """Do nothing: nobody waits for the temporary store."""

    def loading(self, *, by_content: bool) -> AbstractContextManager[None]:
        """Let indexes of the temporary store fall behind."""
        return self._scratch.loading(by_content=by_content)

    def settings(self) -> dict[str, str]:
        """Return the settings as the dry run would leave them."""
        merged = self._real.settings() | self._scratch.settings()
        return {name: value for name, value in merged.items() if value != _REMOVED}

    def put_setting(self, name: str, value: str | None) -> None:
        """Set a setting in the temporary store."""
        self._scratch.put_setting(name, _REMOVED if value is None else value)

    def verify(self, progress: Callable[[int], None] | None = None) -> Iterator[str]:
        """Yield the problems of the real store."""
        return self._real.verify(progress)

    def repair(self) -> None:
        """Rebuild the indexes of the temporary store."""
        self._scratch.repair()

    def copy_to(self, path: str) -> None:
        """Write a clean copy of the temporary store."""
        self._scratch.copy_to(path)

    def compact(self) -> Compaction:
        """Compact the temporary store."""
        return self._scratch.compact()


class OverlayRecords:
    """Records of a dry run: a temporary record hides the real one with its id."""

    def __init__(self, real: Records, scratch: Records) -> None:
        self._real, self._scratch = real, scratch

    def add(self, records: Sequence[Record], batch: int | None = None) -> bytes:
        """Add records to the temporary store."""
        return self._scratch.add(records, batch)

    def replace(self, *records: Record) -> None:
        """Replace records in the temporary store, or add them there."""
        for record in records:
            if self._scratch.known([record.id]):
                self._scratch.replace(record)
            else:
                self._scratch.add([record])

    def remove(self, ids: Sequence[str]) -> None:
        """Remove records from the temporary store."""
        self._scratch.remove(ids)

    def get(self, ids: Sequence[str]) -> list[Record]:
        """Return the records with these ids."""
        found = {record.id: record for record in self._real.get(ids)}
        return list((found | {record.id: record for record in self._scratch.get(ids)}).values())

    def known(self, ids: Sequence[str], scopes: Sequence[str] | None = None) -> set[str]:
        """Return those of the ids that exist in either store."""
        return self._real.known(ids, scopes) | self._scratch.known(ids, scopes)

    def ids_starting_with(self, prefix: str, limit: int) -> list[str]:
        """Return ids that start with a prefix, in order."""
        found = {*self._real.ids_starting_with(prefix, limit), *self._scratch.ids_starting_with(prefix, limit)}
        return sorted(found)[:limit]

    def ids_ending_with(self, endings: Sequence[str]) -> list[str]:
        """Return the ids that end with one of these texts, in order."""
        return sorted({*self._real.ids_ending_with(endings), *self._scratch.ids_ending_with(endings)})

    def ids_by_content(self, keys: Sequence[ContentKey]) -> dict[ContentKey, str]:
        """Return the first record for each content, kind and scope that exists; the real store comes first."""
        return self._scratch.ids_by_content(keys) | self._real.ids_by_content(keys)

    def duplicates(self) -> Iterator[list[str]]:
        """Yield nothing: a dry run does not report tags shared by duplicates."""
        return iter(())

    def select(
        self,
        filter: Filter = Filter(),
        *,
        newest_first: bool = False,
        limit: int | None = None,
        offset: int = 0,
        with_digest: bool = False,
    ) -> Iterator[Record]:
        """Yield the records of the real store: an import does not list them."""
        return self._real.select(filter, newest_first=newest_first, limit=limit, offset=offset, with_digest=with_digest)

    def ids_in_batches(self, batches: Sequence[int]) -> Iterator[str]:
        """Yield the ids of the records that the dry run added in these batches."""
        return self._scratch.ids_in_batches(batches)

    def added_by(self, batch: int, after: int, count: int) -> tuple[list[str], bytes]:
        """Return what a batch added to the real store."""
        return self._real.added_by(batch, after, count)

    def batch_of(self, id: str) -> int | None:
        """Return `None`: a dry run has no history."""
        return None

    def count(self, filter: Filter = Filter()) -> int:
        """Return the number of records in the real store."""
        return self._real.count(filter)

    def count_by(self, field: Counted, filter: Filter = Filter()) -> Iterator[tuple[str, int]]:
        """Yield the counts of the real store."""
        return self._real.count_by(field, filter)


class OverlayThings:
    """Things of a dry run: those of the real store and of the temporary one."""

    def __init__(self, real: Things, scratch: Things) -> None:
        self._real, self._scratch = real, scratch

    def put(self, things: Sequence[Thing], batch: int | None = None) -> None:
        """Store things in the temporary store."""
        self._scratch.put(things, batch)

    def remove(self, things: Sequence[Thing]) -> None:
        """Do nothing: nothing is removed from the real store."""

    def select(self, kind: type[ThingT], owners: Sequence[str] | None = None) -> Iterator[ThingT]:
        """Yield the things of a kind from both stores."""
        return chain(self._real.select(kind, owners), self._scratch.select(kind, owners))

    def get(self, kind: type[ThingT], key: str) -> ThingT | None:
        """Return the thing with this key."""
        return self._scratch.get(kind, key) or self._real.get(kind, key)

    def same_key(self, thing: ThingT) -> ThingT | None:
        """Return the stored thing with the key of this one."""
        return self._scratch.same_key(thing) or self._real.same_key(thing)

    def same_keys(self, things: Sequence[Thing]) -> list[Thing | None]:
        """Return the stored things with the keys of these, in the same order."""
        pairs = zip(self._scratch.same_keys(things), self._real.same_keys(things), strict=True)
        return [scratch or real for scratch, real in pairs]

    def by_second_key(self, kind: type[ThingT], other: str) -> Iterator[ThingT]:
        """Yield the things with this second key from both stores."""
        return chain(self._real.by_second_key(kind, other), self._scratch.by_second_key(kind, other))

    def by_reason(self, reasons: Sequence[str]) -> Iterator[Tombstone]:
        """Yield the tombstones with these reasons from both stores."""
        return chain(self._real.by_reason(reasons), self._scratch.by_reason(reasons))

    def batches_of(self, things: Sequence[Thing]) -> list[int | None]:
        """Return `None` for each: a dry run has no history."""
        return [None for _ in things]

    def in_batches(self, batches: Sequence[int]) -> Iterator[Thing]:
        """Yield the things that batches of the dry run added."""
        return self._scratch.in_batches(batches)

    def count(self, kind: type[Thing]) -> int:
        """Return the number of things of a kind in both stores."""
        return self._real.count(kind) + self._scratch.count(kind)


class OverlayHistory:
    """History of a dry run: it shows that of the real store, and adds nothing but imports and batches."""

    def __init__(self, real: History, scratch: History) -> None:
        self._real, self._scratch = real, scratch

    def add_revisions(self, revisions: Sequence[Revision]) -> None:
        """Do nothing."""

    def revisions(
        self, *, key: str | None = None, batches: Sequence[int] = (), previous_batches: Sequence[int] = ()
    ) -> Iterator[Revision]:
        """Yield the revisions of the real store."""
        return self._real.revisions(key=key, batches=batches, previous_batches=previous_batches)

    def revisions_between(self, first: int, last: int) -> Iterator[Revision]:
        """Yield revisions of the real store."""
        return self._real.revisions_between(first, last)

    def record_changes(self, ids: Sequence[str], after: int) -> list[Revision]:
        """Return revisions of the real store."""
        return self._real.record_changes(ids, after)

    def last_revision(self) -> int:
        """Return the number of the newest revision of the real store."""
        return self._real.last_revision()

    def count_changed(self, first: int, last: int) -> int:
        """Return the number of records that revisions of the real store are about."""
        return self._real.count_changed(first, last)

    def delete_revisions(self, numbers: Sequence[int]) -> None:
        """Do nothing."""

    def log(self, action: str, target: str, scope: str, details: dict[str, Any]) -> None:
        """Do nothing."""

    def events(
        self, *, target: str | None = None, newest_first: bool = False, limit: int | None = None
    ) -> Iterator[Event]:
        """Yield rows of the real store's audit chain."""
        return self._real.events(target=target, newest_first=newest_first, limit=limit)

    def count_events(self) -> int:
        """Return the number of rows of the real store's audit chain."""
        return self._real.count_events()

    def first_broken(self) -> int | None:
        """Return the first wrong row of the real store's audit chain."""
        return self._real.first_broken()

    def has_event(self, this_hash: str) -> bool:
        """Return True if the real store's audit chain has a row with this hash."""
        return self._real.has_event(this_hash)

    def chain_head(self) -> tuple[int, str]:
        """Return the head of the real store's audit chain."""
        return self._real.chain_head()

    def put_operation(self, operation: Operation) -> None:
        """Do nothing."""

    def operations(self) -> Iterator[Operation]:
        """Yield the operations of the real store."""
        return self._real.operations()

    def put_import(self, entry: Import) -> None:
        """Store an import in the temporary store."""
        self._scratch.put_import(entry)

    def imports(self) -> Iterator[Import]:
        """Yield the imports of the real store."""
        return self._real.imports()

    def new_batch(self, import_id: str, format: str = "") -> int:
        """Return a batch number of the temporary store."""
        return self._scratch.new_batch(import_id, format)

    def formats(self, batches: Sequence[int]) -> dict[int, str]:
        """Return the formats of batches of the real store."""
        return self._real.formats(batches)

    def batches(self, import_id: str) -> list[int]:
        """Return the batches of an import of the dry run."""
        return self._scratch.batches(import_id)

    def import_of(self, id: str) -> str | None:
        """Return the import of the dry run that added a record, if one did."""
        return self._scratch.import_of(id)

    def origins(self, ids: Sequence[str]) -> dict[str, RecordOrigin]:
        """Return how records came into the real store; one that the dry run changed counts as changed."""
        real = self._real.origins(ids)
        for id in self._scratch.origins(ids):
            real[id] = RecordOrigin(real[id].format if id in real else None, True)
        return real

    def has_imported_digests(self) -> bool:
        """Return True if the real store knows any digest."""
        return self._real.has_imported_digests()

    def imported_as(self, digests: Sequence[bytes], *, other_than: str) -> dict[bytes, list[str]]:
        """Return the memories of the real store that records without an id became, by digest."""
        return self._real.imported_as(digests, other_than=other_than)

    def put_imported_digests(self, digests: Sequence[tuple[bytes, str]], batch: int) -> None:
        """Do nothing: an import does not look for what it added itself."""

    def remove_imported_digests(self, ids: Sequence[str]) -> None:
        """Do nothing."""

    def bases(self, ids: Sequence[str]) -> list[Base]:
        """Return what other tools said about these records."""
        found = [*self._real.bases(ids), *self._scratch.bases(ids)]
        return list({(base.record, base.tool, base.space): base for base in found}.values())

    def put_bases(self, bases: Sequence[Base]) -> None:
        """Store bases in the temporary store."""
        self._scratch.put_bases(bases)

    def remove_bases(self, bases: Sequence[Base]) -> None:
        """Remove bases from the temporary store."""
        self._scratch.remove_bases(bases)
