"""`memglot undo`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.session import Session, command
from memglot.display import plural


@command(
    "undo",
    examples="""
    memglot undo last
    memglot undo 0194a000-0006-7000-8000-000000000006 --force
    """,
)
@click.argument("import_id", metavar="IMPORT_ID")
@click.option("--force", is_flag=True, help="Undo it even for memories that were changed since.")
def undo(session: Session, import_id: str, force: bool) -> None:
    """Undo an import.

    The command removes the memories that the import added and restores those that it changed. IMPORT_ID may be `last`
    for the newest import, even if it is undone already; `memglot imports` lists all of them.
    """
    with session.memory(write=True) as memory:
        result = memory.undo(import_id, force=force)
    value: dict[str, Any] = {"importId": result.import_id, "removed": result.imported, "restored": result.merged}
    session.print_notes(result.notes)
    session.print_result(
        {**value, "notes": result.notes}, f"removed {plural(result.imported, 'memory')}, restored {result.merged:,}"
    )
