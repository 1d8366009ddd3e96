"""Ranking: how words, meaning and neighbours make the score of a memory.

Weights are those of a study of which turns of a conversation answer a question. What suits conversations alone, the
length of a turn, its question marks, who speaks, counts only where somebody speaks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log

import msgspec

from memglot.store.asking import Place, Signals
from memglot.store.dialogue import ASKS, ENDS_ASKING, TELLS_TIME

# What a turn gets of the words (first) and of the meaning (second) of those before (-) and after it.
_KERNEL = {0: (1.0, 0.18), -1: (0.60, 0.055), 1: (0.20, 0.045), -2: (0.35, 0.08), 2: (0.20, 0.025)}
_STRETCH = (1.10, 0.06)
"""What every memory of a stretch gets of its best one."""
_ALONE = (_KERNEL[0][0] + _STRETCH[0], 0.8)
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


class Question(msgspec.Struct, frozen=True):
    """What of a question bears on conversations: who is named in it, and whether it asks for a time."""

    speaker: str = ""
    asks_when: bool = False


class Evidence(msgspec.Struct):
    """All that speaks for the candidates of a search."""

    words: dict[int, float]
    """How well the words fit, as a share of the best."""
    meaning: Mapping[int, float]
    """How far each lies above the average nearness, in standard deviations."""
    places: Sequence[Place] = ()
    arrivals: Sequence[tuple[int, int, int]] = ()
    related: Sequence[tuple[int, int]] = ()


class Scored(msgspec.Struct):
    """A candidate and its score; `near` are the numbers of neighbours whose words lent it some."""

    number: int
    score: float
    near: list[int]


def rank(evidence: Evidence, question: Question) -> list[Scored]:
    """The candidates, best first; of equals the newest."""
    by_thread: dict[int, dict[int, Place]] = defaultdict(dict)
    for place in evidence.places:
        by_thread[place.thread][place.position] = place
    found = {scored.number: scored for thread in by_thread.values() for scored in _thread(thread, evidence, question)}
    lent = _lent(evidence)
    alone = (set(evidence.words) | set(evidence.meaning) | set(lent)) - set(found)
    for number in alone:
        words, meaning = evidence.words.get(number, 0.0), evidence.meaning.get(number, 0.0)
        own = _ALONE[0] * words + _ALONE[1] * meaning
        found[number] = Scored(number, own, [])
    for number, (score, lenders) in lent.items():
        found[number].score += score
        found[number].near += lenders
    return sorted(found.values(), key=lambda scored: (-scored.score, -scored.number))


def _thread(thread: dict[int, Place], evidence: Evidence, question: Question) -> list[Scored]:
    words = {position: evidence.words.get(place.number, 0.0) for position, place in thread.items()}
    meaning = {position: evidence.meaning.get(place.number, 0.0) for position, place in thread.items()}
    best: dict[int, tuple[float, float]] = {}
    for position in thread:
        stretch = position >> _BITS
        had = best.get(stretch, (0.0, -9.0))
        best[stretch] = max(had[0], words[position]), max(had[1], meaning[position])
    found = []
    for position, place in thread.items():
        most = best[position >> _BITS]
        score = _STRETCH[0] * most[0] + _STRETCH[1] * most[1] + _said(place, question)
        near = []
        for offset, (by_words, by_meaning) in _KERNEL.items():
            other = position + offset
            if other in thread:
                score += by_words * words[other] + by_meaning * meaning[other]
                if offset and words[other]:
                    near.append(thread[other].number)
        found.append(Scored(place.number, score, near))
    return found


def _said(place: Place, question: Question) -> float:
    """What speaks for a turn because of how it is said; nothing where nobody speaks."""
    if not place.speaker:
        return 0.0
    score = _LENGTH * (log(1 + place.words) - _USUAL)
    score += _SPEAKER if place.speaker == question.speaker else 0.0
    score += _ENDS_ASKING if place.traits & ENDS_ASKING else 0.0
    score += _ASKS if place.traits & ASKS else 0.0
    return score + (_TELLS_TIME if question.asks_when and place.traits & TELLS_TIME else 0.0)


def _lent(evidence: Evidence) -> dict[int, tuple[float, list[int]]]:
    """What memories of no thread get from those that came next to them, and all from those related to them."""
    found: dict[int, tuple[float, list[int]]] = {}
    ties = [(number, other, _ARRIVAL.get(distance, 0.0)) for number, other, distance in evidence.arrivals]
    ties += [(number, other, _RELATED) for number, other in evidence.related]
    for lender, borrower, weight in ties:
        share = weight * evidence.words.get(lender, 0.0)
        if share:
            score, lenders = found.get(borrower, (0.0, []))
            found[borrower] = score + share, [*lenders, lender]
    return found


def by_signals(ranked: list[Scored], signals: Mapping[int, Signals]) -> list[Scored]:
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
