"""`memglot tags`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memglot.cli.move import print_count
from memglot.cli.session import LIMIT, Session, command, filter_options, filters_of, group
from memglot.cli.style import Style
from memglot.display import plural


@group(
    "tags",
    invoke_without_command=True,
    examples="""
    memglot tags
    memglot tags --tree work --since 2024 --limit 20
    memglot tags rename db database
    """,
)
@filter_options
@click.option("--limit", type=LIMIT, metavar="N", help="Maximum number of tags (default: all).")
@click.pass_context
def tags(context: click.Context, /, limit: int | None, **options: Any) -> None:
    """List tags with the number of their memories, or rename a tag.

    The most common tags come first. The filters are those of `memglot list`.
    """
    if context.invoked_subcommand is not None:
        if limit is not None or any(options.values()):
            raise click.UsageError(f"`{context.invoked_subcommand}` has no filters")
        return
    session = context.ensure_object(Session)
    with session.memory() as memory:
        found = memory.tags(**filters_of(options))
    shown = found if limit is None else found[:limit]
    if session.json:
        session.print_result({"tags": msgspec.to_builtins(shown), "total": len(found)}, "")
        return
    count = plural(len(found), "tag") + (f", {len(shown):,} shown" if len(shown) < len(found) else "")
    width = max((len(f"{one.count:,}") for one in shown), default=0)
    style = Style()
    lines = [f"{f'{one.count:,}':>{width}}  {style.paint(one.tag, 'title')}" for one in shown]
    style.show([*lines, count])


@command(
    "rename",
    examples="""
    memglot tags rename db database --dry-run
    memglot tags rename db database
    """,
)
@click.argument("old")
@click.argument("new")
@click.option("--dry-run", is_flag=True, help="Show what would change without writing anything.")
def rename(session: Session, old: str, new: str, dry_run: bool) -> None:
    """Rename a tag in all memories that have it.

    If NEW is a tag already, the two become one.
    """
    with session.memory(write=not dry_run) as memory, session.counting("renaming") as progress:
        count = memory.rename_tag(old, new, dry_run=dry_run, progress=progress)
    print_count(session, "would update" if dry_run else "updated", count, dry_run)


tags.add_command(rename)
