"""A view of a store without its sensitive scopes.

`Memory.open(sensitive=False)` makes one, and everything else works on it: what is not in the view cannot be shown,
found, counted, exported, changed or deleted. See "Sensitive scopes" in docs/store.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec

from memglot.errors import ALLOW_SENSITIVE, AlreadyThere, HiddenMemory, HiddenScope, UsageError
from memglot.model import (
    THINGS,
    Document,
    Entity,
    Event,
    Record,
    Thing,
    Tombstone,
    is_link_tombstone,
    mentioned_ids,
    thing_key,
)
from memglot.settings import BATCH_SIZE
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
    SearchIndex,
    Store,
    Things,
    ThingT,
    VectorTable,
)
from memglot.store.hidden import SENSITIVE, HiddenScopes
from memglot.store.query import Filter, Match, Query, Signals, ThreadPosition, VectorState

T = TypeVar("T")
_EVERY = Filter(with_deleted=True)


class VisibleStore:
    """A store that hides the scopes which are marked as sensitive at each moment."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.hidden = HiddenScopes(store)
        self.url, self.notes = store.url, store.notes
        self.records = VisibleRecords(store.records, self.hidden)
        self.things = VisibleThings(store.things, self.hidden)
        self.history = VisibleHistory(store.history, self.hidden)
        self.search = VisibleSearch(store.search, self.hidden)
        self.vectors = VisibleVectors(store.vectors, store.search, self.hidden)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    @property
    def is_writable(self) -> bool:
        """Return True if the store was opened for writing."""
        return self._store.is_writable

    @property
    def is_writing(self) -> bool:
        """Return True inside a write transaction."""
        return self._store.is_writing

    @property
    def is_resting(self) -> bool:
        """Return True if no read or write is under way."""
        return self._store.is_resting

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Open a write transaction."""
        with self._store.writing(), self.hidden.fixed():
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read from one snapshot inside."""
        with self._store.reading(), self.hidden.fixed():
            yield

    def give_way(self) -> None:
        """Pause after a long transaction so that waiting writers get a turn."""
        self._store.give_way()

    def loading(self, *, by_content: bool) -> AbstractContextManager[None]:
        """Let indexes fall behind during a bulk load."""
        return self._store.loading(by_content=by_content)

    def settings(self) -> dict[str, str]:
        """Return all settings but those that mark sensitive scopes."""
        return {name: value for name, value in self._store.settings().items() if not name.startswith(SENSITIVE)}

    def put_setting(self, name: str, value: str | None) -> None:
        """Set a named setting. A scope can be marked as sensitive, but the mark cannot be removed."""
        if name.startswith(SENSITIVE) and value is None:
            raise refused("marking scopes as normal")
        self._store.put_setting(name, value)
        self.hidden.refresh()

    def verify(self, progress: Callable[[int], None] | None = None) -> Iterator[str]:
        """Yield one sentence if the store has problems: details may name hidden memories."""
        if next(self._store.verify(progress), None) is not None:
            yield "the store is damaged, or was changed outside memglot; `memglot doctor` shows the details"

    def repair(self) -> None:
        """Rebuild every index."""
        self._store.repair()

    def copy_to(self, path: str) -> None:
        """Raise `UsageError`: a copy would contain the hidden scopes."""
        raise refused("copying the complete store")

    def compact(self) -> Compaction:
        """Give unused space back to the file system."""
        return self._store.compact()


def refused(operation: str) -> UsageError:
    """Return the error for an operation that concerns the complete store."""
    return UsageError(f"{operation} is not possible while sensitive scopes are hidden", ALLOW_SENSITIVE)


