"""`me_memory_search`: keyword and semantic search, or a list by filters alone."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from memglot.errors import UsageError
from memglot.mcp.schemas import (
    MemoryOut,
    MetaFilterArg,
    Natural,
    TemporalFilterArg,
    TreeFilterArg,
    memory_out,
    search_filters,
)
from memglot.mcp.texts import recalled_heading
from memglot.mcp.tool import Answer, Arguments, Call, Tool
from memglot.memory import Memory
from memglot.search.pack import RECALLED, PackItem, render_all
from memglot.search.results import Hit, Results, pack_item, pack_results

_DEFAULT_LIMIT, _MAX_LIMIT = 10, 1000
_MAX_CONTENT = 50_000
"""Maximum number of characters of each memory's text in a result."""


class SearchWeights(msgspec.Struct, forbid_unknown_fields=True):
    """Weights of keyword and semantic search."""

    fulltext: Annotated[float | None, Meta(description="0 turns keyword search off.")] = None
    semantic: Annotated[float | None, Meta(description="0 turns semantic search off.")] = None


class SearchArgs(Arguments):
    """Arguments of `me_memory_search`."""

    query: Annotated[
        str | None,
        Meta(description="What you want to know: combines semantic and keyword search. Usually the best choice."),
    ] = None
    semantic: Annotated[
        str | None, Meta(description="A question for semantic search only; with `fulltext`, both are combined.")
    ] = None
    fulltext: Annotated[
        str | None,
        Meta(description='Keywords to search for; "a phrase" must occur, -word must not; `tag:x`, `after:2026-01`.'),
    ] = None
    grep: Annotated[
        str | None, Meta(description="A regular expression that the text must match (case-insensitive).")
    ] = None
    meta: MetaFilterArg = None
    tree: TreeFilterArg = None
    temporal: TemporalFilterArg = None
    tags: Annotated[list[str] | None, Meta(description="Only memories with all of these tags.")] = None
    kind: Annotated[str | None, Meta(description="Only memories of this kind.")] = None
    scope: Annotated[str | None, Meta(description="Only memories in this scope.")] = None
    weights: Annotated[
        SearchWeights | None, Meta(description="Only 0 has an effect; otherwise the search uses its own weights.")
    ] = None
    candidateLimit: Annotated[int | None, Meta(description="Accepted for compatibility; has no effect.")] = None
    semanticThreshold: Annotated[float | None, Meta(description="Accepted for compatibility; has no effect.")] = None
    limit: Annotated[
        Annotated[int, Meta(ge=0, le=_MAX_LIMIT)] | None, Meta(description="Maximum number of results (default: 10).")
    ] = None
    offset: Annotated[Natural | None, Meta(description="Number of results to skip, for paging.")] = None
    order_by: Annotated[
        Literal["asc", "desc"] | None,
        Meta(description="For lists by filters alone: `desc` (newest first, default) or `asc`."),
    ] = None
    budget: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Pack the results into a text of at most this many tokens, truncating long ones."),
    ] = None
    context: Annotated[
        Annotated[int, Meta(ge=0, le=20)] | None,
        Meta(description="Number of memories to show before and after each result."),
    ] = None


class FoundMemory(MemoryOut, kw_only=True):
    """A search result."""

    score: Annotated[float, Meta(description="Higher is better; 1 in lists by filters alone.")]
    why: Annotated[list[str], Meta(description="Why this memory matches.")]
    context: list[MemoryOut] = []


class SearchOut(msgspec.Struct, kw_only=True):
    """The results of a search."""

    results: list[FoundMemory]
    total: Annotated[int, Meta(description="Total number of matching memories.")]
    limit: int
    notes: list[str] = []


def search(call: Call, given: SearchArgs) -> Answer:
    """Search memories, or list them if only filters are given."""
    limit = given.limit or _DEFAULT_LIMIT
    filters = search_filters(given.tree, given.meta, given.temporal)
    filters |= {name: getattr(given, name) for name in ("tags", "kind", "scope") if getattr(given, name)}
    words, meaning, mode = _parse_query(given)
    is_search = bool(words or given.grep)
    if is_search and given.order_by is not None:
        raise UsageError("`order_by` only applies to lists; leave out `query`, `semantic`, `fulltext` and `grep`")
    if not is_search and given.context:
        raise UsageError("`context` only applies to searches; give `query`, `semantic`, `fulltext` or `grep`")
    with call.memory() as memory:
        if is_search:
            results = memory.search(
                words or "",
                meaning=meaning,
                mode=mode,
                limit=limit,
                offset=given.offset or 0,
                grep=given.grep,
                budget=given.budget,
                context=given.context or 0,
                **filters,
            )
        else:
            results = _list_by_time(memory, given, limit, filters)
        return _answer(results, given, limit, memory.store.url)


