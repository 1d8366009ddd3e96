"""What a person types becomes a query: words, `"phrases"`, `-words`, and operators such as `tag:x`."""

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
"""So many characters of a question are read: a page pasted by mistake is answered by its beginning."""
_LONGEST_PHRASE = 500
_LOOKED_FOR = {"So", "Sm", "Sc", "Sk"}
"""Kinds of signs that are no words and yet looked for: emoji, arrows, currencies."""
_MOST_CONDITIONS = 100
"""So many phrases, exclusions and filters are taken: each is a condition that a store must look at one by one."""


class ParsedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A question that was read: what to look for, among which memories, and its words as they stand."""

    query: Query
    filter: Filter
    text: str

    @property
    def is_filter(self) -> bool:
        """Tell whether nothing is asked for but what filters say."""
        return not self.query.asks_words


def parse_query(
    text: str, filter: Filter = Filter(), grep: str | None = None, languages: Collection[str] = ()
) -> ParsedQuery:
    """Read a question; raises `UsageError` where there is nothing to look for, and nothing to list by."""
    if not isinstance(text, str):
        raise wrong_type("the query", "text", type(text).__name__)
    text = text[:_LONGEST].translate(_QUOTES).encode("utf-8", "replace").decode("utf-8")
    if grep is not None:
        compile_pattern(grep)
    reader = _Reader()
    for match in _PIECE.finditer(text):
        reader.take(*match.groups())
    if (conditions := reader.conditions()) > _MOST_CONDITIONS:
        raise _too_many_conditions(conditions, _MOST_CONDITIONS)
    if not reader.words and not reader.phrases:
        reader.phrases = reader.signs
    if any(len(phrase) > _LONGEST_PHRASE for phrase in (*reader.phrases, *reader.without_phrases)):
        raise UsageError(
            f"a phrase in quotes may have at most {_LONGEST_PHRASE:,} characters", "without quotes its words are found"
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


class _Reader:
    """Sorts the pieces of a question."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.phrases: list[str] = []
        self.signs: list[str] = []
        """What is looked for only where there is nothing else: beside words a dash or an emoji says little."""
        self.without: list[str] = []
        self.without_phrases: list[str] = []
        self.filters: dict[str, list[str]] = {}

    def take(
        self, not_quoted: str | None, key: str | None, quoted: str | None, not_word: str | None, word: str
    ) -> None:
        """Take what one match of the pattern found: something in quotes, or a word."""
        if quoted is None:
            self._word(word, bool(not_word))
        elif key is not None:
            if not self._operator(f"{key}:{quoted}", bool(not_quoted)):
                self._word(key, bool(not_quoted))
                self._phrase(quoted, bool(not_quoted))
        else:
            self._phrase(quoted, bool(not_quoted))

    def conditions(self) -> int:
        """How many things were asked for that must hold, beside the words."""
        several = (self.phrases, self.without, self.without_phrases, *self.filters.values())
        return sum(len(set(values)) for values in several)

    def _word(self, word: str, excluded: bool) -> None:
        if self._operator(word, excluded):
            return
        if WORD.search(word):
            (self.without if excluded else self.words).append(word)
        elif any(category(letter) in _LOOKED_FOR for letter in word):
            # A sign such as an emoji is no word of the index, but can be looked for as it stands.
            (self.without_phrases if excluded else self.signs).append(word)

    def _phrase(self, phrase: str, excluded: bool) -> None:
        if phrase.strip() and any(not letter.isspace() for letter in phrase):
            if WORD.search(phrase) or any(category(letter) in _LOOKED_FOR for letter in phrase):
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
    """How much of a question is words rather than names of code, numbers and paths, of which meaning knows nothing."""
    pieces = [piece.strip(".,;:!?()[]{}'\"`") for piece in text.split()]
    plain = [piece for piece in pieces if piece.replace("'", "").replace("’", "").replace("-", "").isalpha()]
    return sum(not CAMEL.search(piece) for piece in plain) / max(1, len(pieces))


def without_common(query: Query, common: frozenset[str]) -> Query:
    """The query without words that stand nearly everywhere, where others remain."""
    kept: tuple[Term, ...] = tuple(term for term in query.terms if term.word not in common)
    return msgspec.structs.replace(query, terms=kept) if kept and len(kept) < len(query.terms) else query


def _no_words(query: str) -> UsageError:
    """A query of nothing, or of nothing but punctuation."""
    what = f"the query `{shorten(query)}` has no word to look for" if query.strip() else "the query is empty"
    return UsageError(what, "`memglot list` shows memories without a query")


def _too_many_conditions(count: int, most: int) -> UsageError:
    """A question with so many quotes and operators that it is a text pasted by mistake."""
    what = f"the query has {count:,} phrases, exclusions and filters, and at most {most:,} are taken"
    return UsageError(what, "ask with fewer quotes and operators")


def _no_such_exclusion(name: str, value: str) -> UsageError:
    """An operator with a `-` that only tags can have."""
    what = f"`-{name}:{shorten(value)}` cannot be asked: of the operators only `tag:` takes a `-`"
    hints = {"before": "`after:` is the other way round", "after": "`before:` is the other way round"}
    hints["tree"] = 'a pattern leaves labels out: `tree:"work & !draft"`'
    return UsageError(what, hints.get(name, f"say what you want instead; several `{name}:` mean any of them"))
