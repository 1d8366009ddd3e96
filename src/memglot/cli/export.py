"""`memglot export`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from memglot.cli.format_name import FormatName
from memglot.cli.session import LIMIT, Session, command, filter_options, filters_of
from memglot.display import plural

if TYPE_CHECKING:
    from memglot.results import ExportResult


@command("export")
@click.argument("path", required=False, type=click.Path())
@click.option("--format", "-f", type=FormatName(), help="The format; else by extension, else json.")
@filter_options
@click.option("--limit", type=LIMIT, help="At most so many.")
@click.option("--include-embeddings", is_flag=True, help="Vectors too.")
@click.option("--no-conversations", is_flag=True, help="Leave out what came from conversations.")
@click.option("--plain", is_flag=True, help="Only what the format itself has a place for; no proof.")
@click.option("--dialect", metavar="NAME", help="`program`: what the real tool reads, where its page says otherwise.")
@click.option("--layout", type=click.Choice(["flat", "kind", "tree"]), default="flat", help="Folders of Markdown.")
@click.option("--force", is_flag=True, help="Overwrite what is there.")
def export(session: Session, path: str | None, no_conversations: bool, **options: Any) -> None:
    """Write memories to a file, a folder or standard output.

    An export is complete, ordered by time, and proves itself: `memglot verify` finds what was cut off or edited.
    """
    filters = filters_of(options)
    path = None if path == "-" else path
    with session.memory() as memory, session.progress("exporting") as bar:
        stream = sys.stdout.buffer if path is None else None
        result = memory.export(
            path, include_conversations=not no_conversations, stream=stream, progress=bar, **options, **filters
        )
    print_export(session, result, path)


def print_export(session: Session, result: ExportResult, path: str | None) -> None:
    """Show what an export wrote; where that went to standard output, only what a person should know."""
    if path is not None:
        session.print_result(result.value(), f"exported {plural(result.count, 'memory')} to {path} ({result.format})")
    if not session.json or path is None:
        for field, count in sorted(result.losses.items()):
            session.print_note(f"dropped `{field}` of {count:,}: this export has no place for it")
        for note in result.notes:
            session.print_note(note)
