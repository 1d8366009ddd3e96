"""`memglot imports`."""

from __future__ import annotations

import click
import msgspec

from memglot.cli.session import Session, command
from memglot.model import format_time
from memglot.report import Fault
from memglot.results import import_value


@command(
    "imports",
    examples="""
    memglot imports
    memglot imports last
    """,
)
@click.argument("import_id", metavar="[IMPORT_ID]", required=False)
def imports(session: Session, import_id: str | None) -> None:
    """List past imports, newest first.

    With IMPORT_ID, show the report of one import with its errors; `last` is the newest import.
    """
    if import_id is not None:
        _print_import(session, import_id)
        return
    with session.memory() as memory:
        entries = list(memory.imports())
    lines = [
        f"{entry.id}  {format_time(entry.at)[:16]}  {entry.format}  {entry.imported:,} imported, "
        f"{entry.merged:,} merged  {entry.state}  {', '.join(entry.sources)}"
        for entry in entries
    ]
    values = [msgspec.to_builtins(entry) for entry in entries]
    for value in values:
        del value["closed"]  # An internal field of the store.
    session.print_result({"imports": values}, lines or "none", always=True)


def _print_import(session: Session, import_id: str) -> None:
    """Print the report of one import."""
    with session.memory() as memory:
        entry = memory.import_report(import_id)
    counts = (f"{getattr(entry, name):,} {name}" for name in ("imported", "merged", "skipped", "failed"))
    lines = [f"{entry.id}  {entry.state}  {entry.format}  {', '.join(entry.sources)}", ", ".join(counts)]
    lines += [f"error: {msgspec.convert(error, Fault)}" for error in entry.errors]
    lines += [f"note: {note}" for note in entry.notes]
    session.print_result(import_value(entry), lines, always=True)
