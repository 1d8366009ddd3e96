"""Find the words of a query in a text, and the passage of the text that shows most of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from memglot.display import visible
from memglot.text.words import PAIRED_SCRIPTS, WORD, fold

Span = tuple[int, int]
_LEAD = 5
"""The share of a passage, as a divisor, that is shown before its first match."""
_LONGEST_TEXT = 200_000
"""Number of characters in which words are looked for."""


def matches_in(text: str, words: Iterable[str]) -> list[Span]:
    """Return where words occur in a text, also with other endings, in order and without overlaps."""
    wanted = {stem for word in words for stem in _stems(word)}
    pairs = [folded for word in words if PAIRED_SCRIPTS.search(folded := fold(word))]
    if not wanted:
        return []
    found: list[Span] = []
    for match in WORD.finditer(text[:_LONGEST_TEXT]):
        if PAIRED_SCRIPTS.search(match[0]):
            found += _inside(match[0], match.start(), pairs)
        elif not wanted.isdisjoint(_stems(match[0])):
            found.append(match.span())
    return found


def _inside(run: str, offset: int, parts: list[str]) -> list[Span]:
    """Return where parts occur in a run of letters without spaces between words."""
    folded = fold(run)
    if len(folded) != len(run):
        return [(offset, offset + len(run))] if any(part in folded for part in parts) else []
    covered = sorted(
        {at + n for part in parts for at in _positions(folded, part) for n in range(len(part))},
    )
    spans: list[Span] = []
    for at in covered:
        if spans and spans[-1][1] == offset + at:
            spans[-1] = (spans[-1][0], offset + at + 1)
        else:
            spans.append((offset + at, offset + at + 1))
    return spans


def _positions(text: str, part: str) -> Iterable[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


@lru_cache(20_000)
def _stems(word: str) -> tuple[str, ...]:
    """Return the folded words in a word of a query or a text, and their stems."""
    from Stemmer import Stemmer

    plain = [fold(part) for part in WORD.findall(word)]
    return tuple(dict.fromkeys([*plain, *Stemmer("porter").stemWords(plain)]))


def passage(text: str, words: Iterable[str], length: int) -> tuple[str, list[Span]]:
    """Return the part of a text that shows most of the words, on one line, and where they are in it.

    The line has at most `length` characters; an ellipsis marks each end that was cut.
    """
    line = visible(" ".join(text.split()))
    spans = matches_in(line, list(words))
    start = _best_start(line, spans, length)
    end = min(len(line), start + length)
    cut = ("…" if start else "") + line[start:end][bool(start) : length - (end < len(line))]
    cut += "…" if end < len(line) else ""
    return cut, [(a - start, b - start) for a, b in spans if a > start - (not start) and b <= end - (end < len(line))]


def _best_start(line: str, spans: list[Span], length: int) -> int:
    """Return where the passage with the most different words begins."""
    if len(line) <= length or not spans:
        return 0
    best, start = 0, 0
    for first, (begin, _) in enumerate(spans):
        seen = {fold(line[a:b]) for a, b in spans[first:] if b <= begin + length * (_LEAD - 1) // _LEAD}
        if len(seen) > best:
            best, start = len(seen), begin
    start = max(0, start - length // _LEAD)
    if start:
        start = (
            line.find(" ", start, start + length // _LEAD) if " " in line[start : start + length // _LEAD] else start
        )
    return min(start, max(0, len(line) - length))
