"""`memglot undo`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.session import Session, command


@command("undo")
@click.argument("import_id", metavar="IMPORT_ID")
@click.option("--force", is_flag=True, help="Also what was changed since.")
def undo(session: Session, import_id: str, force: bool) -> None:
    """Undo an import: remove what it added and put back what it changed. `last` is the newest import."""
    with session.memory(write=True) as memory:
        result = memory.undo(import_id, force=force)
    value: dict[str, Any] = {"importId": result.import_id, "removed": result.imported, "restored": result.merged}
    session.print_result({**value, "notes": result.notes}, f"removed {result.imported:,}, put back {result.merged:,}")
    session.print_notes(result.notes)
