"""Results of a search: hits with their reasons, the total number, and the block that fits a budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from memglot.display import excerpt, html_table, plural, short_repr
from memglot.model import DEFAULT_KIND, Record, format_time
from memglot.results import record_value
from memglot.search.pack import PackItem, pack
from memglot.tables import to_arrow, to_pandas

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Hit(msgspec.Struct):
    """A memory that was found, with its score (higher is better) and the reasons in `why`.

    `matched` lists the query words that it contains, `ranks` its ranks in keyword and semantic search, `context` the
    memories around it if requested.
    """

    record: Record
    score: float
    why: list[str]
    matched: list[str] = []
    ranks: dict[str, int] = {}
    context: list[Record] = []
    packed: str | None = None
    """`whole`, `cut` or `left out` of the block; `None` without a budget."""

    @property
    def id(self) -> str:
        """The id of the memory."""
        return self.record.id

    @property
    def content(self) -> str:
        """The text of the memory."""
        return self.record.content

    def to_dict(self) -> dict[str, Any]:
        """Return the memory as JSON values, with its score and the reasons."""
        return hit_value(self)

    def __repr__(self) -> str:
        shown = {"score": round(self.score, 3), "id": self.id, "content": self.content, "why": self.why}
        return short_repr("Hit", shown)

    def _repr_html_(self) -> str:
        return html_table(_COLUMNS, [_row(self)])


class Results:
    """The hits of one page, the total number of hits, and notes about the search."""

    def __init__(self, hits: list[Hit], total: int, notes: Sequence[str] = ()) -> None:
        self._hits = hits
        self.total = total
        self.notes = list(notes)
        self.block: str | None = None
        """The hits as one block of Markdown within the budget, if one was given; `tokens` estimates its size."""
        self.tokens = 0

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    def __len__(self) -> int:
        return len(self._hits)

    def __getitem__(self, index: int) -> Hit:
        return self._hits[index]

    def __repr__(self) -> str:
        head = f"Results({len(self)} of {self.total:,})"
        lines = [f"  {hit.score:.2f}  {hit.id}  {excerpt(hit.content)}" for hit in self._hits[:_SHOWN]]
        more = [f"  and {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else []
        return "\n".join([head, *lines, *more])

    def _repr_html_(self) -> str:
        caption = f"{len(self):,} of {plural(self.total, 'memory')}" + "".join(f"; {note}" for note in self.notes)
        return html_table(_COLUMNS, map(_row, self._hits), caption)

    def to_dict(self) -> dict[str, Any]:
        """Return the hits and their total as JSON values."""
        return results_value(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the hits as a DataFrame of pandas, with columns for the score and the reasons."""
        return to_pandas([hit.record for hit in self], self._columns())

    def to_arrow(self) -> pyarrow.Table:
        """Return the hits as a table of pyarrow, with columns for the score and the reasons."""
        return to_arrow((hit.record for hit in self), self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        return {"score": [hit.score for hit in self], "why": [hit.why for hit in self]}


_COLUMNS = ("score", "id", "content", "tree", "tags", "created", "why")
_SHOWN = 10


def _row(hit: Hit) -> tuple[object, ...]:
    record = hit.record
    created = format_time(record.created_at)
    return f"{hit.score:.2f}", record.id, excerpt(record.content, 300), record.tree, record.tags, created, hit.why


def hit_value(hit: Hit) -> dict[str, Any]:
    """Return a hit as a JSON object."""
    value = {**record_value(hit.record), "score": hit.score, "why": hit.why}
    value |= {"matched": hit.matched, "ranks": hit.ranks}
    if hit.context:
        value["context"] = [record_value(record) for record in hit.context]
    if hit.packed is not None:
        value["packed"] = hit.packed
    return value


def results_value(results: Results) -> dict[str, Any]:
    """Return the results as a JSON object."""
    value: dict[str, Any] = {"results": [hit_value(hit) for hit in results], "total": results.total}
    if results.block is not None:
        value |= {"context": results.block, "tokens": results.tokens}
    return value | ({"notes": results.notes} if results.notes else {})


def pack_results(results: Results, budget: int) -> None:
    """Pack the results into a block of at most `budget` tokens, with context if there is room."""
    items = [pack_item(hit.record) for hit in results]
    items += [pack_item(record, hit.id) for hit in results for record in hit.context]
    packed = pack(items, budget, found=max(results.total, len(items)))
    results.block, results.tokens = packed.text, packed.tokens
    for hit, state in zip(results, packed.states, strict=False):
        hit.packed = state


def pack_item(record: Record, context_of: str = "") -> PackItem:
    """Return a memory as it is shown to a model: its text and where it came from."""
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
