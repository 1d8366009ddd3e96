"""`memglot delete` and `memglot undelete`."""

from __future__ import annotations

import click

from memglot.cli.move import print_count
from memglot.cli.session import Session, command
from memglot.results import record_value


@command(
    "delete",
    examples="""
    memglot delete 0194a000-0006
    memglot delete 0194a000-0006 0194a000-0007 --reason "out of date"
    """,
)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--reason", default="", help="Reason, stored with the deletion.")
def delete(session: Session, ids: tuple[str, ...], reason: str) -> None:
    """Delete memories.

    `memglot undelete` restores a deleted memory. Importing an old file that contains it does not.
    """
    with session.memory(write=True) as memory:
        deleted = memory.delete(*ids, reason=reason)
    session.print_result({"deleted": deleted}, [f"deleted {id}" for id in deleted])


@command(
    "undelete",
    examples="""
    memglot list --deleted
    memglot undelete 0194a000-0006 0194a000-0007
    memglot undelete --tree work --since yesterday --dry-run
    """,
)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--tree", metavar="PATH", help="Restore everything deleted at or below this path.")
@click.option("--since", metavar="TIME", help="Restore everything deleted at or after TIME, such as `7d`.")
@click.option("--dry-run", is_flag=True, help="Show what would change without writing anything.")
def undelete(session: Session, ids: tuple[str, ...], tree: str | None, since: str | None, dry_run: bool) -> None:
    """Restore deleted memories.

    Give ids, or `--tree` and `--since` for all memories that were deleted there and then; those that were merged into
    another memory stay merged. `memglot list --deleted` shows what was deleted.
    """
    with session.memory(write=not dry_run) as memory:
        if len(ids) == 1 and tree is None and since is None and not dry_run:
            record = memory.undelete(ids[0])
            session.print_result(record_value(record), f"restored {record.id}")
            return
        with session.counting("restoring") as progress:
            count = memory.undelete_many(*ids, tree=tree, since=since, dry_run=dry_run, progress=progress)
    print_count(session, "would restore" if dry_run else "restored", count, dry_run)
