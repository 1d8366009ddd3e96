"""The contract that every store obeys. Nothing in it is SQLite's; `memglot.testing.store` holds a store to it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import msgspec

from memglot.model import Event, Record, Thing
from memglot.store.query import Filter
from memglot.store.searchable import Searchable

ThingT = TypeVar("ThingT", bound=Thing)
ContentKey = tuple[bytes, str, str]
"""What makes two memories the same to a format that compares contents: hash, kind, scope."""


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
    errors: list[dict[str, Any]] = []
    """What could not be read, each with its place and reason; of very many, the first."""
    notes: list[str] = []
    closed: bool = False
    """Whether sensitive scopes were closed to whoever imported, so that nothing here tells of them."""


class Store(Searchable, Protocol):
    """Keeps memories. All writing happens inside `with store.writing():`, which lands whole or not at all."""

    url: str
    notes: list[str]
    """What a person should know about this store, such as an index that is not complete."""

    def close(self) -> None:
        """Let go of the store; a second call does nothing."""

    @property
    def is_writing(self) -> bool:
        """Tell whether a transaction is open, which may yet be taken back."""

    @property
    def is_resting(self) -> bool:
        """Tell whether nothing is being read or written: what was read in part holds on to its moment."""

    def writing(self) -> AbstractContextManager[None]:
        """One transaction. Nested ones join it. An exception undoes all of it."""

    def give_way(self) -> None:
        """Between two long transactions: let others write who wait. Nothing happens inside of one."""

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
