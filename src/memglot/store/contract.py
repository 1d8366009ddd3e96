"""The contract of a store: five parts and the transactions around them.

Nothing here depends on SQLite. `memglot.testing.store.StoreConformance` checks that a store obeys it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from memglot.model import Event, Moment, OptionalMoment, Record, Thing, Tombstone
from memglot.store.query import Filter, Match, Query, Signals, ThreadPosition, VectorState

if TYPE_CHECKING:
    from memglot.store.hidden import HiddenScopes

ThingT = TypeVar("ThingT", bound=Thing)
Counted = Literal["tree", "scope", "kind", "tag"]
"""What memories are counted by."""
ContentKey = tuple[bytes, str, str]
"""Hash of the content, kind and scope: equal for memories that formats without ids treat as the same."""


class Revision(msgspec.Struct, kw_only=True):
    """State of a record or thing before a change; `before` is `None` if it did not exist."""

    number: int = 0
    kind: str
    key: str
    at: int
    action: str
    before: dict[str, Any] | None
    batch: int | None = None
    previous_batch: int | None = None
    """The batch that had added what was there before."""


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
    errors: list[dict[str, Any]] = []
    """What could not be read, each with its place and reason; of very many, the first."""
    notes: list[str] = []
    closed: bool = False
    """Whether sensitive scopes were hidden from the importer, so that the entry says nothing about them."""

    time, finished = Moment("at"), OptionalMoment("finished_at")


class Operation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What one command or call changed, in one or several transactions. Imports are not operations."""

    id: str
    at: int
    action: str
    details: dict[str, Any] = {}
    """What it was called with, such as the branch that was moved."""
    memories: int = 0
    """Number of memories that it added, changed or deleted."""
    state: str = "done"
    """`done`, `undone`, `partly undone`; `open` while it undoes another one."""
    parts: list[tuple[int, int]] = []
    """The first and the last of its revisions in each uninterrupted part, in order."""
    undoes: str = ""
    """The operation that it undoes."""
    position: int = 0
    """While it is open, the last revision that it undid; they are undone from the newest to the oldest."""
    counts: dict[str, int] = {}
    """While it is open, what was undone so far."""


