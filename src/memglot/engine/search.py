"""Search: what a person types becomes a query and a filter."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from memglot.engine.show import record_value
from memglot.errors import no_words
from memglot.model import Record
from memglot.store.contract import Filter, Found, Query, Store
from memglot.store.grep import compile_pattern

_PIECE = re.compile(r'(-?)"([^"]*)"?|(-?)(\S+)')


class Hit(msgspec.Struct):
    """A memory that was found: the greater its score, the better it fits; `why` names what matched."""

    record: Record
    score: float
    why: list[str]

    @property
    def id(self) -> str:
        """The id of the memory."""
        return self.record.id

    @property
    def content(self) -> str:
        """The text of the memory."""
        return self.record.content


class Results:
    """The hits of one page, and the true number of all."""

    def __init__(self, hits: list[Hit], total: int) -> None:
        self._hits = hits
        self.total = total

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    def __len__(self) -> int:
        return len(self._hits)

    def __getitem__(self, index: int) -> Hit:
        return self._hits[index]


def parse_query(text: str, grep: str | None = None) -> Query:
    """Words, `"quoted phrases"` and `-words` that must not be there; raises `UsageError` for a query without words."""
    words: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    text = text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    for match in _PIECE.finditer(text):
        not_phrase, phrase, not_word, word = match.groups()
        found = phrase if phrase is not None else word
        if not any(letter.isalnum() for letter in found):
            continue
        (without if not_phrase or not_word else words if phrase is None else phrases).append(found)
    if grep is not None:
        compile_pattern(grep)
    elif not (words or phrases or without):
        raise no_words(text)
    return Query(words=tuple(words), phrases=tuple(phrases), without=tuple(without), grep=grep)


def search(
    store: Store, text: str, filter: Filter, *, limit: int = 10, offset: int = 0, grep: str | None = None
) -> Results:
    """The best matches first; every word must be there."""
    query = parse_query(text, grep)
    found, total = store.search(query, filter, limit, offset)
    return Results([_hit(match, query) for match in found], total)


def _hit(found: Found, query: Query) -> Hit:
    why = [f"contains `{text}`" for text in (*query.words, *query.phrases)]
    if query.grep is not None:
        why.append(f"matches `{query.grep}`")
    return Hit(found.record, round(found.score, 9), why)


def hit_value(hit: Hit) -> dict[str, Any]:
    """A hit as its JSON shows it."""
    return {**record_value(hit.record), "score": hit.score, "why": hit.why}
