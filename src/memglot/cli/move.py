"""`memglot move` and `memglot copy`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.display import plural


@command("move")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing.")
def move(session: Session, source: str, target: str, dry_run: bool) -> None:
    """Move every memory at SRC and below to DST; ids stay."""
    with session.memory(write=not dry_run) as memory:
        count = memory.move(source, target, dry_run=dry_run)
    print_count(session, "moved", count, dry_run)


@command("copy")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing.")
def copy(session: Session, source: str, target: str, dry_run: bool) -> None:
    """Copy every memory at SRC and below to DST, under new ids."""
    with session.memory(write=not dry_run) as memory:
        count = memory.copy(source, target, dry_run=dry_run)
    print_count(session, "copied", count, dry_run)


def print_count(session: Session, done: str, count: int, dry_run: bool) -> None:
    """Print how many memories a command changed, or would change."""
    text = f"{'would have ' if dry_run else ''}{done} {plural(count, 'memory')}"
    session.print_result({"count": count, "dryRun": dry_run}, text)
