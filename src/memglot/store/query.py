"""Filters and queries for a store, and the results of a search: matches, places, signals."""

from typing import Any, NamedTuple

import msgspec

from memglot.text.terms import Term


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects records that meet every given condition; deleted ones only if `status` or `with_deleted` says so.

    Times are microseconds. A range `(start, end)` excludes its end, unless both are equal: that is a point in time.
    """

    tree: str | None = None
    """A path, which includes everything below it, or a pattern as in `memglot.text.tree_pattern`."""
    tags: tuple[str, ...] = ()
    """All of these tags; `without_tags` is none of them."""
    without_tags: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    """Any of these; the same for `scope` and `status`."""
    scope: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    meta: dict[str, Any] | None = None
    """An object that `meta` must contain: the same keys with the same values, lists as subsets."""
    source: tuple[dict[str, Any], ...] = ()
    """Objects of which `source` must contain at least one. A tool alone also selects what has an id or fields of it."""
    since: int | None = None
    """Created at this time or later; `until` means earlier than that time."""
    until: int | None = None
    updated_since: int | None = None
    updated_until: int | None = None
    temporal_contains: int | None = None
    """About a time that includes this moment. A memory about no time meets no `temporal_` condition."""
    temporal_overlaps: tuple[int, int] | None = None
    temporal_within: tuple[int, int] | None = None
    temporal_before: int | None = None
    """About a time that ends by this moment; `temporal_after` means one that begins after it."""
    temporal_after: int | None = None
    without_scopes: tuple[str, ...] = ()
    with_conversations: bool = True
    with_deleted: bool = False
    also: tuple["Filter", ...] = ()
    """Further filters that must match too."""

    @property
    def is_all(self) -> bool:
        """Return True if this selects everything, with or without conversations."""
        # The root of the tree and the empty object exclude nothing.
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
    """What to search: texts with any of the terms, the more the better.

    A text MUST contain every phrase as written, ignoring case. It MUST NOT contain any word of `without`, ignoring
    case and accents, or any of `without_phrases` as written.
    """

    terms: tuple[Term, ...] = ()
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    without_phrases: tuple[str, ...] = ()
    grep: str | None = None

    @property
    def asks_words(self) -> bool:
        """Return True if there is anything to rank matches by."""
        return bool(self.terms or self.phrases)


class Match(NamedTuple):
    """A record, by number, that matches the keywords of a query, with its score."""

    number: int
    score: float


class ThreadPosition(NamedTuple):
    """Position of a record in a conversation, a session or a split note, and facts about its text."""

    number: int
    thread: int
    position: int
    speaker: str
    words: int
    traits: int


class Signals(NamedTuple):
    """Properties of a record that affect its rank."""

    status: str
    created_at: int
    strength: float | None
    access_count: int


class VectorState(msgspec.Struct, frozen=True):
    """The model of a store's vectors, and the number of records with and without one.

    `changes` grows with every change except the addition of vectors for newer records.
    """

    model: str
    dimensions: int
    count: int
    missing: int
    changes: int
