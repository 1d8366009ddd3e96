"""`memglot move` and `memglot copy`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.display import plural


@command(
    "move",
    examples="""
    memglot move work.deploys work.releases
    memglot move inbox archive.2024 --dry-run
    """,
)
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option("--dry-run", is_flag=True, help="Show what would change without writing anything.")
def move(session: Session, source: str, target: str, dry_run: bool) -> None:
    """Move a branch of the tree.

    Every memory at SRC and below it moves to DST and keeps its id. Large branches are moved in batches, so that other
    programs can write meanwhile; after an interruption, run the command again to move the rest.
    """
    with session.memory(write=not dry_run) as memory, session.counting("moving") as progress:
        count = memory.move(source, target, dry_run=dry_run, progress=progress)
    print_count(session, "would move" if dry_run else "moved", count, dry_run)


@command("copy", examples="memglot copy work.style templates.style")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option("--dry-run", is_flag=True, help="Show what would change without writing anything.")
def copy(session: Session, source: str, target: str, dry_run: bool) -> None:
    """Copy a branch of the tree.

    Every memory at SRC and below it is copied to DST; the copies get new ids. Memories that are already at DST, with
    the same text, kind and scope, are not copied again.
    """
    with session.memory(write=not dry_run) as memory, session.counting("copying") as progress:
        count = memory.copy(source, target, dry_run=dry_run, progress=progress)
    print_count(session, "would copy" if dry_run else "copied", count, dry_run)


def print_count(session: Session, done: str, count: int, dry_run: bool) -> None:
    """Print how many memories a command changed, or would change."""
    session.print_result({"count": count, "dryRun": dry_run}, f"{done} {plural(count, 'memory')}")