class VisibleRecords:
    """The records outside the hidden scopes."""

    def __init__(self, records: Records, hidden: HiddenScopes) -> None:
        self._records, self._hidden = records, hidden

    def _visible_ids(self, ids: Sequence[str]) -> list[str]:
        scopes = self._hidden.scopes
        hidden = self._records.known(ids, sorted(scopes)) if scopes else set()
        return [id for id in ids if id not in hidden]

    def add(self, records: Sequence[Record], batch: int | None = None) -> bytes:
        """Add records; raise `HiddenScope` or, if a hidden memory has or had the id, `AlreadyThere`."""
        scopes = self._hidden.scopes
        for record in records if scopes else ():
            if record.scope in scopes:
                raise HiddenScope(record.scope)
        if scopes and (taken := self._hidden.ids([record.id for record in records])):
            raise AlreadyThere(min(taken))
        return self._records.add(records, batch)

    def replace(self, *records: Record) -> None:
        """Replace visible records with others."""
        scopes = self._hidden.scopes
        for record in records:
            if record.scope in scopes:
                raise HiddenScope(record.scope)
            if scopes and not self._visible_ids([record.id]):
                raise HiddenMemory(record.id)
        self._records.replace(*records)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove visible records."""
        self._records.remove(self._visible_ids(ids))

    def get(self, ids: Sequence[str]) -> list[Record]:
        """Return the visible records with these ids."""
        scopes = self._hidden.scopes
        return [record for record in self._records.get(ids) if record.scope not in scopes]

    def known(self, ids: Sequence[str], scopes: Sequence[str] | None = None) -> set[str]:
        """Return those of the ids that exist and are visible."""
        return set(self._visible_ids(sorted(self._records.known(ids, scopes))))

    def ids_starting_with(self, prefix: str, limit: int) -> list[str]:
        """Return visible ids that start with a prefix, in order."""
        wanted = limit
        while True:
            found = self._records.ids_starting_with(prefix, wanted)
            visible = self._visible_ids(found)
            if len(visible) >= limit or len(found) < wanted:
                return visible[:limit]
            wanted *= 4

    def ids_ending_with(self, endings: Sequence[str]) -> list[str]:
        """Return visible ids that end with one of these texts, in order."""
        return self._visible_ids(self._records.ids_ending_with(endings))

    def ids_by_content(self, keys: Sequence[ContentKey]) -> dict[ContentKey, str]:
        """Return the first visible record for each content, kind and scope that exists."""
        scopes = self._hidden.scopes
        return self._records.ids_by_content([key for key in keys if key[2] not in scopes])

    def duplicates(self) -> Iterator[list[str]]:
        """Yield groups of visible duplicates; all of a group have one scope."""
        return (ids for ids in self._records.duplicates() if self._visible_ids(ids[:1]))

    def select(
        self,
        filter: Filter = Filter(),
        *,
        newest_first: bool = False,
        limit: int | None = None,
        offset: int = 0,
        with_digest: bool = False,
    ) -> Iterator[Record]:
        """Yield the visible records that match a filter."""
        filter = self._hidden.narrow(filter)
        return self._records.select(
            filter, newest_first=newest_first, limit=limit, offset=offset, with_digest=with_digest
        )

    def ids_in_batches(self, batches: Sequence[int]) -> Iterator[str]:
        """Yield the ids of the visible records that these batches added and that still exist."""
        found = self._records.ids_in_batches(batches)
        return chain.from_iterable(map(self._visible_ids, _batched(found))) if self._hidden.scopes else found

    def added_by(self, batch: int, after: int, count: int) -> tuple[list[str], bytes]:
        """Return the visible ids of what a batch added; the digest is right if all are visible."""
        ids, digest = self._records.added_by(batch, after, count)
        return self._visible_ids(ids), digest

    def batch_of(self, id: str) -> int | None:
        """Return the batch that added a visible record, if an import did."""
        return self._records.batch_of(id) if self._visible_ids([id]) else None

    def count(self, filter: Filter = Filter()) -> int:
        """Return the number of visible records that match a filter."""
        return self._records.count(self._hidden.narrow(filter))

    def count_by(self, field: Counted, filter: Filter = Filter()) -> Iterator[tuple[str, int]]:
        """Yield each tree path, scope, kind or tag that has visible records, with their number."""
        return self._records.count_by(field, self._hidden.narrow(filter))


class VisibleThings:
    """The things that neither belong to hidden scopes nor mention anything in them."""

    def __init__(self, things: Things, hidden: HiddenScopes) -> None:
        self._things, self._hidden = things, hidden

    def _one(self, thing: ThingT | None) -> ThingT | None:
        return None if thing is None else next(self._hidden.visible([thing]), None)

    def put(self, things: Sequence[Thing], batch: int | None = None) -> None:
        """Store things; raise an error for those that would change or reveal something hidden."""
        if scopes := self._hidden.scopes:
            for thing in things:
                if isinstance(thing, (Document, Entity)) and thing.scope in scopes:
                    raise HiddenScope(thing.scope)
            if taken := self._hidden.ids([thing.id for thing in things if isinstance(thing, Entity)]):
                raise AlreadyThere(min(taken))
            if touched := self._hidden.ids(sorted({end for thing in things for end in _touched_ids(thing)})):
                raise HiddenMemory(min(touched))
            stored = [thing for thing in self._things.same_keys(things) if thing is not None]
            visible = {id(thing) for thing in self._hidden.visible(stored)}
            for thing in stored:
                # A mark that a relation was removed has the default scope, which may be a hidden one.
                if id(thing) not in visible and not isinstance(thing, Tombstone):
                    raise AlreadyThere(thing_key(thing))
        self._things.put(things, batch)

    def remove(self, things: Sequence[Thing]) -> None:
        """Remove visible things."""
        self._things.remove(list(self._hidden.visible(things)))

    def select(self, kind: type[ThingT], owners: Sequence[str] | None = None) -> Iterator[ThingT]:
        """Yield the visible things of a kind, or those attached to the given records."""
        return self._hidden.visible(self._things.select(kind, owners))

    def get(self, kind: type[ThingT], key: str) -> ThingT | None:
        """Return the visible thing with this key."""
        return self._one(self._things.get(kind, key))

    def same_key(self, thing: ThingT) -> ThingT | None:
        """Return the visible thing with the key of this one."""
        return self._one(self._things.same_key(thing))

    def same_keys(self, things: Sequence[Thing]) -> list[Thing | None]:
        """Return the visible things with the keys of these, in the same order."""
        stored = self._things.same_keys(things)
        visible = {id(thing) for thing in self._hidden.visible([thing for thing in stored if thing is not None])}
        return [thing if id(thing) in visible else None for thing in stored]

    def by_second_key(self, kind: type[ThingT], other: str) -> Iterator[ThingT]:
        """Yield the visible things with this second key."""
        return self._hidden.visible(self._things.by_second_key(kind, other))

    def by_reason(self, reasons: Sequence[str]) -> Iterator[Tombstone]:
        """Yield the visible tombstones with these reasons."""
        return self._hidden.visible(self._things.by_reason(reasons))

    def batches_of(self, things: Sequence[Thing]) -> list[int | None]:
        """Return the batches that added the visible things with the keys of these."""
        pairs = zip(self.same_keys(things), self._things.batches_of(things), strict=True)
        return [None if thing is None else batch for thing, batch in pairs]

    def in_batches(self, batches: Sequence[int]) -> Iterator[Thing]:
        """Yield the visible things that these batches added and that still exist."""
        return self._hidden.visible(self._things.in_batches(batches))

    def count(self, kind: type[Thing]) -> int:
        """Return the number of visible things of a kind."""
        count = self._things.count(kind)
        return sum(1 for _ in self.select(kind)) if count and self._hidden.scopes else count


def _touched_ids(thing: Thing) -> list[str]:
    """Return the memories and entities that storing a thing would delete, or would attach something to."""
    if isinstance(thing, Tombstone):
        return [] if is_link_tombstone(thing) else [thing.id]
    return mentioned_ids(thing)


class VisibleHistory:
    """The history of what is visible."""

    def __init__(self, history: History, hidden: HiddenScopes) -> None:
        self._history, self._hidden = history, hidden

    def add_revisions(self, revisions: Sequence[Revision]) -> None:
        """Add the states before a change."""
        self._history.add_revisions(revisions)

    def revisions(
        self, *, key: str | None = None, batches: Sequence[int] = (), previous_batches: Sequence[int] = ()
    ) -> Iterator[Revision]:
        """Yield the revisions of visible records and things, without versions that were in a hidden scope."""
        found = self._history.revisions(key=key, batches=batches, previous_batches=previous_batches)
        scopes = self._hidden.scopes
        if not scopes:
            return found
        return chain.from_iterable(self._visible(batch, scopes) for batch in _batched(found))

    def _visible(self, revisions: Sequence[Revision], scopes: frozenset[str]) -> Iterator[Revision]:
        hidden = self._hidden.ids([revision.key for revision in revisions])
        for revision in revisions:
            before = revision.before or {}
            if revision.key in hidden or before.get("scope") in scopes:
                continue
            if revision.kind in THINGS and not self._is_visible_thing(revision):
                continue
            yield revision

    def _is_visible_thing(self, revision: Revision) -> bool:
        """Return True if a thing reveals nothing hidden; of one that did not exist before, as it is known now."""
        thing: Thing | None
        if revision.before is not None:
            thing = msgspec.convert(revision.before, THINGS[revision.kind])
        else:
            things = self._hidden.store.things
            thing = things.get(THINGS[revision.kind], revision.key) or things.get(Tombstone, revision.key)
        return thing is not None and next(self._hidden.visible([thing]), None) is not None

    def revisions_between(self, first: int, last: int) -> Iterator[Revision]:
        """Yield the visible ones of the revisions with these numbers, newest first."""
        found = self._history.revisions_between(first, last)
        scopes = self._hidden.scopes
        return chain.from_iterable(self._visible(batch, scopes) for batch in _batched(found)) if scopes else found

    def record_changes(self, ids: Sequence[str], after: int) -> list[Revision]:
        """Return the revisions of visible records after a number, without the states before the changes."""
        return self._history.record_changes(self._visible_ids(ids), after)

    def last_revision(self) -> int:
        """Return the number of the newest revision of the complete store."""
        return self._history.last_revision()

    def count_changed(self, first: int, last: int) -> int:
        """Return the number of records that revisions of the complete store are about."""
        return self._history.count_changed(first, last)

    def delete_revisions(self, numbers: Sequence[int]) -> None:
        """Delete the revisions of changes that were undone."""
        self._history.delete_revisions(numbers)

    def log(self, action: str, target: str, scope: str, details: dict[str, Any]) -> None:
        """Append a row to the audit chain."""
        self._history.log(action, target, scope, details)

    def events(
        self, *, target: str | None = None, newest_first: bool = False, limit: int | None = None
    ) -> Iterator[Event]:
        """Yield the rows of the audit chain that reveal nothing hidden."""
        scopes = self._hidden.scopes
        if not scopes:
            return self._history.events(target=target, newest_first=newest_first, limit=limit)
        found = self._history.events(target=target, newest_first=newest_first)
        imports = {entry.id for entry in self.imports()}
        visible = chain.from_iterable(self._visible_events(batch, scopes, imports) for batch in _batched(found))
        return islice(visible, limit)

    def _visible_events(self, events: Sequence[Event], scopes: frozenset[str], imports: set[str]) -> Iterator[Event]:
        mentioned = [{event.target, *_texts(event.details)} for event in events]
        hidden = self._hidden.ids(sorted(set().union(*mentioned)))
        for event, texts in zip(events, mentioned, strict=True):
            # A row without a scope counts memories of all scopes, unless it is about a visible import.
            is_visible = event.scope not in scopes if event.scope else event.target in imports
            if is_visible and texts.isdisjoint(hidden) and texts.isdisjoint(scopes):
                yield event

    def count_events(self) -> int:
        """Return the number of visible rows of the audit chain."""
        return sum(1 for _ in self.events()) if self._hidden.scopes else self._history.count_events()

    def first_broken(self) -> int | None:
        """Return the first wrong row of the complete audit chain: checking it shows none of its rows."""
        return self._history.first_broken()

    def has_event(self, this_hash: str) -> bool:
        """Return True if the complete audit chain has a row with this hash."""
        return self._history.has_event(this_hash)

    def chain_head(self) -> tuple[int, str]:
        """Return the number and the hash of the last row of the complete audit chain."""
        return self._history.chain_head()

    def put_operation(self, operation: Operation) -> None:
        """Store an operation."""
        self._history.put_operation(operation)

    def operations(self) -> Iterator[Operation]:
        """Yield the operations that concern nothing hidden."""
        found = self._history.operations()
        return (one for one in found if not self._hidden.scopes or self._is_visible_operation(one))

    def _is_visible_operation(self, operation: Operation) -> bool:
        scopes = self._hidden.scopes
        for first, last in operation.parts:
            for batch in _batched(self._history.revisions_between(first, last)):
                if sum(1 for _ in self._visible(batch, scopes)) < len(batch):
                    return False
        return bool(operation.parts)

    def put_import(self, entry: Import) -> None:
        """Store an import."""
        self._history.put_import(entry)

    def imports(self) -> Iterator[Import]:
        """Yield the imports of those from whom the scopes were hidden too.

        The counts, errors and file names of others may reveal something.
        """
        scopes = self._hidden.scopes
        return (entry for entry in self._history.imports() if entry.closed or not scopes)

    def new_batch(self, import_id: str, format: str = "") -> int:
        """Return a number for the next batch of an import."""
        return self._history.new_batch(import_id, format)

    def formats(self, batches: Sequence[int]) -> dict[int, str]:
        """Return the formats of batches."""
        return self._history.formats(batches)

    def batches(self, import_id: str) -> list[int]:
        """Return the batches of an import, in order."""
        return self._history.batches(import_id)

    def import_of(self, id: str) -> str | None:
        """Return the import that added a visible record, if one did."""
        return None if self._hidden.ids([id]) else self._history.import_of(id)

    def origins(self, ids: Sequence[str]) -> dict[str, RecordOrigin]:
        """Return how visible records came into the store."""
        return self._history.origins(self._visible_ids(ids))

    def has_imported_digests(self) -> bool:
        """Return True if any digest of a record without an id is known."""
        return self._history.has_imported_digests()

    def imported_as(self, digests: Sequence[bytes], *, other_than: str) -> dict[bytes, list[str]]:
        """Return the visible memories that records without an id became in other imports, by digest."""
        found = self._history.imported_as(digests, other_than=other_than)
        visible = set(self._visible_ids([id for ids in found.values() for id in ids]))
        shown = {digest: [id for id in ids if id in visible] for digest, ids in found.items()}
        return {digest: ids for digest, ids in shown.items() if ids}

    def put_imported_digests(self, digests: Sequence[tuple[bytes, str]], batch: int) -> None:
        """Store digests."""
        self._history.put_imported_digests(digests, batch)

    def remove_imported_digests(self, ids: Sequence[str]) -> None:
        """Remove the digests of memories."""
        self._history.remove_imported_digests(ids)

    def bases(self, ids: Sequence[str]) -> list[Base]:
        """Return what other tools said about visible records."""
        return self._history.bases(self._visible_ids(ids))

    def _visible_ids(self, ids: Sequence[str]) -> list[str]:
        hidden = self._hidden.ids(ids)
        return [id for id in ids if id not in hidden]

    def put_bases(self, bases: Sequence[Base]) -> None:
        """Store bases."""
        self._history.put_bases(bases)

    def remove_bases(self, bases: Sequence[Base]) -> None:
        """Remove bases."""
        self._history.remove_bases(bases)


def _batched(values: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(islice(values, BATCH_SIZE)):
        yield batch


def _texts(value: Any) -> Iterator[str]:
    """Yield every text inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


