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
@click.option("--yes", "-y", is_flag=True, help="Delete the complete tree without asking.")
def delete_tree(session: Session, path: str, dry_run: bool, reason: str, yes: bool) -> None:
    """Delete a branch of the tree.

    Every memory at PATH and below it is deleted; `""` is the complete tree, and asks first. `memglot undelete --tree`
    restores the memories of a branch.
    """
    if not path and not dry_run:
        _ask(session, yes)
    with session.memory(write=not dry_run) as memory, session.counting("deleting") as progress:
        count = memory.delete_tree(path, dry_run=dry_run, reason=reason, progress=progress)
    print_count(session, "would delete" if dry_run else "deleted", count, dry_run)


def _ask(session: Session, yes: bool) -> None:
    with session.memory() as memory:
        count = memory.count(with_deleted=True)
    session.confirm(
        f"Delete all memories of the store ({count:,})?",
        yes=yes,
        refusal=f"this would delete all memories of the store ({count:,})",
        hint="add `--yes` to delete them, or name a branch of the tree; `memglot tree` lists them",
    )
