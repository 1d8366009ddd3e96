"""Rank the nodes that answer a question: by words (bm25), fields that contain them, kind, status and age."""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from os.path import commonprefix

from msgspec import Struct

from memglot.project.snapshot import Snapshot
from memglot.project.storage.node import Node
from memglot.project.storage.paths import FOLDER
from memglot.project.tokenize import unique_words

_EXACT_ID = 100.0
_EXACT_BODY_PATH = 80.0
_WORDS = 60.0
_TAGS, _TITLE, _ANCHORS = 40.0, 30.0, 25.0
_KINDS = {"decision": 18.0, "gotcha": 14.0, "feature": 12.0, "question": 10.0, "project": 8.0}
_STATUSES = {"active": 20.0, "open": 12.0, "closed": 0.0, "stale": -30.0, "superseded": -35.0}
_NEWEST, _NEW = 5, 5.0
_BEST = 20
_FLOOR = 0.2
"""Minimum relevance of an answer, relative to the best one. Kind and status only order the answers, so that a stale
node is found by words that no other node has."""
_KIND_ORDER = list(_KINDS)
# Words that are in every text; a question with only such words is searched as it is.
_COMMON = frozenset(
    "a about an and are as at be but by can could did do does for from had has have how i if in is it its me my no not"
    " of on or our should so that the their there they this to us was we were what when where which who why will with"
    " would you your".split()
)


class RankedNode(Struct):
    """A node that answers a question, with its relevance and score."""

    node: Node
    relevance: float
    score: float = 0.0


def rank(snapshot: Snapshot, question: str) -> list[RankedNode]:
    """Return the nodes that answer a question, best first."""
    found = _by_words(snapshot, question)
    for word in (question.strip(), *question.split()):
        bare = word.strip("`'\",.;:!?()")
        _boost_exact_match(found, snapshot.node(bare), _EXACT_ID)
        _boost_exact_match(found, snapshot.node_by_body(bare.removeprefix(FOLDER + "/")), _EXACT_BODY_PATH)
    if not found:
        return []
    newest = sorted((item.node for item in found.values() if _is_current(item.node)), key=_updated_at, reverse=True)[
        :_NEWEST
    ]
    fresh = {node.id for node in newest}
    for item in found.values():
        own = _KINDS[item.node.kind] + _STATUSES[item.node.status]
        item.score = item.relevance + own + (_NEW if item.node.id in fresh else 0)
    floor = _FLOOR * max(item.relevance for item in found.values())
    kept = [item for item in found.values() if item.relevance >= floor]
    kept.sort(key=lambda item: item.node.id)
    kept.sort(key=lambda item: _updated_at(item.node), reverse=True)
    kept.sort(key=lambda item: (-item.score, _KIND_ORDER.index(item.node.kind)))
    return kept[:_BEST]


def _by_words(snapshot: Snapshot, question: str) -> dict[str, RankedNode]:
    asked = unique_words(question)
    terms = [term for term in asked if term not in _COMMON] or asked
    having, all = snapshot.index.counts(terms)
    # A word that no text contains may be there in a form that stemming does not know.
    hits = snapshot.index.find(terms, beginnings=[_beginning(term) for term in terms if not having[term]])
    if not hits:
        return {}
    weights = {term: log(1 + (all - count + 0.5) / (count + 0.5)) for term, count in having.items()}
    best = min(score for _, score in hits)
    found: dict[str, RankedNode] = {}
    for seq, score in hits:
        node = snapshot.node_at(seq)
        relevance = _WORDS * (score / best) + _by_fields(node, weights)
        found.setdefault(node.id, RankedNode(node, relevance))
    return found


def _by_fields(node: Node, weights: dict[str, float]) -> float:
    total = sum(weights.values())
    score = 0.0
    for boost, texts in ((_TAGS, node.tags), (_TITLE, (node.title,)), (_ANCHORS, node.anchors)):
        words = {word for text in texts for word in unique_words(text.replace("_", " "))}
        score += boost * sum(weight for term, weight in weights.items() if _has_form(term, words)) / total
    return score


def _has_form(term: str, words: Iterable[str]) -> bool:
    """Return True if one of the words is this one or another form of it, with a different ending."""
    for word in words:
        shorter = min(len(word), len(term))
        if word == term or (shorter > 3 and len(commonprefix((word, term))) >= max(4, shorter - 1)):
            return True
    return False


def _beginning(term: str) -> str:
    """Return the beginning that the other forms of a word share; empty for short words."""
    return term[: max(5, len(term) - 4)] if len(term) > 5 and term.isascii() else ""


def _boost_exact_match(found: dict[str, RankedNode], node: Node | None, boost: float) -> None:
    if node is not None:
        item = found.setdefault(node.id, RankedNode(node, 0.0))
        item.relevance = max(item.relevance, 0.0) + boost


def _is_current(node: Node) -> bool:
    return node.status not in ("stale", "superseded")


def _updated_at(node: Node) -> str:
    return node.updated_at
