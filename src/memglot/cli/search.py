"""`memglot search`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.list import record_lines
from memglot.cli.session import LIMIT, Session, command, filter_options, filters_of
from memglot.display import excerpt
from memglot.search.results import results_value


@command(
    "search",
    examples="""
    memglot search "task queue"
    memglot search '"connection pool" -mysql tag:decision' --limit 5
    memglot search "how do we deploy" --mode semantic --tree work
    memglot search "coding style" --budget 2000
    """,
)
@click.argument("query", required=False, default="")
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "fulltext", "semantic"]),
    default="hybrid",
    show_default=True,
    help="Kind of search: keyword (fulltext), semantic, or both (hybrid).",
)
@filter_options
@click.option("--limit", type=LIMIT, metavar="N", help="Maximum number of results (default: 10; 50 with --budget).")
@click.option(
    "--offset", type=LIMIT, metavar="N", default=0, help="Number of results to skip at the start (default: 0)."
)
@click.option("--grep", metavar="RE", help="Return only memories that match this regular expression.")
@click.option(
    "--context",
    type=click.IntRange(0, 100),
    default=0,
    metavar="N",
    help="Number of neighbouring memories to show with each result (default: 0).",
)
@click.option(
    "--budget",
    type=click.IntRange(1),
    metavar="TOKENS",
    help="Print the best results as one Markdown block of at most this many tokens.",
)
@click.option("--touch", is_flag=True, help="Record an access for each result.")
def search(session: Session, query: str, limit: int | None, touch: bool, budget: int | None, **options: Any) -> None:
    """Search memories by keywords and meaning.

    The best results come first. A "quoted phrase" must occur as written; -word excludes a word. These words filter:
    tag:x, kind:x, tree:a.b, scope:x, status:x, before:2024-05 and after:2024-05-31.
    """
    filters = filters_of(options)
    if limit is None:
        limit = 10 if budget is None else 50
    with session.memory(write=touch) as memory:
        results = memory.search(query, limit=limit, budget=budget, touch=touch, **options, **filters)
    session.print_notes(results.notes)
    lines = [results.block] if results.block is not None else _result_lines(results)
    session.print_result(results_value(results), lines, always=True)


def _result_lines(results: Any) -> list[str]:
    lines: list[str] = []
    for hit in results:
        # Without a query, filters alone select the results, and there is no score.
        lines += record_lines(hit.record, f"{hit.score:.3g}" if hit.score else None)
        lines += [f"    | {record.id}  {excerpt(record.title or record.content)}" for record in hit.context]
        if hit.why:
            lines.append("    " + " · ".join(hit.why))
    shown = f", {len(results):,} shown" if len(results) < results.total else ""
    return [*lines, f"{results.total:,} found{shown}"]
