"""`memglot list`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from memglot.cli.json_output import Stream
from memglot.cli.session import LIMIT, Session, command, filter_options, filters_of
from memglot.display import excerpt, plural
from memglot.model import format_time
from memglot.results import record_value


@command(
    "list",
    examples="""
    memglot list --limit 20
    memglot list --tree work --tag rule
    memglot list --since 2024-05 --kind decision --kind note --json
    """,
)
@filter_options
@click.option("--limit", type=LIMIT, metavar="N", default=50, show_default=True, help="Maximum number of memories.")
@click.option(
    "--offset", type=LIMIT, metavar="N", default=0, help="Number of memories to skip at the start (default: 0)."
)
@click.option("--oldest-first", is_flag=True, help="List the oldest memories first.")
def list_(session: Session, oldest_first: bool, **options: Any) -> None:
    """List memories, newest first."""
    filters = filters_of(options)
    with session.memory() as memory:
        records = memory.list(newest_first=not oldest_first, **options, **filters)
        total = memory.count(**filters)
        if session.json:
            session.print_result({"results": Stream(map(record_value, records)), "total": total}, "")
            return
        shown = 0
        for record in records:
            click.echo("\n".join(record_lines(record)))
            shown += 1
        click.echo(plural(total, "memory") + (f", {shown:,} shown" if shown < total else ""))


def record_lines(record: Any, score: str | None = None) -> Iterator[str]:
    """Return the two lines that show a memory in a list."""
    about = [record.id, format_time(record.created_at)[:10], record.tree, *(f"#{tag}" for tag in record.tags), score]
    yield "  ".join(part for part in about if part)
    yield "    " + excerpt(record.title or record.content)
