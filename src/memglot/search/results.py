"""What a search found: hits that say why, the true number of all, and the block of them that fits a budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from memglot.json_values import record_value
from memglot.model import DEFAULT_KIND, Record, format_time
from memglot.search.pack import PackItem, pack


class Hit(msgspec.Struct):
    """A memory that was found: the greater its score, the better it fits; `why` says it in words.

    `matched` are the words of the question that it holds, `ranks` its places in the orders by words and by meaning,
    `context` the memories around it, where they were asked for.
    """

    record: Record
    score: float
    why: list[str]
    matched: list[str] = []
    ranks: dict[str, int] = {}
    context: list[Record] = []
    packed: str | None = None
    """What became of it in the block: whole, cut or left out; nothing where no budget was given."""

    @property
    def id(self) -> str:
        """The id of the memory."""
        return self.record.id

    @property
    def content(self) -> str:
        """The text of the memory."""
        return self.record.content


class Results:
    """The hits of one page, the true number of all, and what a person should know of the search."""

    def __init__(self, hits: list[Hit], total: int, notes: Sequence[str] = ()) -> None:
        self._hits = hits
        self.total = total
        self.notes = list(notes)
        self.block: str | None = None
        """The hits as one block of Markdown within the budget, where one was given; `tokens` is about what it takes."""
        self.tokens = 0

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    def __len__(self) -> int:
        return len(self._hits)

    def __getitem__(self, index: int) -> Hit:
        return self._hits[index]


def hit_value(hit: Hit) -> dict[str, Any]:
    """A hit as its JSON shows it."""
    value = {**record_value(hit.record), "score": hit.score, "why": hit.why}
    value |= {"matched": hit.matched, "ranks": hit.ranks}
    if hit.context:
        value["context"] = [record_value(record) for record in hit.context]
    if hit.packed is not None:
        value["packed"] = hit.packed
    return value


def results_value(results: Results) -> dict[str, Any]:
    """The answer to a search as its JSON shows it."""
    value: dict[str, Any] = {"results": [hit_value(hit) for hit in results], "total": results.total}
    if results.block is not None:
        value |= {"context": results.block, "tokens": results.tokens}
    return value | ({"notes": results.notes} if results.notes else {})


def pack_results(results: Results, budget: int) -> None:
    """Make the block of the results that takes at most `budget` tokens, context included where there is room."""
    items = [pack_item(hit.record) for hit in results]
    items += [pack_item(record, hit.id) for hit in results for record in hit.context]
    packed = pack(items, budget, found=max(results.total, len(items)))
    results.block, results.tokens = packed.text, packed.tokens
    for hit, state in zip(results, packed.states, strict=False):
        hit.packed = state


def pack_item(record: Record, context_of: str = "") -> PackItem:
    """A memory as it is shown to a model: its text, and where it came from."""
    origin = record.source.get("tool") or record.source.get("kind")
    return PackItem(
        id=record.id,
        text=record.content,
        title=record.title or "",
        kind="" if record.kind == DEFAULT_KIND else record.kind,
        tree=record.tree,
        tags=tuple(record.tags),
        date=format_time(record.created_at)[:10],
        source=f"from {origin}" if isinstance(origin, str) else "",
        context_of=context_of,
    )
