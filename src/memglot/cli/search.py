"""`memglot search`."""

from __future__ import annotations

import re
from typing import Any

import click

from memglot.cli.record_list import format_option, found, print_plain
from memglot.cli.session import LIMIT, Session, command, filter_options, filters_of
from memglot.cli.style import Style
from memglot.search.results import Results, hit_value, results_value


@command(
    "search",
    examples="""
    memglot search task queue
    memglot search '"connection pool" -mysql tag:decision' --limit 5
    memglot search "how do we deploy" --mode semantic --tree work
    memglot search "coding style" --budget 2000
    """,
)
@click.argument("words", nargs=-1, metavar="[QUERY]...")
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "fulltext", "semantic"]),
    default="hybrid",
    show_default=True,
    help="Kind of search: keyword (fulltext), semantic, or both (hybrid).",
)
@filter_options
@format_option
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
def search(
    session: Session,
    words: tuple[str, ...],
    format: str,
    limit: int | None,
    touch: bool,
    budget: int | None,
    **options: Any,
) -> None:
    """Search memories by keywords and meaning.

    The best results come first. A "quoted phrase" must occur as written; -word excludes a word. These words filter:
    tag:x, kind:x, tree:a.b, scope:x, status:x, before:2024-05 and after:2024-05-31. Put the query after `--` if it
    starts with `-word`.
    """
    filters = filters_of(options)
    if limit is None:
        limit = 10 if budget is None else 50
    query = words[0] if len(words) == 1 else " ".join(map(_quoted, words))
    with session.memory(write=touch) as memory:
        with session.working("searching"):
            results = memory.search(query, limit=limit, budget=budget, touch=touch, **options, **filters)
        session.print_notes(results.notes)
        if session.json or format == "json":
            session.json = True
            session.print_result(results_value(results), "")
        elif format != "table":
            print_plain(format, results, hit_value)
        elif results.block is not None:
            session.print_result(None, results.block, always=True)
        else:
            style = Style()
            style.show([*found(memory, results, style), _count(results), *_suggestions(results, query, filters)])


def _quoted(word: str) -> str:
    """Return a word as the query language reads it: the shell has removed the quotation marks of a phrase."""
    return f'"{word}"' if " " in word and '"' not in word and ":" not in word else word


def _count(results: Results) -> str:
    shown = f", {len(results):,} shown" if len(results) < results.total else ""
    return f"{results.total:,} found{shown}"


def _suggestions(results: Results, query: str, filters: dict[str, Any]) -> list[str]:
    """Return what to try if nothing was found."""
    if results.total:
        return []
    tries = []
    if '"' in query or re.search(r"(^|\s)-\w", query):
        tries.append("leave out quotation marks and `-words`")
    if any(filters.values()) or re.search(r"\b\w+:\S", query):
        tries.append("leave out a filter")
    tries += ["use fewer or other words", "`memglot list` and `memglot tree` show what is stored"]
    return [f"try: {'; '.join(tries)}"]
