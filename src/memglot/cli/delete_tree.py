"""`memglot delete-tree`."""

from __future__ import annotations

import click

from memglot.cli.move import print_count
from memglot.cli.session import Session, command


@command(
    "delete-tree",
    examples="""
    memglot delete-tree inbox --dry-run
    memglot delete-tree inbox --reason "sorted into archive"
    """,
)
@click.argument("path")
@click.option("--dry-run", is_flag=True, help="Show what would change without writing anything.")
@click.option("--reason", default="", help="Reason, stored with the deletions.")
def delete_tree(session: Session, path: str, dry_run: bool, reason: str) -> None:
    """Delete a branch of the tree.

    Every memory at PATH and below it is deleted; `""` is the complete tree. `memglot undelete` restores a memory.
    """
    with session.memory(write=not dry_run) as memory, session.counting("deleting") as progress:
        count = memory.delete_tree(path, dry_run=dry_run, reason=reason, progress=progress)
    print_count(session, "would delete" if dry_run else "deleted", count, dry_run)
