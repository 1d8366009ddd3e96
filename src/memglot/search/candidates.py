"""One search under way: candidates by words and by meaning, ranked together with their neighbours."""

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
"""So many of the best by words, and as many by meaning, are ranked together; the order of the rest is that of words."""
_SIGNALLED = 50
_LENDING = 20
"""The neighbours of so many of the best by words, and of as many by meaning, are candidates too."""
_NEAR, _NEAR_FOR_ONE = 0.18, 0.15
"""A memory without any word of the question is found by its meaning from this cosine on, and a share of the second
above: the fewer words a question has, the nearer must be what it means."""
_COMMON, _COMMON_IN_LARGE, _LARGE, _FEW = 0.5, 0.1, 10_000, 20
"""A word is common that stands in more than half of the memories, of very many in more than a tenth: it tells little
there, and to look at all that have it takes long."""


class SearchRun:
    """One search under way."""

    def __init__(self, store: Store, meaning: SemanticIndex, asked: ParsedQuery, mode: str) -> None:
        self._store, self._mode = store, mode
        self._filter, self._query, self._text = asked.filter, asked.query, asked.text
        self._asked = asked.query
        self._whole_query = asked.query
        self._notes: list[str] = []
        self._frequencies: dict[str, int] = {}
        self._whole = 0
        self._by_words: dict[int, float] = {}
        self._word_ranks: dict[int, int] = {}
        self._near: LoadedSimilarity | StreamedSimilarity | None = None
        self._cosines: dict[int, tuple[float, float]] = {}
        self._meaning_ranks: dict[int, int] = {}
        self._near_enough = _NEAR + _NEAR_FOR_ONE / max(1, len(self._text.split()))
        self._weigh_words()
        if mode != "fulltext":
            self._find_by_meaning(meaning)
        if mode != "semantic":
            self._find_by_words()
        self._rank_by_meaning()
        self._head = self._ranked()

    def _weigh_words(self) -> None:
        terms = self._query.terms
        counts, self._whole = self._store.search.frequencies([term.forms[0] for term in terms])
        self._frequencies = {fold(term.word): count for term, count in zip(terms, counts, strict=True)}
        many = max(self._whole * (_COMMON if self._whole < _LARGE else _COMMON_IN_LARGE), _FEW)
        common = frozenset(term.word for term, count in zip(terms, counts, strict=True) if count > many)
        self._query = without_common(self._query, common)

    def _weigh(self, words: Sequence[str]) -> list[float]:
        """How telling each word is in this store, from 0.01 to 1."""
        unknown = [word for word in words if fold(word) not in self._frequencies and word not in STOP_WORDS["english"]]
        counts, _ = self._store.search.frequencies([fold(word) for word in unknown])
        self._frequencies |= {fold(word): count for word, count in zip(unknown, counts, strict=True)}
        most = log(self._whole + 2)
        counts = [self._frequencies.get(fold(word), self._whole) for word in words]
        return [min(1.0, max(0.01, log((self._whole + 2) / (count + 0.5)) / most)) for count in counts]

    def _find_by_words(self) -> None:
        matches = self._store.search.match(self._query, self._filter, CANDIDATES)
        if not matches and self._query != self._asked:
            # The rarer words are nowhere, or nowhere that the filter lets through: common ones are better than nothing.
            self._query = self._asked
            matches = self._store.search.match(self._query, self._filter, CANDIDATES)
        best = max((match.score for match in matches), default=0.0)
        for place, match in enumerate(matches):
            self._by_words[match.number] = match.score / best if best > 0 else 1.0
            self._word_ranks[match.number] = place + 1

    def _missing(self, missing: int) -> int:
        """How many memories have no vector yet, of all that may be shown."""
        if missing <= 0 or not (self._store.hidden or self._filter.without_scopes):
            return missing
        shown = Filter(without_scopes=self._filter.without_scopes)
        return self._store.records.count(shown) - self._store.vectors.count(Query(), shown)

    def _find_by_meaning(self, meaning: SemanticIndex) -> None:
        state = meaning.state()
        if self._mode == "semantic" and (not state.count or meaning.is_stale()):
            raise NotYet("no memory can be found by its meaning yet", "`memglot embed` makes that possible, offline")
        if meaning.is_stale():
            self._notes.append(note_stale_vectors(state.model))
        elif state.count and (missing := self._missing(state.missing)) > 0:
            self._notes.append(note_missing_vectors(missing))
        try:
            self._near = meaning.near(self._text, self._weigh)
        except FailedEmbedder as error:
            if self._mode == "semantic":
                raise
            self._notes.append(f"searched by words alone: {str(error)}")
        if self._near is None and self._mode == "semantic":
            self._notes.append(
                "the model knows none of these words, so that nothing is found by meaning; `--mode fulltext` "
                "finds words"
            )

    def _rank_by_meaning(self) -> None:
        if self._near is not None and (self._mode == "semantic" or isinstance(self._near, LoadedSimilarity)):
            for place, number in enumerate(self._best_by_meaning(self._near)):
                self._meaning_ranks[number] = place + 1

    def _best_by_meaning(self, near: LoadedSimilarity | StreamedSimilarity) -> list[int]:
        """The nearest memories that the filter lets through."""
        found: list[int] = []
        start = 0
        for end in (2 * CANDIDATES, 10 * CANDIDATES):
            more = near.best(end - start, start)
            allowed = self._store.search.allowed(self._query, self._filter, more)
            found += [number for number in more if number in allowed]
            if len(found) >= CANDIDATES or len(more) < end - start:
                return found[:CANDIDATES]
            start = end
        if self._query.grep is not None and self._mode != "semantic":
            # To hold every memory against a pattern costs more than a few that are less near are worth.
            return found
        return near.best_of(self._let_through(), CANDIDATES)

    def _let_through(self) -> list[int]:
        """All that the filter and all but the terms of the query let through; phrases are asked of the index."""
        hard = msgspec.structs.replace(self._query, terms=())
        if hard.phrases:
            return [match.number for match in self._store.search.match(hard, self._filter, -1)]
        return self._store.search.select(hard, self._filter, -1)

    def _ranked(self) -> list[ScoredMemory]:
        """The candidates and their neighbours, best first."""
        store = self._store
        first = list(dict.fromkeys([*self._by_words, *self._meaning_ranks]))
        strongest = {*list(self._by_words)[:_LENDING], *list(self._meaning_ranks)[:_LENDING]}
        places = store.search.places(list(strongest), REACH)
        placed = {place.number for place in places}
        places += store.search.places([number for number in first if number not in placed], 0)
        related = store.search.related(list(self._by_words)[:_LENDING])
        placed = {place.number for place in places}
        lending = list(self._by_words)[:_LENDING]
        arrivals = store.search.stored_next_to([number for number in lending if number not in placed], 1)
        everyone = list(dict.fromkeys([*first, *placed]))
        if self._near is not None:
            self._cosines = self._near.of(everyone)
        trust = prose_share(self._text) if self._mode == "hybrid" else 1.0
        meaning = {number: trust * above for number, (_, above) in self._cosines.items()}
        # One without a vector is taken to mean as much as its words fit: else it would stand behind all that have one.
        nearest = max(meaning.values(), default=0.0)
        meaning |= {number: share * nearest for number, share in self._by_words.items() if number not in meaning}
        evidence = Evidence(
            words=self._by_words,
            meaning=meaning,
            nearest=self._meaning_ranks,
            places=places,
            arrivals=[tie for tie in arrivals if tie[1] in self._by_words],
            related=[tie for tie in related if tie[1] in self._by_words or tie[1] in self._meaning_ranks],
        )
        ranked = rank(evidence, self._question(), by_meaning=self._mode == "semantic")
        allowed = store.search.allowed(self._query, self._filter, [scored.number for scored in ranked])
        ranked = [scored for scored in ranked if scored.number in allowed and self._is_found(scored)]
        head, rest = ranked[:_SIGNALLED], ranked[_SIGNALLED:]
        return [*apply_signals(head, store.search.signals([scored.number for scored in head])), *rest]

    def _is_found(self, scored: ScoredMemory) -> bool:
        """Tell whether a candidate is a hit: by a word, by a neighbour, or because it means nearly the same."""
        number = scored.number
        if self._mode == "semantic":
            return number in self._cosines
        if number in self._by_words or scored.near:
            return True
        return number in self._cosines and self._cosines[number][0] >= self._near_enough

    def _question(self) -> QueryTraits:
        words = [fold(word).strip(".,;:!?'\"()") for word in self._text.replace("'s", "").replace("’s", "").split()]
        names = [*words, *(f"{first} {second}" for first, second in zip(words, words[1:], strict=False))]
        named = self._store.search.speakers(list(dict.fromkeys(names))) if names else set()
        asks_when = words[:1] == ["when"] or words[:2] == ["how", "long"]
        return QueryTraits(named.pop() if len(named) == 1 else "", asks_when)

    def page(self, limit: int, offset: int) -> Results:
        """One page of what was found, and the number of all."""
        end = None if limit < 0 else offset + limit
        wanted = self._head[offset:end]
        if end is None or end > len(self._head):
            wanted += self._tail(max(0, offset - len(self._head)), None if end is None else end - len(self._head))
        total = self._total()
        return Results(self._hits(wanted), total, self._notes)

    def _tail(self, start: int, end: int | None) -> list[ScoredMemory]:
        """What comes after the candidates: further matches by words, or in semantic mode the less near ones."""
        known = {scored.number for scored in self._head}
        if self._mode == "semantic":
            numbers = self._near.best_of(self._let_through(), self._whole) if self._near is not None else []
            return [ScoredMemory(number, -1.0) for number in numbers if number not in known][start:end]
        needed = -1 if end is None else end + len(known)
        if len(self._by_words) < CANDIDATES:
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
            return self._store.vectors.count(self._query, self._filter) if self._near is not None else 0
        beyond = [scored.number for scored in self._head if scored.number not in self._by_words]
        if len(self._by_words) < CANDIDATES:
            return len(self._head)
        by_words, counted = self._store.search.count_matches(self._query, self._filter, beyond)
        return by_words + len(beyond) - counted

    def _hits(self, wanted: Sequence[ScoredMemory]) -> list[Hit]:
        numbers = [scored.number for scored in wanted]
        matched = self._store.search.matched_words(self._whole_query, numbers)
        records = zip(wanted, self._store.search.records_at(numbers), strict=True)
        return [self._hit(scored, record, matched[scored.number]) for scored, record in records]

    def _hit(self, scored: ScoredMemory, record: Record, matched: list[str]) -> Hit:
        ranks = {}
        why = []
        if matched:
            why.append("has " + ", ".join(f"`{word}`" for word in matched))
        if scored.number in self._word_ranks:
            ranks["fulltext"] = self._word_ranks[scored.number]
            why.append(f"number {ranks['fulltext']} by words")
        if scored.number in self._meaning_ranks:
            ranks["semantic"] = self._meaning_ranks[scored.number]
            why.append(f"number {ranks['semantic']} by meaning, {self._cosines[scored.number][0]:.2f}")
        if scored.near:
            why.append("next to a match")
        if self._query.grep is not None:
            why.append(f"matches `{self._query.grep}`")
        return Hit(record, round(scored.score, 6), why, matched, ranks)
