"""Run a search: find candidates by keyword and semantic search, and rank them with their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import msgspec

from memglot.errors import FailedEmbedder, NotYet
from memglot.model import Record
from memglot.search.parse import ParsedQuery, prose_share, without_common
from memglot.search.rank import REACH, Evidence, QueryTraits, ScoredMemory, apply_signals, rank
from memglot.search.results import Hit, Results
from memglot.search.semantic import SemanticIndex, note_missing_vectors, note_stale_vectors
from memglot.search.vectors import LoadedSimilarity, StreamedSimilarity
from memglot.store.contract import Store
from memglot.store.query import Filter, Query
from memglot.text.languages import STOP_WORDS
from memglot.text.words import fold

CANDIDATES = 60
"""Number of best results of each kind of search that are ranked together; further keyword matches follow."""
_WITH_SIGNALS = 50
_WITH_NEIGHBOURS = 20
"""Number of best results of each kind whose neighbours become candidates too."""
_MIN_COSINE, _MIN_COSINE_PER_WORD = 0.18, 0.15
"""Minimum cosine of a memory that contains no word of the query: the first number plus the second divided by the
number of words, so that short queries need closer matches."""
_COMMON, _COMMON_IN_LARGE, _LARGE, _FEW = 0.5, 0.1, 10_000, 20
"""A word is common if it is in more than half of the memories (a tenth in a large store), and in more than a few: it
says little, and reading all memories that contain it takes long."""


def run_search(store: Store, semantic: SemanticIndex, parsed: ParsedQuery, mode: str) -> SearchRun:
    """Find and rank the candidates of a query; `SearchRun.page` returns them page by page."""
    run = SearchRun(store, semantic, parsed, mode)
    run.run()
    return run


class SearchRun:
    """One search: its candidates, ranked, and the matches beyond them."""

    def __init__(self, store: Store, semantic: SemanticIndex, parsed: ParsedQuery, mode: str) -> None:
        self._store, self._mode = store, mode
        self._semantic = semantic
        self._filter, self._query, self._text = parsed.filter, parsed.query, parsed.text
        self._full_query = parsed.query
        self._notes: list[str] = []
        self._frequencies: dict[str, int] = {}
        self._memories = 0
        self._keyword_scores: dict[int, float] = {}
        self._keyword_ranks: dict[int, int] = {}
        self._similarity: LoadedSimilarity | StreamedSimilarity | None = None
        self._cosines: dict[int, tuple[float, float]] = {}
        self._semantic_ranks: dict[int, int] = {}
        self._min_cosine = _MIN_COSINE + _MIN_COSINE_PER_WORD / max(1, len(self._text.split()))
        self._head: list[ScoredMemory] = []

    def run(self) -> None:
        """Find the candidates and rank them."""
        self._drop_common_words()
        if self._mode != "fulltext":
            self._compare_vectors()
        if self._mode != "semantic":
            self._find_keywords()
        self._rank_semantic()
        self._head = self._ranked()

    def _drop_common_words(self) -> None:
        terms = self._query.terms
        counts, self._memories = self._store.search.frequencies([term.forms[0] for term in terms])
        self._frequencies = {fold(term.word): count for term, count in zip(terms, counts, strict=True)}
        many = max(self._memories * (_COMMON if self._memories < _LARGE else _COMMON_IN_LARGE), _FEW)
        common = frozenset(term.word for term, count in zip(terms, counts, strict=True) if count > many)
        self._query = without_common(self._query, common)

    def _weigh(self, words: Sequence[str]) -> list[float]:
        """Return how specific each word is in this store, from 0.01 to 1."""
        unknown = [word for word in words if fold(word) not in self._frequencies and word not in STOP_WORDS["english"]]
        counts, _ = self._store.search.frequencies([fold(word) for word in unknown])
        self._frequencies |= {fold(word): count for word, count in zip(unknown, counts, strict=True)}
        most = log(self._memories + 2)
        counts = [self._frequencies.get(fold(word), self._memories) for word in words]
        return [min(1.0, max(0.01, log((self._memories + 2) / (count + 0.5)) / most)) for count in counts]

    def _find_keywords(self) -> None:
        matches = self._store.search.match(self._query, self._filter, CANDIDATES)
        if not matches and self._query != self._full_query:
            # No memory that the filter selects has the rarer words, so search for the common ones too.
            self._query = self._full_query
            matches = self._store.search.match(self._query, self._filter, CANDIDATES)
        best = max((match.score for match in matches), default=0.0)
        for place, match in enumerate(matches):
            self._keyword_scores[match.number] = match.score / best if best > 0 else 1.0
            self._keyword_ranks[match.number] = place + 1

    def _missing(self, missing: int) -> int:
        """Return how many of the visible memories have no vector yet."""
        if missing <= 0 or not (self._store.hidden or self._filter.without_scopes):
            return missing
        visible = Filter(without_scopes=self._filter.without_scopes)
        return self._store.records.count(visible) - self._store.vectors.count(Query(), visible)

    def _compare_vectors(self) -> None:
        semantic = self._semantic
        state = semantic.state()
        if self._mode == "semantic" and (not state.count or semantic.is_stale()):
            raise NotYet("no vectors for semantic search yet", "run `memglot embed` to build them, offline")
        if semantic.is_stale():
            self._notes.append(note_stale_vectors(state.model))
        elif (missing := self._missing(state.missing)) > 0:
            self._notes.append(note_missing_vectors(missing))
        try:
            self._similarity = semantic.similarity(self._text, self._weigh)
        except FailedEmbedder as error:
            if self._mode == "semantic":
                raise
            self._notes.append(f"used keyword search only: {error}")
        if self._similarity is None and self._mode == "semantic":
            self._notes.append("the model knows none of these words; use `--mode fulltext` for keyword search")

    def _rank_semantic(self) -> None:
        if self._similarity is not None and (
            self._mode == "semantic" or isinstance(self._similarity, LoadedSimilarity)
        ):
            for place, number in enumerate(self._nearest(self._similarity)):
                self._semantic_ranks[number] = place + 1

    def _nearest(self, similarity: LoadedSimilarity | StreamedSimilarity) -> list[int]:
        """Return the nearest memories that the filter selects."""
        found: list[int] = []
        start = 0
        for end in (2 * CANDIDATES, 10 * CANDIDATES):
            more = similarity.best(end - start, start)
            allowed = self._store.search.allowed(self._query, self._filter, more)
            found += [number for number in more if number in allowed]
            if len(found) >= CANDIDATES or len(more) < end - start:
                return found[:CANDIDATES]
            start = end
        if self._query.grep is not None and self._mode != "semantic":
            # Trying a pattern on every memory costs more than a few less similar ones are worth.
            return found
        return similarity.best_of(self._selected(), CANDIDATES)

    def _selected(self) -> list[int]:
        """Return the memories that the filter, and everything in the query but its terms, select."""
        required = msgspec.structs.replace(self._query, terms=())
        if required.phrases:
            return [match.number for match in self._store.search.match(required, self._filter, -1)]
        return self._store.search.select(required, self._filter, -1)

    def _ranked(self) -> list[ScoredMemory]:
        """Return the candidates and their neighbours, best first."""
        store = self._store
        first = list(dict.fromkeys([*self._keyword_scores, *self._semantic_ranks]))
        strongest = {*list(self._keyword_scores)[:_WITH_NEIGHBOURS], *list(self._semantic_ranks)[:_WITH_NEIGHBOURS]}
        places = store.search.places(list(strongest), REACH)
        placed = {place.number for place in places}
        places += store.search.places([number for number in first if number not in placed], 0)
        related = store.search.related(list(self._keyword_scores)[:_WITH_NEIGHBOURS])
        placed = {place.number for place in places}
        lending = list(self._keyword_scores)[:_WITH_NEIGHBOURS]
        arrivals = store.search.stored_next_to([number for number in lending if number not in placed], 1)
        everyone = list(dict.fromkeys([*first, *placed]))
        if self._similarity is not None:
            self._cosines = self._similarity.of(everyone)
        trust = prose_share(self._text) if self._mode == "hybrid" else 1.0
        meaning = {number: trust * above for number, (_, above) in self._cosines.items()}
        # A memory without a vector gets a similarity by its keyword score; otherwise it would rank behind all others.
        nearest = max(meaning.values(), default=0.0)
        meaning |= {number: share * nearest for number, share in self._keyword_scores.items() if number not in meaning}
        evidence = Evidence(
            keywords=self._keyword_scores,
            semantic=meaning,
            nearest=self._semantic_ranks,
            places=places,
            arrivals=[tie for tie in arrivals if tie[1] in self._keyword_scores],
            related=[tie for tie in related if tie[1] in self._keyword_scores or tie[1] in self._semantic_ranks],
        )
        ranked = rank(evidence, self._query_traits(), semantic_only=self._mode == "semantic")
        allowed = store.search.allowed(self._query, self._filter, [scored.number for scored in ranked])
        ranked = [scored for scored in ranked if scored.number in allowed and self._is_found(scored)]
        head, rest = ranked[:_WITH_SIGNALS], ranked[_WITH_SIGNALS:]
        return [*apply_signals(head, store.search.signals([scored.number for scored in head])), *rest]

    def _is_found(self, scored: ScoredMemory) -> bool:
        """Return True if a candidate is a hit: it has a word, is next to a match, or is similar enough."""
        number = scored.number
        if self._mode == "semantic":
            return number in self._cosines
        if number in self._keyword_scores or scored.next_to_match:
            return True
        return number in self._cosines and self._cosines[number][0] >= self._min_cosine

    def _query_traits(self) -> QueryTraits:
        words = [fold(word).strip(".,;:!?'\"()") for word in self._text.replace("'s", "").replace("’s", "").split()]
        names = [*words, *(f"{first} {second}" for first, second in zip(words, words[1:], strict=False))]
        named = self._store.search.speakers(list(dict.fromkeys(names))) if names else set()
        asks_when = words[:1] == ["when"] or words[:2] == ["how", "long"]
        return QueryTraits(named.pop() if len(named) == 1 else "", asks_when)

    def page(self, limit: int, offset: int) -> Results:
        """Return one page of the results, with the total number."""
        end = None if limit < 0 else offset + limit
        wanted = self._head[offset:end]
        if end is None or end > len(self._head):
            wanted += self._tail(max(0, offset - len(self._head)), None if end is None else end - len(self._head))
        total = self._total()
        return Results(self._hits(wanted), total, self._notes)

    def _tail(self, start: int, end: int | None) -> list[ScoredMemory]:
        """Return what follows the candidates: further keyword matches, or less similar memories in semantic mode."""
        known = {scored.number for scored in self._head}
        if self._mode == "semantic":
            numbers = self._similarity.best_of(self._selected(), self._memories) if self._similarity is not None else []
            return [ScoredMemory(number, -1.0) for number in numbers if number not in known][start:end]
        needed = -1 if end is None else end + len(known)
        if len(self._keyword_scores) < CANDIDATES:
            return []
        matches = self._store.search.match(self._query, self._filter, needed)
        lowest = min((scored.score for scored in self._head), default=0.0)
        rest = [
            ScoredMemory(match.number, lowest - 1 + match.score / (matches[0].score or 1.0))
            for match in matches
            if match.number not in known
        ]
        return rest[start:end]

    def _total(self) -> int:
        if self._mode == "semantic":
            return self._store.vectors.count(self._query, self._filter) if self._similarity is not None else 0
        beyond = [scored.number for scored in self._head if scored.number not in self._keyword_scores]
        if len(self._keyword_scores) < CANDIDATES:
            return len(self._head)
        by_words, counted = self._store.search.count_matches(self._query, self._filter, beyond)
        return by_words + len(beyond) - counted

    def _hits(self, wanted: Sequence[ScoredMemory]) -> list[Hit]:
        numbers = [scored.number for scored in wanted]
        matched = self._store.search.matched_words(self._full_query, numbers)
        records = self._store.search.records_at(numbers)
        if len(records) < len(numbers):
            # The store skips a row that cannot be read.
            there = set(self._store.search.numbers_of([record.id for record in records]).values())
            wanted = [scored for scored in wanted if scored.number in there]
        found = zip(wanted, records, strict=True)
        return [self._hit(scored, record, matched[scored.number]) for scored, record in found]

    def _hit(self, scored: ScoredMemory, record: Record, matched: list[str]) -> Hit:
        ranks = {}
        why = []
        if matched:
            why.append("matches " + ", ".join(f"`{word}`" for word in matched))
        if scored.number in self._keyword_ranks:
            ranks["fulltext"] = self._keyword_ranks[scored.number]
            why.append(f"keyword rank {ranks['fulltext']}")
        if scored.number in self._semantic_ranks:
            ranks["semantic"] = self._semantic_ranks[scored.number]
            why.append(f"semantic rank {ranks['semantic']} ({self._cosines[scored.number][0]:.2f})")
        if scored.next_to_match:
            why.append("next to a match")
        if self._query.grep is not None:
            why.append(f"matches pattern `{self._query.grep}`")
        return Hit(record, round(scored.score, 6), why, matched, ranks)
