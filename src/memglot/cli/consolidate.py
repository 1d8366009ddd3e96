"""`memglot consolidate`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.display import plural


@command("consolidate")
@click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing.")
def consolidate(session: Session, dry_run: bool) -> int:
    """Merge memories of the same content, kind and scope, and bring strengths up to date.

    The oldest of several doubles stays, and takes in what the others say; `undelete` brings one back. A strength
    fades from the day its memory arrived or was last used. Nothing is deleted for being weak.
    """
    from memglot.editing.decay import FADED

    with session.memory(write=not dry_run) as memory:
        result = memory.consolidate(dry_run=dry_run)
    done = "would have merged" if dry_run else "merged"
    lines = [f"{done} {plural(result.merged, 'memory')}, updated {result.updated:,} strengths"]
    if result.faded:
        lines.append(f"{result.faded:,} of {plural(result.memories, 'memory')} faded below {FADED:g} and stay")
    session.print_result(result.value(), lines if result.merged or result.updated else ["nothing changed", *lines[1:]])
    return result.exit_code
