"""Parse a query: words, `"phrases"`, `-exclusions`, and operators such as `tag:x`."""

from __future__ import annotations

import re
from collections.abc import Collection
from unicodedata import category

import msgspec

from memglot.arguments import narrow_filter
from memglot.display import shorten
from memglot.errors import UsageError
from memglot.model.record_errors import wrong_type
from memglot.store.query import Filter, Query
from memglot.text.grep import compile_pattern
from memglot.text.terms import Term, terms_of
from memglot.text.words import CAMEL, WORD

_PIECE = re.compile(r'(-?)(?:([A-Za-z]+):)?"([^"]*)"?|(-(?!-))?(\S+)')
_OPERATOR = re.compile(r"(tag|kind|tree|scope|status|before|after):(.+)", re.IGNORECASE | re.DOTALL)
_QUOTES = str.maketrans({"\0": " ", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_LONGEST = 20_000
"""Maximum number of characters of a query; the rest of a page pasted by mistake is ignored."""
_LONGEST_PHRASE = 500
_SYMBOL_CATEGORIES = {"So", "Sm", "Sc", "Sk"}
"""Unicode categories of characters that are searched though they are not words: emoji, arrows, currencies."""
_MOST_CONDITIONS = 100
"""Maximum number of phrases, exclusions and filters, since each is a separate condition for the store."""


class ParsedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed query: what to search for, in which memories, and its text without operators."""

    query: Query
    filter: Filter
    text: str

    @property
    def is_filter(self) -> bool:
        """Whether the query has filters only."""
        return not self.query.asks_words


def parse_query(
    text: str, filter: Filter = Filter(), grep: str | None = None, languages: Collection[str] = ()
) -> ParsedQuery:
    """Parse a query; raise `UsageError` if it has neither words nor filters."""
    if not isinstance(text, str):
        raise wrong_type("the query", "text", type(text).__name__)
    text = text[:_LONGEST].translate(_QUOTES).encode("utf-8", "replace").decode("utf-8")
    if grep is not None:
        compile_pattern(grep)
    reader = _Reader()
    for match in _PIECE.finditer(text):
        reader.add(*match.groups())
    if (conditions := reader.conditions()) > _MOST_CONDITIONS:
        raise _too_many_conditions(conditions, _MOST_CONDITIONS)
    if not reader.words and not reader.phrases:
        reader.phrases = reader.symbols
    if any(len(phrase) > _LONGEST_PHRASE for phrase in (*reader.phrases, *reader.without_phrases)):
        raise UsageError(
            f"a phrase in quotes can have at most {_LONGEST_PHRASE:,} characters",
            "leave out the quotes to search for its words",
        )
    plain = " ".join(reader.words)
    query = Query(
        terms=terms_of(plain, languages),
        phrases=tuple(dict.fromkeys(reader.phrases)),
        without=tuple(dict.fromkeys(reader.without)),
        without_phrases=tuple(dict.fromkeys(reader.without_phrases)),
        grep=grep,
    )
    chosen = narrow_filter(filter, {name: list(dict.fromkeys(values)) for name, values in reader.filters.items()})
    if not query.asks_words and not (query.without or query.without_phrases or grep is not None or reader.filters):
        if text.strip() or filter == Filter():
            raise _no_words(text)
    return ParsedQuery(query=query, filter=chosen, text=" ".join([plain, *reader.phrases]).strip())


def parse_filter(text: str, filter: Filter = Filter()) -> Filter:
    """Return the filter of a query that has operators only, such as `tag:x -tag:y before:2024`."""
    parsed = parse_query(text, filter) if text.strip() else None
    if parsed is None or parsed.query != Query():
        raise UsageError(
            f"`{shorten(text)}` is not a filter, because it has words" if parsed else "the filter is empty",
            "write filters such as `tag:x -tag:y tree:a.b kind:x scope:x status:x before:2024-05 after:7d`",
        )
    return parsed.filter


class _Reader:
    """Sorts the parts of a query."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.phrases: list[str] = []
        self.symbols: list[str] = []
        """Symbols, searched only if there is nothing else: next to words a dash or an emoji says little."""
        self.without: list[str] = []
        self.without_phrases: list[str] = []
        self.filters: dict[str, list[str]] = {}

    def add(self, not_quoted: str | None, key: str | None, quoted: str | None, not_word: str | None, word: str) -> None:
        """Add one match of the pattern: text in quotes, or a word."""
        if quoted is None:
            self._word(word, bool(not_word))
        elif key is not None:
            if not self._operator(f"{key}:{quoted}", bool(not_quoted)):
                self._word(key, bool(not_quoted))
                self._phrase(quoted, bool(not_quoted))
        else:
            self._phrase(quoted, bool(not_quoted))

    def conditions(self) -> int:
        """Return the number of conditions besides the words."""
        several = (self.phrases, self.without, self.without_phrases, *self.filters.values())
        return sum(len(set(values)) for values in several)

    def _word(self, word: str, excluded: bool) -> None:
        if self._operator(word, excluded):
            return
        if WORD.search(word):
            (self.without if excluded else self.words).append(word)
        elif any(category(letter) in _SYMBOL_CATEGORIES for letter in word):
            # A symbol such as an emoji is not in the index as a word, but can be searched as a phrase.
            (self.without_phrases if excluded else self.symbols).append(word)

    def _phrase(self, phrase: str, excluded: bool) -> None:
        if phrase.strip() and any(not letter.isspace() for letter in phrase):
            if WORD.search(phrase) or any(category(letter) in _SYMBOL_CATEGORIES for letter in phrase):
                (self.without_phrases if excluded else self.phrases).append(phrase.strip())

    def _operator(self, piece: str, excluded: bool) -> bool:
        match = _OPERATOR.fullmatch(piece)
        if match is None or not match[2].strip():
            return False
        name, value = match[1].lower(), match[2].strip()
        if excluded:
            if name != "tag":
                raise _no_such_exclusion(name, value)
            name = "not_tag"
        self.filters.setdefault(name, []).append(value)
        return True


def prose_share(text: str) -> float:
    """Return the share of a query that is words, not code names, numbers and paths, which vectors do not cover."""
    pieces = [piece.strip(".,;:!?()[]{}'\"`") for piece in text.split()]
    plain = [piece for piece in pieces if piece.replace("'", "").replace("’", "").replace("-", "").isalpha()]
    return sum(not CAMEL.search(piece) for piece in plain) / max(1, len(pieces))


def without_common(query: Query, common: frozenset[str]) -> Query:
    """Return the query without common words, if others remain."""
    kept: tuple[Term, ...] = tuple(term for term in query.terms if term.word not in common)
    return msgspec.structs.replace(query, terms=kept) if kept and len(kept) < len(query.terms) else query


def _no_words(query: str) -> UsageError:
    """Return the error for a query without words."""
    what = f"the query `{shorten(query)}` contains no word" if query.strip() else "the query is empty"
    return UsageError(what, "run `memglot list` to show memories without a query")


def _too_many_conditions(count: int, most: int) -> UsageError:
    """Return the error for a query with too many conditions, probably pasted by mistake."""
    what = f"the query has {count:,} phrases, exclusions and filters; the maximum is {most:,}"
    return UsageError(what, "use fewer quotes and operators")


def _no_such_exclusion(name: str, value: str) -> UsageError:
    """Return the error for an operator that cannot be excluded."""
    what = f"`-{name}:{shorten(value)}` is not supported: only `tag:` can be excluded with `-`"
    hints = {"before": "use `after:` instead", "after": "use `before:` instead"}
    hints["tree"] = 'use a pattern instead: `tree:"work & !draft"`'
    return UsageError(what, hints.get(name, f"name the values you want instead; several `{name}:` match any of them"))
