"""The words of a query, each with the forms that the index may contain."""

from __future__ import annotations

import re
from collections.abc import Collection
from unicodedata import normalize

import msgspec

from memglot.text.languages import possible_languages, stop_words_in
from memglot.text.words import (
    CAMEL,
    PAIRED_SCRIPTS,
    SYMBOLS,
    WORD,
    fold,
    indexed_stems,
    letter_pairs,
    normalize_width,
    split_camel_case,
)

_ENDINGS = re.compile(r"(?<=\w)['’](?:s|t|m|d|re|ve|ll)\b", re.IGNORECASE)
_VERSION = re.compile(r"v?(\d+(?: \d+)+)")
_SHORTEST_PART = 2
_LONGEST_ROW = 24
_MOST_TERMS = 200
_WINDOW = {"thai": 4, "other": 2}
_THAI = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]")


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A word of a query, and its forms in the index: consecutive words; `*` ends a prefix."""

    word: str
    forms: tuple[str, ...]


def terms_of(text: str, languages: Collection[str] = ()) -> tuple[Term, ...]:
    """Return the terms of a query, without stop words unless it has no others.

    `languages` are those whose stems the index contains.
    """
    pieces = [
        piece for word in normalize_width(text).split() if (piece := _ENDINGS.sub("", word)) and WORD.search(piece)
    ]
    small = stop_words_in([fold(piece).strip(".,;:!?()[]'\"") for piece in pieces])
    found: dict[str, Term] = {}
    for skipped in (small, frozenset[str]()):
        for piece in pieces:
            for term in _piece_terms(piece, skipped, languages):
                found.setdefault(term.word, term)
        if found:
            break
    return tuple(found.values())[:_MOST_TERMS]


def _piece_terms(piece: str, skipped: frozenset[str], languages: Collection[str]) -> list[Term]:
    words = WORD.findall(piece)
    if len(words) == 1:
        return _word_terms(words[0], skipped, languages)
    row = " ".join(filter(None, map(fold, words[:_LONGEST_ROW])))
    version = _VERSION.fullmatch(row)
    forms = (row, f"v{version[1]}", version[1]) if version else (row,)
    whole = Term(word=piece.strip(".,;:!?()[]{}'\"`"), forms=tuple(dict.fromkeys(forms)))
    if any(PAIRED_SCRIPTS.fullmatch(fold(word)) for word in words):
        return [term for word in words for term in _word_terms(word, skipped, languages)]
    parts = [word for word in words if len(word) >= _SHORTEST_PART]
    return [whole, *(term for word in parts for term in _word_terms(word, skipped, languages))]


def _indexed_row(word: str) -> str:
    return " ".join(letter_pairs(word)[:-1] or [word]) if PAIRED_SCRIPTS.fullmatch(word) else word


def _word_terms(word: str, skipped: frozenset[str], languages: Collection[str]) -> list[Term]:
    plain = fold(word)
    if not plain or plain in skipped:
        return []
    if PAIRED_SCRIPTS.fullmatch(plain):
        return _run_terms(plain)
    forms = [plain]
    if CAMEL.fullmatch(word):
        forms.append(fold(" ".join(split_camel_case(word))))
    lower = normalize("NFC", word).lower()
    forms += [form for language in possible_languages(lower, languages) for form in indexed_stems(lower, language)]
    return [Term(word=word, forms=tuple(dict.fromkeys(forms)))]


def _run_terms(run: str) -> list[Term]:
    """Return the terms of a run of letters without spaces, split where it is long."""
    if len(run) == 1:
        return [Term(word=run, forms=(f"{run}*",))]
    window = _WINDOW["thai" if _THAI.search(run) else "other"]
    starts = range(max(1, len(run) - window + 1))
    pieces = [run[start : start + window] for start in starts]
    if window < len(run) <= _LONGEST_ROW:
        pieces.insert(0, run)
    return [Term(word=piece, forms=(_indexed_row(piece),)) for piece in dict.fromkeys(pieces)]


def required_forms(phrase: str) -> list[str]:
    """Return the forms that every text with a phrase contains; other texts may contain them too."""
    found: list[str] = []
    row: list[str] = []
    for word in WORD.findall(normalize_width(phrase)):
        plain = fold(word)
        if PAIRED_SCRIPTS.fullmatch(plain):
            found.append(f"{plain}*" if len(plain) == 1 else _indexed_row(plain))
        elif plain:
            row.append(plain)
    if len(row) == len(WORD.findall(phrase)) and not SYMBOLS.search(phrase):
        # The index has nothing between these words, so they are consecutive there too.
        return [" ".join(row)] if row else []
    return [*found, *row]
