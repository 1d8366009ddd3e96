"""What a store is asked for, and what it answers a search with: filters, queries, matches, places."""

from typing import Any, NamedTuple

import msgspec

from memglot.text.terms import Term


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which records are meant. Every condition that is given must hold; deleted ones only where `status` says so.

    Times are microseconds. Of a range `(start, end)` the end is no part, unless it is the start: that is a point.
    """

    tree: str | None = None
    """A path, for itself and all below, or a pattern as in `memglot.text.tree_pattern`."""
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


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for: texts with any of the terms, the more the better.

    Every phrase MUST be there as it is written, case aside. No text may hold one of `without`, whatever its case and
    accents, nor one of `without_phrases` as it is written.
    """

    terms: tuple[Term, ...] = ()
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
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
