"""`search` and `list`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from memglot.cli.face import LIMIT, Face, command, filter_options, filters_of, memories


@command("search")
@click.argument("query", required=False, default="")
@click.option(
    "--mode", type=click.Choice(["fulltext", "hybrid", "semantic"]), default="fulltext", help="How to search."
)
@filter_options
@click.option("--limit", type=LIMIT, default=10, show_default=True, help="At most so many.")
@click.option("--offset", type=LIMIT, default=0, help="Pass over the first so many.")
@click.option("--grep", metavar="RE", help="Only those that match this regular expression.")
def search(face: Face, query: str, **options: Any) -> None:
    """Find memories by their words: every word must be there.

    "a quoted phrase" is found as it stands, -word must not be there.
    """
    from memglot.engine.search import hit_value

    filters = filters_of(options)
    with face.memory() as memory:
        results = memory.search(query, **options, **filters)
    lines: list[str] = []
    for hit in results:
        lines += _lines(hit.record, f"{hit.score:.3g}")
    lines.append(f"{results.total:,} found" + (f", {len(results):,} shown" if len(results) < results.total else ""))
    face.answer({"results": [hit_value(hit) for hit in results], "total": results.total}, lines, asked=True)


@command("list")
@filter_options
@click.option("--limit", type=LIMIT, default=50, show_default=True, help="At most so many.")
@click.option("--offset", type=LIMIT, default=0, help="Pass over the first so many.")
@click.option("--oldest-first", is_flag=True, help="Begin with the oldest.")
def list_(face: Face, oldest_first: bool, **options: Any) -> None:
    """List memories, the newest first."""
    from memglot.cli.json_output import Stream
    from memglot.engine.show import record_value

    filters = filters_of(options)
    with face.memory() as memory:
        records = memory.list(newest_first=not oldest_first, **options, **filters)
        total = memory.count(**filters)
        if face.json:
            face.answer({"results": Stream(map(record_value, records)), "total": total}, "")
            return
        shown = 0
        for record in records:
            click.echo("\n".join(_lines(record)))
            shown += 1
        click.echo(memories(total) + (f", {shown:,} shown" if shown < total else ""))


def _lines(record: Any, score: str | None = None) -> Iterator[str]:
    from memglot.engine.show import first_line
    from memglot.model import format_time

    about = [record.id, format_time(record.created_at)[:10], record.tree, *(f"#{tag}" for tag in record.tags), score]
    yield "  ".join(part for part in about if part)
    yield "    " + first_line(record.title or record.content)


COMMANDS = {"search": search, "list": list_}
