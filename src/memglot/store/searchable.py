"""The part of the contract that search needs: what matches, what stands near it, and vectors."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from memglot.model import Record
from memglot.store.query import Filter, Match, Place, Query, Signals, VectorState


class Searchable(Protocol):
    """Finds records. They go by their numbers here: the later one came, the greater its number."""

    def reading(self) -> AbstractContextManager[None]:
        """Around several questions: all that is read inside is of one moment, whatever others write meanwhile."""

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

    def vectors(
        self, after: int = 0, among: Sequence[int] | None = None, limit: int = -1
    ) -> Iterator[tuple[int, bytes]]:
        """The vectors of records that came after a number, or of some, in the order of their numbers."""

    def newest(self) -> int:
        """The number of the newest record; 0 without any."""

    def count_vectors(self, query: Query, filter: Filter) -> int:
        """How many records with a vector the filter and all but the terms of a query let through."""

    def without_vector(self, after: int, limit: int, among: Sequence[int] | None = None) -> list[tuple[int, str]]:
        """Records without a vector from a number on, or among some, with the text to be embedded: title and content."""
