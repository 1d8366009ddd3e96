"""`memglot restore`."""

from __future__ import annotations

from pathlib import Path

import click

from memglot.cli.session import Session, command
from memglot.display import plural
from memglot.editing.backup import restore as restore_


@command(
    "restore",
    examples="""
    memglot restore memories-backup.db
    memglot restore memories-backup.db --force
    """,
)
@click.argument("path", type=click.Path())
@click.option("--force", is_flag=True, help="Replace an existing store, which is kept as `<name>.before-restore`.")
def restore(session: Session, path: str, force: bool) -> None:
    """Replace the store with a backup.

    The backup is checked first: nothing is replaced if it is damaged.
    """
    notes: list[str] = []
    with session.working("verifying and copying"):
        restored_to, count = restore_(Path(path), session.store, force=force, tell=notes.append)
    for note in notes:
        session.print_note(note)
    session.print_result(
        {"path": str(restored_to), "memories": count}, f"restored {plural(count, 'memory')} to {restored_to}"
    )