def _parse_query(given: SearchArgs) -> tuple[str | None, str | None, str]:
    """Return the keywords, the text for semantic search if it differs, and the search mode."""
    words = given.fulltext or given.query or given.semantic or None
    meaning = next((text for text in (given.semantic, given.query) if text and text != words), None)
    if not given.query and not (given.semantic and given.fulltext):
        return words, None, "semantic" if given.semantic else "fulltext"
    weights = given.weights or SearchWeights()
    return words, meaning, "fulltext" if weights.semantic == 0 else "semantic" if weights.fulltext == 0 else "hybrid"


def _list_by_time(memory: Memory, given: SearchArgs, limit: int, filters: dict[str, Any]) -> Results:
    """List memories by time, when only filters are given."""
    newest = given.order_by != "asc"
    records = memory.list(limit=limit, offset=given.offset or 0, newest_first=newest, **filters)
    results = Results([Hit(record, 1.0, []) for record in records], memory.count(**filters))
    if given.budget is not None:
        pack_results(results, given.budget)
    return results


def _answer(results: Results, given: SearchArgs, limit: int, store: str) -> Answer:
    unused = [name for name in ("candidateLimit", "semanticThreshold") if getattr(given, name)]
    weights = given.weights
    if weights and (weights.fulltext not in (None, 0) or weights.semantic not in (None, 0)):
        unused.append("weights")
    notes = list(results.notes)
    if unused:
        names = ", ".join(f"`{name}`" for name in unused)
        notes.append(f"{names} had no effect, because this search uses its own weights")
    if truncated := _truncate_contents(results):
        ids = ", ".join(truncated[:5]) + (" and others" if len(truncated) > 5 else "")
        notes.append(f"showing only the first {_MAX_CONTENT:,} characters of {ids}")
    found = [_found_memory(hit) for hit in results if hit.packed != "left out"]
    value = SearchOut(results=found, total=results.total, limit=limit, notes=notes)
    if results.block is not None:
        text = f"{recalled_heading(len(found), store)}\n\n{results.block.removeprefix(RECALLED).lstrip()}"
    else:
        heading = recalled_heading(len(found), store) if found else ""
        text = f"{heading}\n\n{render_all(_pack_items(results))}{len(found):,} of {results.total:,} found".lstrip()
    return Answer(value, "\n".join([text, *notes]))


def _truncate_contents(results: Results) -> list[str]:
    """Truncate very long texts, so that no search fails because of one; return the ids of their memories."""
    truncated = []
    for record in (record for hit in results for record in (hit.record, *hit.context)):
        if len(record.content) > _MAX_CONTENT:
            truncated.append(record.id)
            record.content = record.content[:_MAX_CONTENT]
    return truncated


def _pack_items(results: Results) -> list[PackItem]:
    items = []
    for hit in results:
        items.append(pack_item(hit.record))
        items += [pack_item(record, hit.id) for record in hit.context]
    return items


def _found_memory(hit: Hit) -> FoundMemory:
    memory = memory_out(hit.record)
    fields = {name: getattr(memory, name) for name in memory.__struct_fields__}
    context = [memory_out(record) for record in hit.context]
    return FoundMemory(**fields, score=hit.score, why=hit.why, context=context)


TOOLS: list[Tool[Any]] = [
    Tool(
        name="me_memory_search",
        title="Search memories",
        description="Search what the user and their agents have stored. Use it before you ask the user for something "
        "they may have said before, and whenever earlier decisions, preferences, people or projects may matter. Use "
        "`query` for most questions and `fulltext` for exact names and identifiers; filters alone list by time.",
        input=SearchArgs,
        output=SearchOut,
        run=search,
        read_only=True,
        idempotent=True,
    ),
]
