"""`memglot delete-tree`."""

from __future__ import annotations

import click

from memglot.cli.move import print_count
from memglot.cli.session import Session, command


@command("delete-tree")
@click.argument("path")
@click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing.")
@click.option("--reason", default="", help="Why; it is kept with the deletions.")
def delete_tree(session: Session, path: str, dry_run: bool, reason: str) -> None:
    """Delete every memory at PATH and below; `undelete` brings one back. `""` is the whole tree."""
    with session.memory(write=not dry_run) as memory:
        count = memory.delete_tree(path, dry_run=dry_run, reason=reason)
    print_count(session, "deleted", count, dry_run)
