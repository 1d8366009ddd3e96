"""`me_memory_search`: by words and meaning, or by filters alone."""

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
from memglot.model import Record
from memglot.notes import note_recalled
from memglot.search.pack import render_all
from memglot.search.results import Hit, Results, pack_item, pack_results

_DEFAULT_LIMIT, _MAX_LIMIT = 10, 1000
_MAX_CONTENT = 50_000
"""So many signs of each text are shown."""


class SearchWeights(msgspec.Struct, forbid_unknown_fields=True):
    """How much each way of searching counts."""

    fulltext: Annotated[float | None, Meta(description="0 searches by meaning alone.")] = None
    semantic: Annotated[float | None, Meta(description="0 searches by words alone.")] = None


class SearchArgs(Arguments):
    """What to look for, and among which memories."""

    query: Annotated[
        str | None,
        Meta(description="What you want to know, in words: searched by meaning and by words together. Usually best."),
    ] = None
    semantic: Annotated[
        str | None, Meta(description="A question to compare by meaning alone; with `fulltext`, both are used.")
    ] = None
    fulltext: Annotated[
        str | None,
        Meta(description='Words to look for; "a phrase" must be there, -word must not; `tag:x`, `after:2026-01`.'),
    ] = None
    grep: Annotated[
        str | None, Meta(description="A regular expression that the text must match, whatever its case.")
    ] = None
    meta: MetaFilterArg = None
    tree: TreeFilterArg = None
    temporal: TemporalFilterArg = None
    tags: Annotated[list[str] | None, Meta(description="Only memories with all of these tags.")] = None
    kind: Annotated[str | None, Meta(description="Only memories of this kind.")] = None
    scope: Annotated[str | None, Meta(description="Only memories of this scope.")] = None
    weights: Annotated[SearchWeights | None, Meta(description="Other than 0, the search weighs by itself.")] = None
    candidateLimit: Annotated[int | None, Meta(description="Accepted; the search chooses by itself.")] = None
    semanticThreshold: Annotated[float | None, Meta(description="Accepted; the search chooses by itself.")] = None
    limit: Annotated[
        Annotated[int, Meta(ge=0, le=_MAX_LIMIT)] | None, Meta(description="At most so many results; 10 by default.")
    ] = None
    offset: Annotated[Natural | None, Meta(description="Leave out so many of the first, for a further page.")] = None
    order_by: Annotated[
        Literal["asc", "desc"] | None, Meta(description="For lists by filters alone: oldest or newest (default) first.")
    ] = None
    budget: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Pack the results into a text of at most so many tokens, cutting long ones."),
    ] = None
    context: Annotated[
        Annotated[int, Meta(ge=0, le=20)] | None,
        Meta(description="Show so many memories before and after each result, too."),
    ] = None


class FoundMemory(MemoryOut, kw_only=True):
    """A memory that was found."""

    score: Annotated[float, Meta(description="The greater the better; 1 in lists by filters alone.")]
    why: Annotated[list[str], Meta(description="Why it was found, in words.")]
    context: list[MemoryOut] = []


class SearchOut(msgspec.Struct, kw_only=True):
    """What was found."""

    results: list[FoundMemory]
    total: Annotated[int, Meta(description="How many there are in all.")]
    limit: int
    notes: list[str] = []


def search(call: Call, given: SearchArgs) -> Answer:
    """Find memories."""
    limit = given.limit or _DEFAULT_LIMIT
    filters = search_filters(given.tree, given.meta, given.temporal)
    filters |= {name: getattr(given, name) for name in ("tags", "kind", "scope") if getattr(given, name)}
    words, meaning, mode = _parse_query(given)
    asks = bool(words or given.grep)
    if asks and given.order_by is not None:
        raise UsageError("`order_by` is for lists: leave out `query`, `semantic`, `fulltext` and `grep`")
    if not asks and given.context:
        raise UsageError("`context` is for searches: give `query`, `semantic`, `fulltext` or `grep` too")
    with call.memory() as memory:
        if asks:
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
    """The words to look for, the wording to compare by meaning where that is another, and how to search."""
    words = given.fulltext or given.query or given.semantic or None
    meaning = next((text for text in (given.semantic, given.query) if text and text != words), None)
    if not given.query and not (given.semantic and given.fulltext):
        return words, None, "semantic" if given.semantic else "fulltext"
    weights = given.weights or SearchWeights()
    return words, meaning, "fulltext" if weights.semantic == 0 else "semantic" if weights.fulltext == 0 else "hybrid"


def _list_by_time(memory: Memory, given: SearchArgs, limit: int, filters: dict[str, Any]) -> Results:
    """Memories by time, where nothing is asked but by filters."""
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
    notes = [
        *results.notes,
        *(
            [f"{', '.join(f'`{name}`' for name in unused)} had no effect: this search ranks by its own weights"]
            if unused
            else []
        ),
        *_truncate_contents(results),
    ]
    found = [_found_memory(hit) for hit in results if hit.packed != "left out"]
    value = SearchOut(results=found, total=results.total, limit=limit, notes=notes)
    if results.block is not None:
        text = f"{recalled_heading(len(found), store)}\n\n{results.block.removeprefix(note_recalled()).lstrip()}"
    else:
        items = [item for hit in results for item in (pack_item(hit.record), *_context_items(hit))]
        opening = recalled_heading(len(found), store) if found else ""
        text = f"{opening}\n\n{render_all(items)}{_count_line(len(found), results.total)}".lstrip()
    return Answer(value, "\n".join([text, *notes]))


def _truncate_contents(results: Results) -> list[str]:
    """Cut very long texts, so that one of them does not cost the answer to a search; a note says whose."""
    cut = []
    for record in (record for hit in results for record in (hit.record, *hit.context)):
        if len(record.content) > _MAX_CONTENT:
            cut.append(record.id)
            record.content = record.content[:_MAX_CONTENT]
    return (
        [f"of {', '.join(cut[:5])}{' and others' if len(cut) > 5 else ''} the first {_MAX_CONTENT:,} signs are shown"]
        if cut
        else []
    )


def _context_items(hit: Hit) -> list[Any]:
    return [pack_item(record, hit.id) for record in hit.context]


def _found_memory(hit: Hit) -> FoundMemory:
    def fields(record: Record) -> dict[str, Any]:
        one = memory_out(record)
        return {name: getattr(one, name) for name in one.__struct_fields__}

    return FoundMemory(
        **fields(hit.record), score=hit.score, why=hit.why, context=[memory_out(one) for one in hit.context]
    )


TOOLS: list[Tool[Any]] = [
    Tool(
        name="me_memory_search",
        title="Search memories",
        description="Search what the user and their agents have kept. Use it before asking the user for something they "
        "may have said before, and whenever earlier decisions, preferences, people or projects may matter. Give "
        "`query` for most questions; `fulltext` for exact names and identifiers; filters alone list by time.",
        input=SearchArgs,
        output=SearchOut,
        run=search,
        read_only=True,
        idempotent=True,
    ),
]


def _count_line(shown: int, total: int) -> str:
    """How many there are in all."""
    return f"{shown:,} of {total:,} found"
