"""`memglot list`."""

from __future__ import annotations

from itertools import chain
from typing import Any

import click

from memglot.cli.json_output import Stream
from memglot.cli.record_list import format_option, print_plain, rows
from memglot.cli.session import LIMIT, Session, command, filter_options, filters_of
from memglot.cli.style import Style
from memglot.display import plural
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
@format_option
@click.option("--limit", type=LIMIT, metavar="N", default=50, show_default=True, help="Maximum number of memories.")
@click.option(
    "--offset", type=LIMIT, metavar="N", default=0, help="Number of memories to skip at the start (default: 0)."
)
@click.option("--oldest-first", is_flag=True, help="List the oldest memories first.")
def list_(session: Session, oldest_first: bool, format: str, **options: Any) -> None:
    """List memories, newest first.

    Each line starts with the end of the id, which other commands accept.
    """
    filters = filters_of(options)
    with session.memory() as memory:
        records = memory.list(newest_first=not oldest_first, **options, **filters)
        total = memory.count(**filters)
        shown = min(options["limit"], max(total - options["offset"], 0))
        if session.json or format == "json":
            session.json = True
            session.print_result({"results": Stream(map(record_value, records)), "total": total}, "")
        elif format != "table":
            print_plain(format, records, record_value)
            if shown < total:
                session.print_note(f"{shown:,} of {plural(total, 'memory')} shown; use `--limit` to show more")
        else:
            count = plural(total, "memory") + (f", {shown:,} shown" if shown < total else "")
            style = Style()
            style.show(chain(rows(memory, records, style), [count]))
