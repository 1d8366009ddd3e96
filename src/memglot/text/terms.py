"""The words of a question, each with the forms in which the index may hold it."""

from __future__ import annotations

import re
from collections.abc import Collection
from unicodedata import normalize

import msgspec

from memglot.text.languages import languages_of, small_words_in
from memglot.text.words import CAMEL, PAIRED, SIGNS, WORD, folded, humps, one_width, pairs_of, stems_of

_ENDINGS = re.compile(r"(?<=\w)['’](?:s|t|m|d|re|ve|ll)\b", re.IGNORECASE)
_VERSION = re.compile(r"v?(\d+(?: \d+)+)")
_SHORTEST_PART = 2
_LONGEST_ROW = 24
_MOST_TERMS = 200
_WINDOW = {"thai": 4, "other": 2}
_THAI = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]")


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A word of a query, and the forms of it that an index may hold: words in a row; `*` ends a prefix."""

    word: str
    forms: tuple[str, ...]


def terms_of(text: str, languages: Collection[str] = ()) -> tuple[Term, ...]:
    """What a question asks for, without the words that say little, unless it has no others.

    `languages` are those that the index holds stems of.
    """
    pieces = [piece for word in one_width(text).split() if (piece := _ENDINGS.sub("", word)) and WORD.search(piece)]
    small = small_words_in([folded(piece).strip(".,;:!?()[]'\"") for piece in pieces])
    found: dict[str, Term] = {}
    for skipped in (small, frozenset[str]()):
        for piece in pieces:
            for term in _terms(piece, skipped, languages):
                found.setdefault(term.word, term)
        if found:
            break
    return tuple(found.values())[:_MOST_TERMS]


def _terms(piece: str, skipped: frozenset[str], languages: Collection[str]) -> list[Term]:
    words = WORD.findall(piece)
    if len(words) == 1:
        return _of_word(words[0], skipped, languages)
    row = " ".join(filter(None, map(folded, words[:_LONGEST_ROW])))
    version = _VERSION.fullmatch(row)
    forms = (row, f"v{version[1]}", version[1]) if version else (row,)
    whole = Term(word=piece.strip(".,;:!?()[]{}'\"`"), forms=tuple(dict.fromkeys(forms)))
    if any(PAIRED.fullmatch(folded(word)) for word in words):
        return [term for word in words for term in _of_word(word, skipped, languages)]
    parts = [word for word in words if len(word) >= _SHORTEST_PART]
    return [whole, *(term for word in parts for term in _of_word(word, skipped, languages))]


def _row(word: str) -> str:
    return " ".join(pairs_of(word)[:-1] or [word]) if PAIRED.fullmatch(word) else word


def _of_word(word: str, skipped: frozenset[str], languages: Collection[str]) -> list[Term]:
    plain = folded(word)
    if not plain or plain in skipped:
        return []
    if PAIRED.fullmatch(plain):
        return _of_run(plain)
    forms = [plain]
    if CAMEL.fullmatch(word):
        forms.append(folded(" ".join(humps(word))))
    lower = normalize("NFC", word).lower()
    forms += [form for language in languages_of(lower, languages) for form in stems_of(lower, language)]
    return [Term(word=word, forms=tuple(dict.fromkeys(forms)))]


def _of_run(run: str) -> list[Term]:
    """The pieces of a run of letters without spaces: what is too long to stand in a text as it is, is cut up."""
    if len(run) == 1:
        return [Term(word=run, forms=(f"{run}*",))]
    window = _WINDOW["thai" if _THAI.search(run) else "other"]
    starts = range(max(1, len(run) - window + 1))
    pieces = [run[start : start + window] for start in starts]
    if window < len(run) <= _LONGEST_ROW:
        pieces.insert(0, run)
    return [Term(word=piece, forms=(_row(piece),)) for piece in dict.fromkeys(pieces)]


def narrowing(phrase: str) -> list[str]:
    """Forms that every text has which holds a phrase as it is written; the index finds a few more with them."""
    found: list[str] = []
    row: list[str] = []
    for word in WORD.findall(one_width(phrase)):
        plain = folded(word)
        if PAIRED.fullmatch(plain):
            found.append(f"{plain}*" if len(plain) == 1 else _row(plain))
        elif plain:
            row.append(plain)
    if len(row) == len(WORD.findall(phrase)) and not SIGNS.search(phrase):
        # Nothing stands between the words that the index would count, so that they follow each other there too.
        return [" ".join(row)] if row else []
    return [*found, *row]
