"""Search: parse the query, run it, and add context or fit the results into a budget."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memglot.model import now
from memglot.search.candidates import run_search
from memglot.search.parse import ParsedQuery, parse_query
from memglot.search.results import Hit, Results, pack_results
from memglot.search.semantic import SemanticIndex
from memglot.store.contract import Store
from memglot.store.query import Filter, Query

MODES = ("hybrid", "fulltext", "semantic")


class SearchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a search."""

    mode: str = "hybrid"
    limit: int = 10
    offset: int = 0
    meaning: str | None = None
    grep: str | None = None
    context: int = 0
    budget: int | None = None
    touch: bool = False


def search(store: Store, semantic: SemanticIndex, text: str, filter: Filter, options: SearchOptions) -> Results:
    """Return the memories that match a query, best first."""
    with store.reading():
        parsed = parse_query(text, filter, options.grep, store.search.languages())
        if options.meaning is not None:
            parsed = msgspec.structs.replace(parsed, text=options.meaning)
        if parsed.is_filter:
            results = _filtered(store, parsed, options)
        else:
            results = run_search(store, semantic, parsed, options.mode).page(options.limit, options.offset)
        if options.context:
            _add_context(store, list(results), parsed.filter, options.context)
    if options.budget is not None:
        pack_results(results, options.budget)
    if options.touch:
        _record_access(store, [hit for hit in results if hit.packed != "left out"])
    return results


def _filtered(store: Store, parsed: ParsedQuery, options: SearchOptions) -> Results:
    """Return what the filters select, newest first, for a query without words."""
    found = store.search.select(parsed.query, parsed.filter, options.limit, options.offset)
    why = [f"matches pattern `{options.grep}`"] if options.grep is not None else []
    hits = [Hit(record, 0.0, list(why)) for record in store.search.records_at(found)]
    return Results(hits, store.search.count(parsed.query, parsed.filter))


def _add_context(store: Store, hits: Sequence[Hit], filter: Filter, count: int) -> None:
    """Add to each hit the memories before and after it, then related ones; none appears twice."""
    numbers = store.search.numbers_of([hit.id for hit in hits])
    known = set(numbers.values())
    # Context may be of any kind and time, but only of the requested scopes.
    scopes = [Filter(scope=part.scope, without_scopes=part.without_scopes) for part in (filter, *filter.also)]
    own = Filter(also=tuple(scopes))
    for hit in hits:
        number = numbers[hit.id]
        around = store.search.around(number, count)
        related = [other for _, other in store.search.related([number])]
        allowed = store.search.allowed(Query(), own, [*around, *related]) - known
        new = [other for other in around if other in allowed]
        new += [other for other in related if other in allowed.difference(new)][:count]
        known.update(new)
        hit.context = store.search.records_at(new)


def _record_access(store: Store, hits: Sequence[Hit]) -> None:
    """Record an access for each memory, which slows its decay."""
    if not hits:
        return
    present = now()
    with store.writing():
        for record in store.records.get([hit.id for hit in hits]):
            record.access_count += 1
            record.last_accessed = max(present, record.last_accessed or 0)
            store.records.replace(record)
        store.history.log("touch", "", "", {"count": len(hits)})
