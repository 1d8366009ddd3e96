"""Queries in the language of the text index, and matching of single texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from memglot.store.query import Query
from memglot.store.sqlite.functions import grep_condition
from memglot.text.terms import Term, required_forms
from memglot.text.words import UNSPACED, fold

if TYPE_CHECKING:
    from regex import Pattern


def expression(query: Query) -> str:
    """Return the query in the language of the index; empty if the index cannot answer it, as for an emoji."""
    needed = [f"({_form(form)})" for phrase in query.phrases for form in required_forms(phrase)]
    wanted = [_form(form) for term in query.terms for form in term.forms]
    if query.phrases and not needed:
        return ""
    if needed:
        # The second half repeats a required phrase, so that the other words only add to the score.
        return f"({' AND '.join(needed)}) AND ({' OR '.join([needed[0], *wanted])})"
    return " OR ".join(wanted)


def _form(form: str) -> str:
    if form.endswith("*"):
        return f"{_quoted(form[:-1])} *"
    return _quoted(form)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


_TEXTS = "records.content, records.title, memglot_texts(records.tags), records.tree, memglot_texts(records.meta)"


def hard_conditions(query: Query) -> list[tuple[str, list[Any]]]:
    """Return the conditions that every match must meet: quoted phrases, excluded words, a pattern."""
    found: list[tuple[str, list[Any]]] = [(f"memglot_written(?, {_TEXTS})", [phrase]) for phrase in query.phrases]
    found += [(f"NOT memglot_written(?, {_TEXTS})", [phrase]) for phrase in query.without_phrases]
    found += [(f"NOT memglot_word(?, {_TEXTS})", [word]) for word in query.without]
    if query.grep is not None:
        found.append(grep_condition(query.grep))
    return found


def is_written(phrase: str, *texts: str | None) -> bool:
    """Return True if one of the texts contains a phrase as written, ignoring case and the kind of white space.

    In scripts with spaces between words, only complete words match.
    """
    pattern = _written(phrase)
    return any(text is not None and pattern.search(normalize("NFC", text)) is not None for text in texts)


def is_word(word: str, *texts: str | None) -> bool:
    """Return True if one of the texts contains a word, or several in a row, ignoring case and accents."""
    pattern = _written(fold(word))
    return any(text is not None and pattern.search(fold(text)) is not None for text in texts)


@lru_cache(16)
def _written(phrase: str) -> Pattern[str]:
    # Only `regex` knows the marks that belong to a letter, and set differences for scripts without spaces.
    import regex

    word = rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{UNSPACED}]]"
    text = normalize("NFC", phrase).strip()
    middle = r"\s+".join(regex.escape(part, literal_spaces=True) for part in text.split())
    first = rf"(?<!{word})" if regex.match(rf"(?V1){word}", text) else ""
    last = rf"(?!{word})" if regex.search(rf"(?V1){word}\Z", text) else ""
    return regex.compile(f"(?V1)(?i){first}{middle}{last}")


class Lookup:
    """Finds the words of a query in a text that was split as the index splits it."""

    def __init__(self, query: Query, cut: Callable[[str], list[str]]) -> None:
        self._terms = [(term.word, [self._form(form, cut) for form in term.forms]) for term in _asked(query)]

    @staticmethod
    def _form(form: str, cut: Callable[[str], list[str]]) -> tuple[list[str], bool]:
        return cut(form), form.endswith("*")

    def words_in(self, tokens: Sequence[str]) -> list[str]:
        """Return the words of the query that are among the tokens, as typed."""
        known = set(tokens)
        found = []
        for word, forms in self._terms:
            if any(_contains(wanted, beginning, tokens, known) for wanted, beginning in forms):
                found.append(word)
        return found


def _asked(query: Query) -> list[Term]:
    return [*query.terms, *(Term(word=phrase, forms=(" ".join(required_forms(phrase)),)) for phrase in query.phrases)]


def _contains(wanted: list[str], beginning: bool, tokens: Sequence[str], known: set[str]) -> bool:
    if not wanted:
        return False
    if beginning:
        return any(token.startswith(wanted[0]) for token in known)
    if not known.issuperset(wanted):
        return False
    if len(wanted) == 1:
        return True
    length = len(wanted)
    starts = (start for start, token in enumerate(tokens) if token == wanted[0])
    return any(list(tokens[start : start + length]) == wanted for start in starts)