class Base(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What another tool said about a memory at the last exchange; edits since then are found by comparing with it.

    Values are fingerprints, by the names of registers. A base is knowledge of this store alone and is never exported.
    """

    tool: str
    space: str
    record: str
    said: dict[str, list[str]] = {}
    """What the tool said at each exchange, the newest last; a value that is not here was absent."""
    held: dict[str, str] = {}
    """What this store had at the last exchange, where that differs from what the tool said."""
    updated_at: int = 0
    """When the memory was last edited, as the tool said."""
    same_as: str = ""
    """The memory that the tool calls by another id; then nothing else is set."""
    batch: int | None = None
    """The batch of an import that set it; `None` for an export."""


class RecordOrigin(NamedTuple):
    """How a record came into a store."""

    format: str | None
    """The format of the import that added it, if one did."""
    is_changed: bool
    """Whether it was changed since."""


class Compaction(msgspec.Struct):
    """The size of a store before and after it was compacted, in bytes.

    `waiting` more are in the file until other programs stop reading an earlier state of it.
    """

    store: str
    before: int
    after: int
    waiting: int

    @property
    def freed(self) -> int:
        """Number of bytes that the file system got back."""
        return max(0, self.before - self.after - self.waiting)


class Store(Protocol):
    """Stores memories. All writes happen inside `with store.writing():`, which is atomic."""

    url: str
    notes: list[str]
    """Warnings about this store, such as an incomplete index."""

    @property
    def hidden(self) -> "HiddenScopes | None":
        """What this view of a store hides from its caller; `None` for a complete store."""

    @property
    def is_writable(self) -> bool:
        """Return True if the store was opened for writing."""

    @property
    def records(self) -> "Records":
        """Memories."""

    @property
    def things(self) -> "Things":
        """Relations, entities, supersessions, documents, embeddings, tombstones, conflicts and foreign rows."""

    @property
    def history(self) -> "History":
        """Revisions, the audit chain, imports and their batches."""

    @property
    def search(self) -> "SearchIndex":
        """Full-text search, and what is near a record."""

    @property
    def vectors(self) -> "VectorTable":
        """Vectors for semantic search."""

    def close(self) -> None:
        """Close the store; a second call does nothing."""

    @property
    def is_writing(self) -> bool:
        """Return True inside a write transaction, which may still be rolled back."""

    @property
    def is_resting(self) -> bool:
        """Return True if no read or write is under way; an unfinished iteration counts as a read."""

    def writing(self) -> AbstractContextManager[None]:
        """Open a write transaction. Nested calls join it. An exception rolls all of it back."""

    def reading(self) -> AbstractContextManager[None]:
        """Read from one snapshot inside, whatever others write meanwhile."""

    def give_way(self) -> None:
        """Pause after a long transaction so that waiting writers get a turn; do nothing inside one."""

    def loading(self, *, by_content: bool) -> AbstractContextManager[None]:
        """Let indexes fall behind during a bulk load; they are complete again afterwards.

        `by_content` says that `ids_by_content` or `duplicates` will be called meanwhile. If a load is interrupted,
        the next open for writing completes the indexes.
        """

    def settings(self) -> dict[str, str]:
        """Return all named settings of this store. A copy of the store has them too."""

    def put_setting(self, name: str, value: str | None) -> None:
        """Set a named setting; `None` removes it."""

    def verify(self, progress: Callable[[int], None] | None = None) -> Iterator[str]:
        """Yield every problem: file damage, altered records, a wrong index; nothing for an intact store."""

    def repair(self) -> None:
        """Rebuild every index from the records."""

    def copy_to(self, path: str) -> None:
        """Write a clean copy of the complete store to a new file."""

    def compact(self) -> Compaction:
        """Give the space of what was deleted back to the file system."""


class Records(Protocol):
    """The memories of a store."""

    def add(self, records: Sequence[Record], batch: int | None = None) -> bytes:
        """Add new records, in order, and return their joint digest. Their ids MUST NOT exist yet."""

    def replace(self, *records: Record) -> None:
        """Replace the records with the same ids, which MUST exist."""

    def remove(self, ids: Sequence[str]) -> None:
        """Remove records; unknown ids are ignored."""

    def get(self, ids: Sequence[str]) -> list[Record]:
        """Return the records with these ids, in any order; unknown ids are ignored."""

    def known(self, ids: Sequence[str], scopes: Sequence[str] | None = None) -> set[str]:
        """Return those of the ids that exist; with `scopes`, only records in these scopes."""

    def ids_starting_with(self, prefix: str, limit: int) -> list[str]:
        """Return ids that start with a prefix, in order."""

    def ids_ending_with(self, endings: Sequence[str]) -> list[str]:
        """Return the ids that end with one of these texts, which have the same length, in order."""

    def ids_by_content(self, keys: Sequence[ContentKey]) -> dict[ContentKey, str]:
        """Return the first record for each content, kind and scope that exists; deleted ones are ignored."""

    def duplicates(self) -> Iterator[list[str]]:
        """Yield groups of ids of active records that have the same content, kind and scope."""

    def select(
        self,
        filter: Filter = ...,
        *,
        newest_first: bool = False,
        limit: int | None = None,
        offset: int = 0,
        with_digest: bool = False,
    ) -> Iterator[Record]:
        """Yield the records that match a filter, by `created_at`, then id, from one snapshot.

        With `with_digest` each record carries its stored digest, and MUST NOT be changed.
        """

    def ids_in_batches(self, batches: Sequence[int]) -> Iterator[str]:
        """Yield the ids of the records that these batches added and that still exist, in order of arrival."""

    def added_by(self, batch: int, after: int, count: int) -> tuple[list[str], bytes]:
        """Return the ids and the joint digest of those of `count` records after a number that a batch added."""

    def batch_of(self, id: str) -> int | None:
        """Return the batch that added a record, if an import did."""

    def count(self, filter: Filter = ...) -> int:
        """Return the number of records that match a filter."""

    def count_by(self, field: Counted, filter: Filter = ...) -> Iterator[tuple[str, int]]:
        """Yield each tree path, scope, kind or tag that has records, with their number, in order."""


class Things(Protocol):
    """Everything in a store that is not a record. Each thing has a key, unique among those of its kind."""

    def put(self, things: Sequence[Thing], batch: int | None = None) -> None:
        """Store things, replacing those with the same keys."""

    def remove(self, things: Sequence[Thing]) -> None:
        """Remove the stored things with the keys of these."""

    def select(self, kind: type[ThingT], owners: Sequence[str] | None = None) -> Iterator[ThingT]:
        """Yield the things of a kind, or those attached to the given records, ordered by key."""

    def get(self, kind: type[ThingT], key: str) -> ThingT | None:
        """Return the thing with this key."""

    def same_key(self, thing: ThingT) -> ThingT | None:
        """Return the stored thing with the key of this one."""

    def same_keys(self, things: Sequence[Thing]) -> list[Thing | None]:
        """Return the stored things with the keys of these, in the same order."""

    def by_second_key(self, kind: type[ThingT], other: str) -> Iterator[ThingT]:
        """Yield relations by object, entities by name, tombstones by content hash, and so on."""

    def by_reason(self, reasons: Sequence[str]) -> Iterator[Tombstone]:
        """Yield the tombstones with these reasons."""

    def batches_of(self, things: Sequence[Thing]) -> list[int | None]:
        """Return the batches that added the stored things with the keys of these, in the same order."""

    def in_batches(self, batches: Sequence[int]) -> Iterator[Thing]:
        """Yield the things that these batches added and that still exist."""

    def count(self, kind: type[Thing]) -> int:
        """Return the number of things of a kind."""


class History(Protocol):
    """What happened to a store: revisions, the audit chain, imports, exchanges with other tools."""

    def add_revisions(self, revisions: Sequence[Revision]) -> None:
        """Add the states before a change."""

    def revisions(
        self, *, key: str | None = None, batches: Sequence[int] = (), previous_batches: Sequence[int] = ()
    ) -> Iterator[Revision]:
        """Yield revisions, oldest first: of one key, by the batch of the change, or by the batch before it."""

    def revisions_between(self, first: int, last: int) -> Iterator[Revision]:
        """Yield the revisions with these numbers and those between them, newest first."""

    def record_changes(self, ids: Sequence[str], after: int) -> list[Revision]:
        """Return the revisions of records after a number, without the states before the changes, in any order."""

    def last_revision(self) -> int:
        """Return the number of the newest revision; 0 if there is none."""

    def count_changed(self, first: int, last: int) -> int:
        """Return the number of records that the revisions with these numbers and those between them are about."""

    def delete_revisions(self, numbers: Sequence[int]) -> None:
        """Delete the revisions of changes that were undone."""

    def log(self, action: str, target: str, scope: str, details: dict[str, Any]) -> None:
        """Append a row to the audit chain."""

    def events(
        self, *, target: str | None = None, newest_first: bool = False, limit: int | None = None
    ) -> Iterator[Event]:
        """Yield rows of the audit chain."""

    def count_events(self) -> int:
        """Return the number of rows of the audit chain."""

    def first_broken(self) -> int | None:
        """Return the number of the first row of the audit chain that is wrong or missing; `None` if it is intact."""

    def has_event(self, this_hash: str) -> bool:
        """Return True if the audit chain has a row with this hash."""

    def chain_head(self) -> tuple[int, str]:
        """Return the number and the hash of the last row, as recorded apart from the rows."""

    def put_operation(self, operation: Operation) -> None:
        """Store an operation, replacing the one with the same id."""

    def operations(self) -> Iterator[Operation]:
        """Yield all operations, newest first."""

    def put_import(self, entry: Import) -> None:
        """Store an import, replacing the entry with the same id."""

    def imports(self) -> Iterator[Import]:
        """Yield all imports, newest first."""

    def new_batch(self, import_id: str, format: str = "") -> int:
        """Return a number for the next batch of an import, whose items have one format."""

    def formats(self, batches: Sequence[int]) -> dict[int, str]:
        """Return the formats of batches; of several formats in one import of an earlier version, `mixed`."""

    def batches(self, import_id: str) -> list[int]:
        """Return the batches of an import, in order."""

    def import_of(self, id: str) -> str | None:
        """Return the import that added a record, if one did."""

    def origins(self, ids: Sequence[str]) -> dict[str, RecordOrigin]:
        """Return how records came into the store; unknown ids are ignored."""

    def has_imported_digests(self) -> bool:
        """Return True if any digest of a record without an id is known."""

    def imported_as(self, digests: Sequence[bytes], *, other_than: str) -> dict[bytes, list[str]]:
        """Return the memories that records without an id became in other imports than this, by digest, in order."""

    def put_imported_digests(self, digests: Sequence[tuple[bytes, str]], batch: int) -> None:
        """Store the digests of records that were read without an id, each with the id it got."""

    def remove_imported_digests(self, ids: Sequence[str]) -> None:
        """Remove the digests of memories, so that they can be imported again."""

    def bases(self, ids: Sequence[str]) -> list[Base]:
        """Return what other tools said about these records, in any order."""

    def put_bases(self, bases: Sequence[Base]) -> None:
        """Store bases, replacing those of the same tool, space and record."""

    def remove_bases(self, bases: Sequence[Base]) -> None:
        """Remove the bases of the same tool, space and record."""


class SearchIndex(Protocol):
    """Full-text search. It refers to records by number, which grows in order of arrival."""

    def match(self, query: Query, filter: Filter, limit: int, offset: int = 0) -> list[Match]:
        """Return the best keyword matches, best first, then newest first; a `limit` of -1 means all.

        MUST also work, slower and with a note, if an index is damaged or incomplete.
        """

    def count_matches(self, query: Query, filter: Filter, among: Sequence[int] = ()) -> tuple[int, int]:
        """Return the number of all matches, and the number of those that are among some records."""

    def select(self, query: Query, filter: Filter, limit: int, offset: int = 0) -> list[int]:
        """Return the records that match the filter and everything in the query but its terms, newest first."""

    def count(self, query: Query, filter: Filter) -> int:
        """Return the number of records that `select` returns without a limit."""

    def allowed(self, query: Query, filter: Filter, numbers: Sequence[int]) -> set[int]:
        """Return those of the records that `select` returns without a limit."""

    def frequencies(self, forms: Sequence[str]) -> tuple[list[int], int]:
        """Return the number of records that contain each word form, and the number of all records."""

    def languages(self) -> frozenset[str]:
        """Return the languages, besides English, whose stems are in the index."""

    def matched_words(self, query: Query, numbers: Sequence[int]) -> dict[int, list[str]]:
        """Return the words of a query that each of the records contains."""

    def records_at(self, numbers: Sequence[int]) -> list[Record]:
        """Return the records with these numbers, in the same order; unknown numbers are ignored."""

    def numbers_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the records with these ids."""

    def newest(self) -> int:
        """Return the number of the newest record; 0 if there is none."""

    def places(self, numbers: Sequence[int], reach: int) -> list[ThreadPosition]:
        """Return the positions of records in their threads, with up to `reach` neighbours on each side."""

    def stored_next_to(self, numbers: Sequence[int], reach: int) -> list[tuple[int, int, int]]:
        """Return (number, other, distance) for records outside threads that arrived next to each other in a scope."""

    def around(self, number: int, count: int) -> list[int]:
        """Return up to `count` records before and after one, in its thread or else in its scope."""

    def related(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Return pairs of one of the records and a record connected to it by an active relation."""

    def signals(self, numbers: Sequence[int]) -> dict[int, Signals]:
        """Return the status, age, strength and access count of records."""

    def speakers(self, names: Sequence[str]) -> set[str]:
        """Return those of the case-folded names that are speakers in a conversation."""


class VectorTable(Protocol):
    """Vectors of one model at a time, by record number, as bytes that the caller interprets."""

    def state(self) -> VectorState:
        """Return the model and the number of vectors."""

    def use_model(self, model: str, dimensions: int) -> None:
        """Delete the vectors of any other model."""

    def put(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Store vectors of records, replacing previous ones."""

    def select(
        self, after: int = 0, among: Sequence[int] | None = None, limit: int = -1
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the vectors of records after a number, or among some, ordered by number."""

    def count(self, query: Query, filter: Filter) -> int:
        """Return the number of records with a vector among those that `SearchIndex.select` returns."""

    def missing(self, after: int, limit: int, among: Sequence[int] | None = None) -> list[tuple[int, str]]:
        """Return records without a vector, after a number or among some, with the text to embed: title and content."""
