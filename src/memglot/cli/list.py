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
from memglot.editing.deleted import DeletedMemory
from memglot.model import format_time
from memglot.results import record_value
from memglot.text.highlight import passage


@command(
    "list",
    examples="""
    memglot list --limit 20
    memglot list --tree work --tag rule
    memglot list --since 2024-05 --kind decision --kind note --json
    memglot list --deleted --since yesterday
    """,
)
@filter_options
@format_option
@click.option("--limit", type=LIMIT, metavar="N", default=50, show_default=True, help="Maximum number of memories.")
@click.option(
    "--offset", type=LIMIT, metavar="N", default=0, help="Number of memories to skip at the start (default: 0)."
)
@click.option("--oldest-first", is_flag=True, help="List the oldest memories first.")
@click.option("--deleted", is_flag=True, help="List deleted memories, the newest deletion first.")
def list_(session: Session, oldest_first: bool, deleted: bool, format: str, **options: Any) -> None:
    """List memories, newest first.

    Each line starts with the end of the id, which other commands accept. With `--deleted`, the list shows deleted
    memories, which `memglot undelete` restores; then `--tree` and `--since` (the time of the deletion) are the only
    filters.
    """
    filters = filters_of(options)
    if deleted:
        _list_deleted(session, oldest_first, format, filters, options["limit"], options["offset"])
        return
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


def _list_deleted(
    session: Session, oldest_first: bool, format: str, filters: dict[str, Any], limit: int, offset: int
) -> None:
    wanted = {name: value for name, value in filters.items() if value}
    if oldest_first or not wanted.keys() <= {"tree", "since"}:
        raise click.UsageError("`--deleted` can only be combined with `--tree`, `--since`, `--limit` and `--offset`")
    with session.memory() as memory:
        found, total = memory.deleted(**wanted, limit=limit, offset=offset)
        if session.json or format == "json":
            session.json = True
            session.print_result({"results": Stream(map(_deleted_value, found)), "total": total}, "")
        elif format != "table":
            print_plain(format, found, _deleted_value)
        else:
            style = Style()
            count = f"{plural(total, 'deleted memory')}" + (f", {len(found):,} shown" if len(found) < total else "")
            style.show(chain((_deleted_row(one, style) for one in found), [count]))


def _deleted_value(found: DeletedMemory) -> dict[str, Any]:
    record = record_value(found.record) if found.record is not None else None
    return {"id": found.id, "deleted_at": format_time(found.deleted_at), "reason": found.reason, "record": record}


def _deleted_row(found: DeletedMemory, style: Style) -> str:
    record = found.record
    text = "(its text is not known here)" if record is None else record.title or record.content
    about = "  ".join(filter(None, [record.tree if record is not None else "", found.reason]))
    line, _ = passage(text, (), max(style.width - len(found.id) - len(about) - 24, 20))
    row = f"{style.paint(found.id, 'id')}  {style.paint('deleted ' + style.age(found.deleted_at), 'about')}  {line}"
    return f"{row}  {style.paint(about, 'about')}" if about else row
