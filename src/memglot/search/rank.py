"""Ranking: how words, meaning and neighbours make the score of a memory.

Weights are those of a study of which turns of a conversation answer a question, meaning a little above it, since the
table here tells more than the one that was studied. What suits conversations alone, the
length of a turn, its question marks, who speaks, counts only where somebody speaks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import log

import msgspec

from memglot.store.query import Place, Signals
from memglot.text.dialogue import ASKS, ENDS_ASKING, MENTIONS_TIME

# What a turn gets of the words (first) and of the meaning (second) of those before (-) and after it.
_KERNEL = {0: (1.0, 0.28), -1: (0.60, 0.09), 1: (0.20, 0.07), -2: (0.35, 0.12), 2: (0.20, 0.04)}
_NEIGHBOURS = [(offset, weights) for offset, weights in _KERNEL.items() if offset]
_STRETCH = (1.10, 0.09)
"""What every memory of a stretch gets of its best one."""
_ALONE = (_KERNEL[0][0] + _STRETCH[0], 0.6)
"""A memory of no thread is its own stretch, and has more of its meaning to itself than a turn."""
_ARRIVAL = {-1: 0.05, 1: 0.05}
_RELATED = 0.15
_SPEAKER = 0.45
_LENGTH, _USUAL = 0.40, log(1 + 20)
_ENDS_ASKING, _ASKS, _TELLS_TIME = -0.30, -0.15, 0.75
_STATUSES = {"stale": -0.4, "superseded": -0.6, "closed": -0.1}
_RECENT, _HALF_LIFE = 0.08, 30 * 86_400 * 1_000_000
_STRENGTH, _ACCESS = 0.15, 0.02
REACH = 2
"""How far a neighbour may be to lend a memory some of its score."""
_BITS = 20


class QueryTraits(msgspec.Struct, frozen=True):
    """What of a question bears on conversations: who is named in it, and whether it asks for a time."""

    speaker: str = ""
    asks_when: bool = False


class Evidence(msgspec.Struct):
    """All that speaks for the candidates of a search."""

    words: dict[int, float]
    """How well the words fit, as a share of the best."""
    meaning: Mapping[int, float]
    """How far each lies above the average nearness, in standard deviations."""
    nearest: Collection[int] = ()
    """Those that are near enough to lend of their meaning."""
    places: Sequence[Place] = ()
    arrivals: Sequence[tuple[int, int, int]] = ()
    related: Sequence[tuple[int, int]] = ()


class ScoredMemory(msgspec.Struct):
    """A candidate and its score; `near` tells that the words of a neighbour in its thread lent it some."""

    number: int
    score: float
    near: bool = False


def rank(evidence: Evidence, question: QueryTraits, *, by_meaning: bool = False) -> list[ScoredMemory]:
    """The candidates, best first; of equals the newest. `by_meaning` alone turns and notes weigh the same."""
    alone = _KERNEL[0][1] + _STRETCH[1] if by_meaning else _ALONE[1]
    found = _in_threads(evidence, question)
    for number in (evidence.words.keys() | evidence.meaning.keys()) - found.keys():
        words, meaning = evidence.words.get(number, 0.0), evidence.meaning.get(number, 0.0)
        found[number] = ScoredMemory(number, _ALONE[0] * words + alone * meaning)
    for lender, borrower, weight in _ties(evidence):
        share = weight * evidence.words.get(lender, 0.0)
        if share and borrower in found:
            found[borrower].score += share
    return sorted(found.values(), key=lambda scored: (-scored.score, -scored.number))


def _in_threads(evidence: Evidence, question: QueryTraits) -> dict[int, ScoredMemory]:
    """Those that stand in a conversation or a note, with what their neighbours lend them."""
    meaning = evidence.meaning
    found = {
        place.number: ScoredMemory(
            place.number, _said(place, question) + _KERNEL[0][1] * meaning.get(place.number, 0.0)
        )
        for place in evidence.places
    }
    at = {(place.thread, place.position): place.number for place in evidence.places}
    best: dict[tuple[int, int], list[float]] = {}
    # Most places are only neighbours: what they could lend in turn is too little to be asked for.
    for place in evidence.places:
        number, thread, position = place.number, place.thread, place.position
        words = evidence.words.get(number, 0.0)
        high = meaning.get(number, 0.0) if number in evidence.nearest else 0.0
        if not words and not high:
            continue
        most = best.setdefault((thread, position >> _BITS), [0.0, 0.0])
        most[0], most[1] = max(most[0], words), max(most[1], high)
        found[number].score += _KERNEL[0][0] * words
        for offset, (by_words, by_meaning) in _NEIGHBOURS:
            if (other := at.get((thread, position - offset))) is not None:
                scored = found[other]
                scored.score += by_words * words + by_meaning * high
                scored.near = scored.near or words > 0
    for place in evidence.places:
        if (lent := best.get((place.thread, place.position >> _BITS))) is not None:
            found[place.number].score += _STRETCH[0] * lent[0] + _STRETCH[1] * lent[1]
    return found


def _said(place: Place, question: QueryTraits) -> float:
    """What speaks for a turn because of how it is said; nothing where nobody speaks."""
    if not place.speaker:
        return 0.0
    score = _LENGTH * (log(1 + place.words) - _USUAL)
    score += _SPEAKER if place.speaker == question.speaker else 0.0
    score += _ENDS_ASKING if place.traits & ENDS_ASKING else 0.0
    score += _ASKS if place.traits & ASKS else 0.0
    return score + (_TELLS_TIME if question.asks_when and place.traits & MENTIONS_TIME else 0.0)


def _ties(evidence: Evidence) -> Iterator[tuple[int, int, float]]:
    """Who lends to whom beside threads: what came next to each other, what is related; and how much."""
    for number, other, distance in evidence.arrivals:
        yield number, other, _ARRIVAL.get(distance, 0.0)
    for number, other in evidence.related:
        yield number, other, _RELATED


def apply_signals(ranked: list[ScoredMemory], signals: Mapping[int, Signals]) -> list[ScoredMemory]:
    """The same candidates, with what they say of themselves: whether they still hold, how new and how strong."""
    newest = max((signal.created_at for signal in signals.values()), default=0)
    for scored in ranked:
        signal = signals.get(scored.number)
        if signal is None:
            continue
        scored.score += _STATUSES.get(signal.status, 0.0)
        scored.score += _RECENT * 2 ** (-(newest - signal.created_at) / _HALF_LIFE)
        scored.score += _STRENGTH * (min(max(signal.strength, 0.0), 1.0) - 0.5) if signal.strength is not None else 0.0
        scored.score += _ACCESS * min(log(1 + max(signal.access_count, 0)), 5.0)
    return sorted(ranked, key=lambda scored: (-scored.score, -scored.number))
