"""Rank memories by keywords, semantic similarity and neighbours.

The weights come from a study of which turns of a conversation answer a question; semantic weights are a little higher,
since the table here is better than the one in the study. The length of a turn, its question marks and its speaker count
only in conversations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import log

import msgspec

from memglot.store.query import Signals, ThreadPosition
from memglot.text.dialogue import ASKS, ENDS_ASKING, MENTIONS_TIME

# Shares of the keyword score (first) and similarity (second) that a turn gets from turns before (-) and after it.
_KERNEL = {0: (1.0, 0.28), -1: (0.60, 0.09), 1: (0.20, 0.07), -2: (0.35, 0.12), 2: (0.20, 0.04)}
_NEIGHBOURS = [(offset, weights) for offset, weights in _KERNEL.items() if offset]
_SECTION = (1.10, 0.09)
"""Shares that every memory of a section gets from its best one."""
_ALONE = (_KERNEL[0][0] + _SECTION[0], 0.6)
"""Shares of a memory outside any thread: it is its own section, and its similarity counts more than that of a turn."""
_ARRIVAL = {-1: 0.05, 1: 0.05}
_RELATED = 0.15
_SPEAKER = 0.45
_LENGTH, _USUAL = 0.40, log(1 + 20)
_ENDS_ASKING, _ASKS, _TELLS_TIME = -0.30, -0.15, 0.75
_STATUSES = {"stale": -0.4, "superseded": -0.6, "closed": -0.1}
_RECENT, _HALF_LIFE = 0.08, 30 * 86_400 * 1_000_000
_STRENGTH, _ACCESS = 0.15, 0.02
REACH = 2
"""Maximum distance of a neighbour that adds to the score of a memory."""
_SECTION_BITS = 20


class QueryTraits(msgspec.Struct, frozen=True):
    """Traits of a query that matter in conversations: the speaker it names, and whether it asks for a time."""

    speaker: str = ""
    asks_when: bool = False


class Evidence(msgspec.Struct):
    """Everything known about the candidates of a search."""

    keywords: dict[int, float]
    """Keyword score as a share of the best."""
    semantic: Mapping[int, float]
    """Standard deviations above the average similarity."""
    nearest: Collection[int] = ()
    """Memories similar enough to add to the score of their neighbours."""
    places: Sequence[ThreadPosition] = ()
    arrivals: Sequence[tuple[int, int, int]] = ()
    related: Sequence[tuple[int, int]] = ()


class ScoredMemory(msgspec.Struct):
    """A candidate and its score; `next_to_match` is True if a neighbour in its thread has a word of the query."""

    number: int
    score: float
    next_to_match: bool = False


def rank(evidence: Evidence, question: QueryTraits, *, semantic_only: bool = False) -> list[ScoredMemory]:
    """Return the candidates, best first, newest first among equals; with `semantic_only` turns count like notes."""
    alone = _KERNEL[0][1] + _SECTION[1] if semantic_only else _ALONE[1]
    found = _in_threads(evidence, question)
    for number in (evidence.keywords.keys() | evidence.semantic.keys()) - found.keys():
        words, meaning = evidence.keywords.get(number, 0.0), evidence.semantic.get(number, 0.0)
        found[number] = ScoredMemory(number, _ALONE[0] * words + alone * meaning)
    for source, target, weight in _links(evidence):
        share = weight * evidence.keywords.get(source, 0.0)
        if share and target in found:
            found[target].score += share
    return sorted(found.values(), key=lambda scored: (-scored.score, -scored.number))


def _in_threads(evidence: Evidence, question: QueryTraits) -> dict[int, ScoredMemory]:
    """Score the memories in conversations and notes, with the shares of their neighbours."""
    meaning = evidence.semantic
    found = {
        place.number: ScoredMemory(
            place.number, _turn_score(place, question) + _KERNEL[0][1] * meaning.get(place.number, 0.0)
        )
        for place in evidence.places
    }
    at = {(place.thread, place.position): place.number for place in evidence.places}
    best: dict[tuple[int, int], list[float]] = {}
    # Most places are only neighbours; what they would add in turn is negligible.
    for place in evidence.places:
        number, thread, position = place.number, place.thread, place.position
        words = evidence.keywords.get(number, 0.0)
        high = meaning.get(number, 0.0) if number in evidence.nearest else 0.0
        if not words and not high:
            continue
        most = best.setdefault((thread, position >> _SECTION_BITS), [0.0, 0.0])
        most[0], most[1] = max(most[0], words), max(most[1], high)
        found[number].score += _KERNEL[0][0] * words
        for offset, (by_words, by_meaning) in _NEIGHBOURS:
            if (other := at.get((thread, position - offset))) is not None:
                scored = found[other]
                scored.score += by_words * words + by_meaning * high
                scored.next_to_match = scored.next_to_match or words > 0
    for place in evidence.places:
        if (lent := best.get((place.thread, place.position >> _SECTION_BITS))) is not None:
            found[place.number].score += _SECTION[0] * lent[0] + _SECTION[1] * lent[1]
    return found


def _turn_score(place: ThreadPosition, question: QueryTraits) -> float:
    """Return the score of a turn by its speaker, length and question marks; 0 outside conversations."""
    if not place.speaker:
        return 0.0
    score = _LENGTH * (log(1 + place.words) - _USUAL)
    score += _SPEAKER if place.speaker == question.speaker else 0.0
    score += _ENDS_ASKING if place.traits & ENDS_ASKING else 0.0
    score += _ASKS if place.traits & ASKS else 0.0
    return score + (_TELLS_TIME if question.asks_when and place.traits & MENTIONS_TIME else 0.0)


def _links(evidence: Evidence) -> Iterator[tuple[int, int, float]]:
    """Yield links outside threads (stored next to each other, related) as source, target and weight."""
    for number, other, distance in evidence.arrivals:
        yield number, other, _ARRIVAL.get(distance, 0.0)
    for number, other in evidence.related:
        yield number, other, _RELATED


def apply_signals(ranked: list[ScoredMemory], signals: Mapping[int, Signals]) -> list[ScoredMemory]:
    """Adjust the scores by status, age, strength and access count, and sort again."""
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
