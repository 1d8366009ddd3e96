"""`memglot convert`."""

from __future__ import annotations

import sys
from typing import Any

import click

from memglot.cli.export import dropped_text
from memglot.cli.format_name import FormatName
from memglot.cli.max_record import max_record_option
from memglot.cli.passphrase import passphrase_option, secret
from memglot.cli.session import Session, command
from memglot.display import plural
from memglot.exporting.convert import convert as convert_


@command(
    "convert",
    examples="""
    memglot convert notes.json notes.yaml
    memglot convert export.zip vault --from chatgpt --to obsidian --report
    memglot convert memory.jsonl - --from mcp-graph --to ndjson
    """,
)
@click.argument("source", metavar="IN", type=click.Path())
@click.argument("target", metavar="OUT", type=click.Path())
@click.option("--from", "from_", type=FormatName(), help="Format of IN (default: detected by extension and content).")
@click.option("--to", type=FormatName(), help="Format of OUT (default: by extension, else json).")
@click.option("--plain", is_flag=True, help="Write only the fields that the format itself defines, without a proof.")
@click.option("--lenient", is_flag=True, help="Accept later dialects of a format.")
@click.option(
    "--dialect",
    metavar="NAME",
    help="Dialect of OUT: `program` is what the tool reads, not what it documents; `0.8` is Memory Engine 0.8.",
)
@click.option(
    "--for-spreadsheets", is_flag=True, help="Mark cells of a CSV with `'` that spreadsheets would run as formulas."
)
@click.option("--one-note-per", type=click.Choice(["conversation"]), help="Write each conversation as one note.")
@click.option("--force", is_flag=True, help="Overwrite OUT.")
@click.option("--plaintext", is_flag=True, help="Write encrypted and sensitive memories without encryption.")
@passphrase_option
@max_record_option
@click.option("--report", is_flag=True, help="Show which fields were kept, carried and dropped.")
def convert(
    session: Session, source: str, target: str, report: bool, passphrase_file: str | None, **options: Any
) -> int:
    """Convert a file or folder to another format, without a store.

    IN may be `-` for standard input, OUT `-` for standard output.
    """
    to_stdout = target == "-"
    options["passphrase"] = secret(passphrase_file)
    with session.progress("converting") as bar:
        stream = sys.stdout.buffer if to_stdout else None
        result = convert_(source, None if to_stdout else target, stream=stream, progress=bar, **options)
    if session.json and not to_stdout:
        session.print_result(result.value(), "")
        return result.exit_code
    session.print_errors(result.errors)
    for note in result.notes:
        session.print_note(note)
    if report:
        click.echo(f"kept:    {', '.join(result.kept) or 'nothing'}", err=to_stdout)
        click.echo(f"carried: {', '.join(result.carried) or 'nothing'}", err=to_stdout)
        dropped = [dropped_text(loss["field"], len(loss["records"])) for loss in result.dropped]
        click.echo(f"dropped: {', '.join(dropped) or 'nothing'}", err=to_stdout)
    if not to_stdout:
        text = f"converted {plural(result.count, 'memory')} to {target} ({result.format})"
        session.print_result(result.value(), text if result.exit_code != 2 else "nothing was written")
    return result.exit_code
