"""`memglot repo restore`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from memglot.cli.repo.output import Data, print_envelope
from memglot.cli.session import Session, command


@command("restore")
@click.argument("backup", required=False)
def restore(session: Session, backup: str | None) -> int:
    """Restore memory that `reset` cleared.

    BACKUP is the name of a backup (default: the last one). Existing memory is backed up first.
    """
    from memglot.project.envelope import run
    from memglot.project.reset import restore

    return print_envelope(session, run(Path(), partial(restore, name=backup)), restore_text)


def restore_text(data: Data) -> str:
    """Describe what was restored."""
    lines = [f"Memory was restored from {data['backup_path']}."]
    if data["replaced_backup"]:
        lines.append(f"The previous memory was backed up to {data['replaced_backup']}.")
    return "\n".join(lines)
