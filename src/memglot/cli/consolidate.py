"""`memglot consolidate`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.display import plural
from memglot.editing.decay import FADED


@command(
    "consolidate",
    examples="""
    memglot consolidate --dry-run
    memglot consolidate
    """,
)
@click.option("--dry-run", is_flag=True, help="Show what would change without writing anything.")
def consolidate(session: Session, dry_run: bool) -> int:
    """Merge exact duplicates and update strengths.

    Duplicates have the same content, kind and scope. The oldest one is kept and gets the fields of the others;
    `memglot undelete` restores one of these. The strength of a memory decays from the day it was added or last used;
    weak memories are never deleted.
    """
    with session.memory(write=not dry_run) as memory, session.working("consolidating"):
        result = memory.consolidate(dry_run=dry_run)
    merge, update = ("would merge", "update") if dry_run else ("merged", "updated")
    lines = [f"{merge} {plural(result.merged, 'memory')}, {update} {plural(result.updated, 'strength')}"]
    if result.faded:
        lines.append(
            f"{result.faded:,} of {plural(result.memories, 'memory')} have a strength below {FADED:g}; they are kept"
        )
    session.print_result(result.value(), lines if result.merged or result.updated else ["nothing changed", *lines[1:]])
    return result.exit_code
