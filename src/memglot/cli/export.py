"""`memglot export`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from memglot.cli.format_name import FormatName
from memglot.cli.session import LIMIT, Session, command, filter_options, filters_of
from memglot.display import plural
from memglot.errors import StoreError
from memglot.model import Record

if TYPE_CHECKING:
    from memglot.results import ExportResult


@command(
    "export",
    examples="""
    memglot export memories.json
    memglot export vault --format obsidian --tree work
    memglot export chats --format obsidian --one-note-per conversation
    memglot export notes --format markdown --layout tree
    memglot export memories.ndjson.gz --since 2024
    """,
)
@click.argument("path", required=False, type=click.Path())
@click.option("--format", "-f", type=FormatName(), help="Format of the export (default: by extension, else json).")
@filter_options
@click.option("--limit", type=LIMIT, metavar="N", help="Maximum number of memories (default: all).")
@click.option("--include-embeddings", is_flag=True, help="Include the vectors of semantic search.")
@click.option("--no-conversations", is_flag=True, help="Leave out memories that come from conversations.")
@click.option("--plain", is_flag=True, help="Write only the fields that the format itself defines, without a proof.")
@click.option(
    "--dialect",
    metavar="NAME",
    help="Dialect of the format: `program` is what the tool reads, not what it documents; `0.8` is Memory Engine 0.8.",
)
@click.option(
    "--layout",
    type=click.Choice(["flat", "kind", "tree"]),
    default="flat",
    help="Folders of a Markdown export: one, by kind or by tree (default: flat).",
)
@click.option(
    "--for-spreadsheets", is_flag=True, help="Mark cells of a CSV with `'` that spreadsheets would run as formulas."
)
@click.option("--one-note-per", type=click.Choice(["conversation"]), help="Write each conversation as one note.")
@click.option("--force", is_flag=True, help="Overwrite an existing file or folder.")
def export(session: Session, path: str | None, no_conversations: bool, **options: Any) -> int:
    """Export memories to a file, folder or standard output.

    Without PATH, or with `-`, the command writes to standard output. An export is ordered by time and contains a proof:
    `memglot verify` detects missing and edited memories.

    If the store is damaged, the command exports what can be read, lists what is lost, and exits with 1.
    """
    filters = filters_of(options)
    path = None if path == "-" else path
    with session.memory() as memory, session.progress("exporting") as bar:
        stream = sys.stdout.buffer if path is None else None
        result = memory.export(
            path, include_conversations=not no_conversations, stream=stream, progress=bar, **options, **filters
        )
    _remember(session, result)
    print_export(session, result, path)
    return 1 if result.is_partial else 0


def _remember(session: Session, result: ExportResult) -> None:
    """Remember what was written for another tool; the export itself only reads the store."""
    if not result.exchange or result.is_partial:
        return
    try:
        with session.memory(write=True) as memory:
            memory.remember_export(result)
    except StoreError as error:
        result.note_forgotten(error)


def print_export(session: Session, result: ExportResult, path: str | None) -> None:
    """Print the result of an export; if the export went to standard output, print only its notes."""
    if not session.json or path is None:
        for field, count in sorted(result.losses.items()):
            session.print_note(f"dropped {dropped_text(field, count)}: this format cannot store it")
        for note in result.notes:
            session.print_note(note)
    if path is not None:
        memories = plural(result.count, "memory")
        text = f"exported {memories} to {path} ({result.format})"
        if not result.is_written:
            text = f"nothing new: {path} already contains {memories}"
        session.print_result(result.value(), text)


def dropped_text(field: str, count: int) -> str:
    """Return what was dropped: a field of some memories, or items of some kind."""
    if field.split(" ")[0] in Record.__struct_fields__:
        return f"`{field}` from {plural(count, 'memory')}"
    return f"`{field}` ({plural(count, 'item')})"
