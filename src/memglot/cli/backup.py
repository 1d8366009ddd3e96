"""`memglot backup`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.display import plural


@command(
    "backup",
    examples="""
    memglot backup memories-backup.db
    memglot backup ~/backups --keep 7d,4w,12m
    """,
)
@click.argument("path", type=click.Path())
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option(
    "--keep",
    metavar="PERIODS",
    help="Remove old backups from the folder PATH, except the newest of each of the last N hours, days, weeks, months "
    "or years that have one: `7d,4w,12m`.",
)
def backup(session: Session, path: str, force: bool, keep: str | None) -> None:
    """Write a copy of the store to a file.

    If PATH is a folder, the name of the file contains the present time. The copy is verified before it gets its name:
    a damaged store is not backed up, and replaces no earlier backup.
    """
    with session.memory() as memory, session.working("copying and verifying"):
        result = memory.backup(path, force=force, keep=keep)
    lines = [f"wrote {result.path} ({plural(result.memories, 'memory')}, {result.bytes:,} bytes)"]
    if result.removed:
        lines.append(f"removed {plural(len(result.removed), 'older backup')}")
    session.print_notes(result.notes)
    session.print_result(result.value(), lines)
