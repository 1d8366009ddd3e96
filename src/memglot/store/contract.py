"""The contract that every store obeys. Nothing in it is SQLite's; `memglot.testing.store` holds a store to it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from memglot.model import Event, Record, Thing

ThingT = TypeVar("ThingT", bound=Thing)
ContentKey = tuple[bytes, str, str]
"""What makes two memories the same to a format that compares contents: hash, kind, scope."""


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which records are meant. Every condition that is given must hold; deleted ones only where `status` says so.

    Times are microseconds. Of a range `(start, end)` the end is no part, unless it is the start: that is a point.
    """

    tree: str | None = None
    """A path, for itself and all below, or a pattern as in `memglot.store.tree_pattern`."""
    tags: tuple[str, ...] = ()
    """All of these; `without_tags` is none of those."""
    without_tags: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    """Any of these, as with `scope` and `status`."""
    scope: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    meta: dict[str, Any] | None = None
    """An object that `meta` contains: the same keys with the same values, lists as subsets."""
    source: tuple[dict[str, Any], ...] = ()
    """Objects of which `source` contains one or more."""
    since: int | None = None
    """Created then or later; `until` is earlier."""
    until: int | None = None
    updated_since: int | None = None
    updated_until: int | None = None
    temporal_contains: int | None = None
    """About a time that has this moment. What is about no time fits no `temporal_` condition."""
    temporal_overlaps: tuple[int, int] | None = None
    temporal_within: tuple[int, int] | None = None
    temporal_before: int | None = None
    """About a time that is over at this moment; `temporal_after` is one that has yet to begin."""
    temporal_after: int | None = None
    without_scopes: tuple[str, ...] = ()
    with_conversations: bool = True
    with_deleted: bool = False
    also: tuple["Filter", ...] = ()
    """Further filters that must hold too."""

    @property
    def is_all(self) -> bool:
        """Tell whether this asks for everything there is, conversations or not."""
        # The root of the tree and the empty object leave nothing out.
        every = msgspec.structs.replace(
            self,
            tree=self.tree or None,
            meta=self.meta or None,
            source=() if {} in self.source else self.source,
            with_deleted=False,
            with_conversations=True,
        )
        return every == Filter()


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A word of a question, and the forms of it that an index may hold: words in a row; `*` ends a beginning."""

    word: str
    forms: tuple[str, ...]


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for: texts with any of the terms, the more the better.

    Every phrase MUST be there as it is written, case aside; no text may hold one of `without`.
    """

    terms: tuple[Term, ...] = ()
    phrases: tuple[str, ...] = ()
    without: tuple[Term, ...] = ()
    without_phrases: tuple[str, ...] = ()
    grep: str | None = None

    @property
    def asks_words(self) -> bool:
        """Tell whether there is anything that a text can match better or worse."""
        return bool(self.terms or self.phrases)


class Match(NamedTuple):
    """A record that matches a query by its words, by its number of arrival, and how well: the greater the better."""

    number: int
    score: float


class Place(NamedTuple):
    """Where a record stands in a conversation, a session or a note that was cut up, and what is said there."""

    number: int
    thread: int
    position: int
    speaker: str
    words: int
    traits: int


class Signals(NamedTuple):
    """What a record says of itself that bears on how much it matters."""

    status: str
    created_at: int
    strength: float | None
    access_count: int


class VectorState(msgspec.Struct, frozen=True):
    """Which model a store's vectors are of, how many records have one and how many do not.

    `changes` grows with every change but the addition of vectors of newer records.
    """

    model: str
    dimensions: int
    count: int
    missing: int
    changes: int


class Revision(msgspec.Struct, kw_only=True):
    """What a record, or another thing, was before a change; `before` is `None` where there was nothing."""

    number: int = 0
    kind: str
    key: str
    at: int
    deed: str
    before: dict[str, Any] | None
    batch: int | None = None
    origin: int | None = None
    """The batch that had inserted what was there before."""


class Import(msgspec.Struct, kw_only=True):
    """One recorded import."""

    id: str
    at: int
    sources: list[str]
    format: str
    state: str = "open"
    imported: int = 0
    merged: int = 0
    skipped: int = 0
    failed: int = 0
    finished_at: int | None = None