class VisibleSearch:
    """Search among the visible records. Word statistics, which only rank results, are of the complete store."""

    def __init__(self, search: SearchIndex, hidden: HiddenScopes) -> None:
        self._search, self._hidden = search, hidden

    def _visible(self, numbers: Sequence[int]) -> set[int]:
        if not self._hidden.scopes:
            return set(numbers)
        return self._search.allowed(Query(), self._hidden.narrow(_EVERY), numbers)

    def _narrow(self, numbers: Sequence[int]) -> list[int]:
        visible = self._visible(numbers)
        return [number for number in numbers if number in visible]

    def match(self, query: Query, filter: Filter, limit: int, offset: int = 0) -> list[Match]:
        """Return the best visible keyword matches."""
        return self._search.match(query, self._hidden.narrow(filter), limit, offset)

    def count_matches(self, query: Query, filter: Filter, among: Sequence[int] = ()) -> tuple[int, int]:
        """Return the number of visible matches, and of those that are among some records."""
        return self._search.count_matches(query, self._hidden.narrow(filter), among)

    def select(self, query: Query, filter: Filter, limit: int, offset: int = 0) -> list[int]:
        """Return the visible records that match a filter, newest first."""
        return self._search.select(query, self._hidden.narrow(filter), limit, offset)

    def count(self, query: Query, filter: Filter) -> int:
        """Return the number of visible records that match a filter."""
        return self._search.count(query, self._hidden.narrow(filter))

    def allowed(self, query: Query, filter: Filter, numbers: Sequence[int]) -> set[int]:
        """Return those of the records that match a filter and are visible."""
        return self._search.allowed(query, self._hidden.narrow(filter), numbers)

    def frequencies(self, forms: Sequence[str]) -> tuple[list[int], int]:
        """Return word statistics of the complete store."""
        return self._search.frequencies(forms)

    def languages(self) -> frozenset[str]:
        """Return the languages of the complete index."""
        return self._search.languages()

    def matched_words(self, query: Query, numbers: Sequence[int]) -> dict[int, list[str]]:
        """Return the words of a query that each of the visible records contains."""
        return self._search.matched_words(query, self._narrow(numbers))

    def records_at(self, numbers: Sequence[int]) -> list[Record]:
        """Return the visible records with these numbers."""
        scopes = self._hidden.scopes
        return [record for record in self._search.records_at(numbers) if record.scope not in scopes]

    def numbers_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the visible records with these ids."""
        found = self._search.numbers_of(ids)
        visible = self._visible(list(found.values()))
        return {id: number for id, number in found.items() if number in visible}

    def newest(self) -> int:
        """Return the number of the newest record of the complete store."""
        return self._search.newest()

    def places(self, numbers: Sequence[int], reach: int) -> list[ThreadPosition]:
        """Return the positions of visible records in their threads, with visible neighbours."""
        found = self._search.places(numbers, reach)
        visible = self._visible([place.number for place in found])
        return [place for place in found if place.number in visible]

    def stored_next_to(self, numbers: Sequence[int], reach: int) -> list[tuple[int, int, int]]:
        """Return visible records outside threads that arrived next to each other; neighbours have one scope."""
        return self._search.stored_next_to(self._narrow(numbers), reach)

    def around(self, number: int, count: int) -> list[int]:
        """Return visible records before and after a visible one."""
        return self._narrow(self._search.around(number, count)) if self._visible([number]) else []

    def related(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Return pairs of visible records connected by an active relation."""
        found = self._search.related(self._narrow(numbers))
        visible = self._visible([other for _, other in found])
        return [(number, other) for number, other in found if other in visible]

    def signals(self, numbers: Sequence[int]) -> dict[int, Signals]:
        """Return the status, age, strength and access count of visible records."""
        return self._search.signals(self._narrow(numbers))

    def speakers(self, names: Sequence[str]) -> set[str]:
        """Return those of the names that are speakers in the complete store."""
        return self._search.speakers(names)


