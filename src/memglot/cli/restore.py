"""`memglot restore`."""

from __future__ import annotations

from pathlib import Path

import click

from memglot.cli.session import Session, command
from memglot.display import plural


@command("restore")
@click.argument("path", type=click.Path())
@click.option("--force", is_flag=True, help="Replace the present store; it is kept as `<name>.before-restore`.")
def restore(session: Session, path: str, force: bool) -> None:
    """Put a backup in the place of the store, after checking that it is whole."""
    from memglot.editing.maintenance import restore as restore_

    place, count = restore_(Path(path), session.store, force=force, tell=session.print_note)
    session.print_result({"path": str(place), "memories": count}, f"restored {plural(count, 'memory')} to {place}")
