"""Search: a question is read, candidates are ranked, and what was found can bring its context and fit a budget."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memglot.model import now
from memglot.search.candidates import SearchRun
from memglot.search.parse import ParsedQuery, parse_query
from memglot.search.results import Hit, Results, pack_results
from memglot.search.semantic import SemanticIndex
from memglot.store.contract import Store
from memglot.store.query import Filter, Query

MODES = ("hybrid", "fulltext", "semantic")


class SearchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller may ask of a search beside the question."""

    mode: str = "hybrid"
    limit: int = 10
    offset: int = 0
    meaning: str | None = None
    grep: str | None = None
    context: int = 0
    budget: int | None = None
    touch: bool = False


def search(store: Store, meaning: SemanticIndex, text: str, filter: Filter, wanted: SearchOptions) -> Results:
    """The memories that answer a question, best first."""
    with store.reading():
        asked = parse_query(text, filter, wanted.grep, store.search.languages())
        if wanted.meaning is not None:
            asked = msgspec.structs.replace(asked, text=wanted.meaning)
        if asked.is_filter:
            results = _listed(store, asked, wanted)
        else:
            results = SearchRun(store, meaning, asked, wanted.mode).page(wanted.limit, wanted.offset)
        if wanted.context:
            _bring_context(store, list(results), asked.filter, wanted.context)
    if wanted.budget is not None:
        pack_results(results, wanted.budget)
    if wanted.touch:
        _touch(store, [hit for hit in results if hit.packed != "left out"])
    return results


def _listed(store: Store, asked: ParsedQuery, wanted: SearchOptions) -> Results:
    """What filters alone let through, newest first."""
    found = store.search.select(asked.query, asked.filter, wanted.limit, wanted.offset)
    why = [f"matches `{wanted.grep}`"] if wanted.grep is not None else []
    hits = [Hit(record, 0.0, list(why)) for record in store.search.records_at(found)]
    return Results(hits, store.search.count(asked.query, asked.filter))


def _bring_context(store: Store, hits: Sequence[Hit], filter: Filter, count: int) -> None:
    """Give each hit the memories before and after it, then those that a relation ties to it; none stands twice."""
    numbers = store.search.numbers_of([hit.id for hit in hits])
    known = set(numbers.values())
    # What stands around may be of any kind and time, but not of a scope that was not asked for.
    scopes = [Filter(scope=part.scope, without_scopes=part.without_scopes) for part in (filter, *filter.also)]
    own = Filter(also=tuple(scopes))
    for hit in hits:
        number = numbers[hit.id]
        around = store.search.around(number, count)
        tied = [other for _, other in store.search.related([number])]
        allowed = store.search.allowed(Query(), own, [*around, *tied]) - known
        new = [other for other in around if other in allowed]
        new += [other for other in tied if other in allowed.difference(new)][:count]
        known.update(new)
        hit.context = store.search.records_at(new)


def _touch(store: Store, hits: Sequence[Hit]) -> None:
    """Count that memories were used, which keeps them strong; nothing else about them changes."""
    if not hits:
        return
    present = now()
    with store.writing():
        for record in store.records.get([hit.id for hit in hits]):
            record.access_count += 1
            record.last_accessed = max(present, record.last_accessed or 0)
            store.records.replace(record)
        store.history.log("touch", "", "", {"count": len(hits)})