class VisibleVectors:
    """Vectors of the visible records. `state` and `select` are of the complete store: they only rank results."""

    def __init__(self, vectors: VectorTable, search: SearchIndex, hidden: HiddenScopes) -> None:
        self._vectors, self._search, self._hidden = vectors, search, hidden

    def state(self) -> VectorState:
        """Return the model and the number of all vectors."""
        return self._vectors.state()

    def use_model(self, model: str, dimensions: int) -> None:
        """Delete the vectors of any other model; raise `UsageError` if hidden memories have some."""
        state, scopes = self._vectors.state(), self._hidden.scopes
        if scopes and (state.model, state.dimensions) != (model, dimensions):
            if self._vectors.count(Query(), Filter(scope=tuple(sorted(scopes)), with_deleted=True)):
                raise refused("replacing all vectors")
        self._vectors.use_model(model, dimensions)

    def put(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Store vectors of records."""
        self._vectors.put(vectors)

    def select(
        self, after: int = 0, among: Sequence[int] | None = None, limit: int = -1
    ) -> Iterator[tuple[int, bytes]]:
        """Yield vectors of the complete store."""
        return self._vectors.select(after, among, limit)

    def count(self, query: Query, filter: Filter) -> int:
        """Return the number of visible records with a vector that match a filter."""
        return self._vectors.count(query, self._hidden.narrow(filter))

    def missing(self, after: int, limit: int, among: Sequence[int] | None = None) -> list[tuple[int, str]]:
        """Return visible records without a vector, with the text to embed."""
        while found := self._vectors.missing(after, limit, among):
            numbers = [number for number, _ in found]
            visible = set(numbers)
            if self._hidden.scopes:
                visible = self._search.allowed(Query(), self._hidden.narrow(_EVERY), numbers)
            if visible:
                return [(number, text) for number, text in found if number in visible]
            after = numbers[-1]
        return []