class Store(Protocol):
    """Keeps memories. All writing happens inside `with store.writing():`, which lands whole or not at all."""

    url: str
    notes: list[str]
    """What a person should know about this store, such as an index that is not complete."""

    def close(self) -> None:
        """Let go of the store; a second call does nothing."""

    def writing(self) -> AbstractContextManager[None]:
        """One transaction. Nested ones join it. An exception undoes all of it."""

    def loading(self, *, by_content: bool) -> AbstractContextManager[None]:
        """Around many transactions of a load: indexes may lag behind inside, and are whole again after it.

        `by_content` tells that `ids_of_contents` or `doubles` will be asked on the way. A load that is cut off leaves
        a store that the next writing open completes.
        """

    # Records

    def add(self, records: Sequence[Record], batch: int | None = None) -> bytes:
        """Keep new records and return their joint digest. Their ids MUST NOT be there yet, and come in order."""

    def replace(self, record: Record) -> None:
        """Put a record in the place of the one with its id, which MUST be there."""

    def remove(self, ids: Sequence[str]) -> None:
        """Forget records; ids that are not there are passed over."""

    def get(self, ids: Sequence[str]) -> list[Record]:
        """The records with these ids, in no particular order; those that are not there are left out."""

    def known(self, ids: Sequence[str], scopes: Sequence[str] | None = None) -> set[str]:
        """Which of these ids are there; with `scopes`, which of them are records of one of these."""

    def starting_with(self, prefix: str, limit: int) -> list[str]:
        """Ids that begin so, in their order."""

    def ids_of_contents(self, keys: Sequence[ContentKey]) -> dict[ContentKey, str]:
        """The first record of each content, kind and scope that is there; deleted ones are passed over."""

    def doubles(self) -> Iterator[list[str]]:
        """The ids, in order, of active records that share their content, kind and scope, where there are several."""

    def records(
        self,
        filter: Filter = ...,
        *,
        newest_first: bool = False,
        limit: int | None = None,
        offset: int = 0,
        sealed: bool = False,
    ) -> Iterator[Record]:
        """Records by `created_at`, then id, as they are when the iteration starts.

        With `sealed` each has the digest it was kept with as its seal, and MUST NOT be changed.
        """

    def in_batches(self, batches: Sequence[int]) -> Iterator[Record]:
        """The records that these batches inserted and that are still there, in the order they came."""

    def count(self, filter: Filter = ...) -> int:
        """How many records `records` would give."""

    # Searching. Records go by their numbers: the later one came, the greater its number.

    def match(self, query: Query, filter: Filter, limit: int, offset: int = 0) -> list[Match]:
        """The best matches by words, best first, then newest first; `limit` -1 means all.

        MUST also work, slower and with a note, where an index is damaged or not complete.
        """

    def count_matches(self, query: Query, filter: Filter, among: Sequence[int] = ()) -> tuple[int, int]:
        """How many `match` would give without a limit, and how many of these are among some records."""

    def allowed(self, query: Query, filter: Filter, numbers: Sequence[int]) -> set[int]:
        """Those among some records that the filter and all but the terms of the query let through."""

    def frequencies(self, forms: Sequence[str]) -> tuple[list[int], int]:
        """How many records hold each form of a word, and how many records there are."""

    def languages(self) -> frozenset[str]:
        """The languages that the index holds stems of, beside English."""

    def matched(self, query: Query, numbers: Sequence[int]) -> dict[int, list[str]]:
        """Which words of a query each of some records holds."""

    def at(self, numbers: Sequence[int]) -> list[Record]:
        """The records with these numbers, in their order; those that are gone are left out."""

    def numbers(self, query: Query, filter: Filter, limit: int, offset: int = 0) -> list[int]:
        """The numbers of records, newest first, that the filter and all but the terms of a query let through."""

    def count_allowed(self, query: Query, filter: Filter) -> int:
        """How many `numbers` would give without a limit."""

    def numbers_of(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of the records with these ids."""

    def places(self, numbers: Sequence[int], reach: int) -> list[Place]:
        """Where records stand, with those at most `reach` before and after them in the same stretch of a thread."""

    def arrivals(self, numbers: Sequence[int], reach: int) -> list[tuple[int, int, int]]:
        """For records of no thread: (number, other, distance) of those that came next to them in their scope."""

    def around(self, number: int, count: int) -> list[int]:
        """The numbers of up to `count` records stored before and after one: of its thread, else of its scope."""

    def related(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Pairs of a record among some and one that an active relation ties to it."""

    def signals(self, numbers: Sequence[int]) -> dict[int, Signals]:
        """What records say of themselves."""

    def speakers(self, names: Sequence[str]) -> set[str]:
        """Those among some folded names that somebody speaks under."""

    # Vectors. One model's at a time, as bytes that the caller understands.

    def vector_state(self) -> VectorState:
        """Which model the vectors are of, and how many there are."""

    def use_model(self, model: str, dimensions: int) -> None:
        """Forget the vectors of any other model."""

    def put_vectors(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Keep the vectors of records, each in the place of the one before."""

    def vectors(self, after: int = 0, among: Sequence[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """The vectors of records that came after a number, or of some, in the order of their numbers."""

    def without_vector(self, after: int, limit: int, among: Sequence[int] | None = None) -> list[tuple[int, str]]:
        """Records without a vector from a number on, or among some, with the text to be embedded: title and content."""

    def branches(self, filter: Filter = ...) -> Iterator[tuple[str, int]]:
        """The tree paths that have records of their own, with their number, in order."""

    def scopes(self, filter: Filter = ...) -> Iterator[tuple[str, int]]:
        """The scopes that have records, with their number, in order."""

    def verify(self, progress: Callable[[int], None] | None = None) -> Iterator[str]:
        """What is amiss: damage, records or an index that do not fit their digests; nothing for a whole store."""

    # Whatever else is kept

    def put(self, things: Sequence[Thing], batch: int | None = None) -> None:
        """Keep things, each in the place of the one with its key."""

    def take(self, things: Sequence[Thing]) -> None:
        """Forget things."""

    def things(self, kind: type[ThingT], owners: Sequence[str] | None = None) -> Iterator[ThingT]:
        """All things of a kind, or those that hang on the given records, in the order of their keys."""

    def thing(self, kind: type[ThingT], key: str) -> ThingT | None:
        """The thing with that key."""

    def kept(self, thing: ThingT) -> ThingT | None:
        """What is kept under the key of this thing."""

    def all_kept(self, things: Sequence[Thing]) -> list[Thing | None]:
        """What is kept under the keys of these things, in their order."""

    def origins(self, things: Sequence[Thing]) -> list[int | None]:
        """The batches that inserted what is kept under the keys of these things, in their order."""

    def things_in_batches(self, batches: Sequence[int]) -> Iterator[Thing]:
        """The things that these batches inserted and that are still there."""

    def mentions(self, kind: type[ThingT], other: str) -> Iterator[ThingT]:
        """Things by their second key: relations to a record, entities of a name, tombstones of a content hash."""

    def count_things(self, kind: type[Thing]) -> int:
        """How many there are."""

    # Settings

    def settings(self) -> dict[str, str]:
        """The named settings of this store, whatever their names; a copy of the store has them too."""

    def put_setting(self, name: str, value: str | None) -> None:
        """Keep a setting, in the place of the one with its name; `None` forgets it."""

    # Keeping track

    def remember(self, revisions: Sequence[Revision]) -> None:
        """Keep what was there before a change."""

    def revisions(
        self, *, key: str | None = None, batches: Sequence[int] = (), origins: Sequence[int] = ()
    ) -> Iterator[Revision]:
        """What was there before, oldest first: of one thing, of what some batches changed, or had inserted."""

    def forget(self, numbers: Sequence[int]) -> None:
        """Drop revisions whose change was taken back."""

    def log(self, action: str, target: str, scope: str, details: dict[str, Any]) -> None:
        """Add a row to the audit chain."""

    def events(
        self, *, target: str | None = None, newest_first: bool = False, limit: int | None = None
    ) -> Iterator[Event]:
        """Rows of the audit chain."""

    def knows_event(self, this_hash: str) -> bool:
        """Tell whether the audit chain has a row with this hash."""

    def chain_head(self) -> tuple[int, str]:
        """The number and the hash of the last row, as recorded apart from the rows."""

    def put_import(self, entry: Import) -> None:
        """Keep what is known of an import, in the place of what was known before."""

    def imports(self) -> Iterator[Import]:
        """All imports, newest first."""

    def new_batch(self, import_id: str) -> int:
        """A number for the next batch of an import."""

    def batches(self, import_id: str) -> list[int]:
        """The batches of an import, in order."""

    def batch_of(self, id: str) -> str | None:
        """The import that brought a record, if one did."""

    def repair(self) -> None:
        """Rebuild every index from the records."""

    def origin(self, id: str) -> int | None:
        """The batch that inserted a record, if one did."""

    def copy_to(self, path: str) -> None:
        """Write a clean copy of the whole store to a new file."""
