"""Build the vectors of imported memories, as the last step of a command that imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memglot.cli.session import Session

if TYPE_CHECKING:
    from memglot.exporting.sync_path import SyncResult
    from memglot.memory import Memory
    from memglot.results import ImportResult

embed_option = click.option(
    "--embed/--no-embed",
    default=True,
    help="Build vectors for semantic search when the memories are stored (default), or leave that to `memglot embed`.",
)


def embed_imported(session: Session, memory: Memory, result: ImportResult | SyncResult, *, embed: bool = True) -> None:
    """Build the missing vectors after an import. If the user interrupts this, the import is complete all the same."""
    session.writes_batches = False
    if result.dry_run or not embed:
        return
    try:
        with session.counting("embedding") as count:
            memory.embed_imported(result, progress=count)
    except KeyboardInterrupt:
        from memglot.search.semantic import note_missing_vectors

        missing = memory.meaning.missing()
        rest = f"; {note_missing_vectors(missing)}" if missing else ""
        result.notes.append(f"the import is complete; interrupted while building vectors{rest}")
