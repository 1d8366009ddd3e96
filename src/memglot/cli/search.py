"""`memglot search`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.list import record_lines
from memglot.cli.session import LIMIT, Session, command, filter_options, filters_of


@command("search")
@click.argument("query", required=False, default="")
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "fulltext", "semantic"]),
    default="hybrid",
    show_default=True,
    help="By words and meaning, by words alone, by meaning alone.",
)
@filter_options
@click.option("--limit", type=LIMIT, help="At most so many; 10, or 50 with --budget.")
@click.option("--offset", type=LIMIT, default=0, help="Pass over the first so many.")
@click.option("--grep", metavar="RE", help="Only those that match this regular expression.")
@click.option("--context", type=click.IntRange(0, 100), default=0, metavar="N", help="N memories around each hit too.")
@click.option("--budget", type=click.IntRange(1), metavar="TOKENS", help="The best set as one block of Markdown.")
@click.option("--touch", is_flag=True, help="Count that what is shown was used.")
def search(session: Session, query: str, limit: int | None, touch: bool, budget: int | None, **options: Any) -> None:
    """Find memories by their words and their meaning, the best first.

    "a quoted phrase" must be there as written, -word must not. tag:x kind:x tree:a.b scope:x status:x filter, as do
    before:2024-05 and after:2024-05-31.
    """
    from memglot.search.results import results_value

    filters = filters_of(options)
    if limit is None:
        limit = 10 if budget is None else 50
    with session.memory(write=touch) as memory:
        results = memory.search(query, limit=limit, budget=budget, touch=touch, **options, **filters)
    session.print_notes(results.notes)
    lines = [results.block] if results.block is not None else _result_lines(results)
    session.print_result(results_value(results), lines, always=True)


def _result_lines(results: Any) -> list[str]:
    from memglot.display import excerpt

    lines: list[str] = []
    for hit in results:
        # What filters alone let through has no score.
        lines += record_lines(hit.record, f"{hit.score:.3g}" if hit.score else None)
        lines += [f"    | {record.id}  {excerpt(record.title or record.content)}" for record in hit.context]
        if hit.why:
            lines.append("    " + "; ".join(hit.why))
    shown = f", {len(results):,} shown" if len(results) < results.total else ""
    return [*lines, f"{results.total:,} found{shown}"]
