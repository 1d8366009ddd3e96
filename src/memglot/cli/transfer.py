"""`import`, `export`, `convert`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from memglot.cli.format_name import FormatName
from memglot.cli.passphrase import passphrase_option, secret
from memglot.cli.session import LIMIT, Session, command, filter_options, filters_of, memories

if TYPE_CHECKING:
    from memglot.results import ExportResult, ImportResult


@command("import")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option("--format", "-f", type=FormatName(), help="The format; else by extension, then by content.")
@click.option("--dedup", type=click.Choice(["content", "id"]), help="What makes two memories the same.")
@click.option("--no-dedup", is_flag=True, help="The same as --dedup id.")
@click.option(
    "--conflict",
    type=click.Choice(["skip", "merge", "prefer-local", "prefer-remote"]),
    help="What to do with an id that is stored already; by default what its format does.",
)
@click.option("--tree", default="", metavar="PREFIX", help="Put everything below this path.")
@click.option("--tag", "tags", multiple=True, help="Give every memory this tag.")
@click.option("--space", help="Tells apart equal ids of one tool.")
@click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first error.")
@click.option("--lenient", is_flag=True, help="Accept later dialects of a format.")
@click.option("--restore-deleted", is_flag=True, help="Bring back what was deleted here.")
@passphrase_option
@click.option("--accept-broken-audit", is_flag=True, help="Import memories.json though its audit chain is broken.")
@click.option("--embed", is_flag=True, help="Let it all be found by meaning at once; `memglot embed` does so later.")
@click.option("--recursive", "-r", is_flag=True, help="Accepted; folders are always read whole.")
def import_(
    session: Session,
    paths: tuple[str, ...],
    no_dedup: bool,
    recursive: bool,
    dry_run: bool,
    passphrase_file: str | None,
    **options: Any,
) -> int:
    """Import files, folders or standard input.

    One bad record never costs its siblings: each is named with its file, line or item, and the reason.
    """
    if no_dedup:
        options["dedup"] = "id"
    options["passphrase"] = secret(passphrase_file)
    session.writes_batches = not dry_run
    with session.memory(write=not dry_run, dry_run=dry_run) as memory, session.progress("importing") as bar:
        result = memory.import_from(*(paths or ("-",)), dry_run=dry_run, progress=bar, **options)
    return tell_import(session, result)


def tell_import(session: Session, result: ImportResult) -> int:
    """Show what an import did; tells the exit code."""
    session.print_result(result.value(), _import_text(result))
    if not session.json:
        session.print_errors(result.errors)
        for note in result.notes:
            session.print_note(note)
    return int(result.exit_code)


def _import_text(result: Any) -> list[str]:
    would = "would import" if result.dry_run else "imported"
    read = result.imported + result.merged + result.skipped + result.failed
    lines = [f"read {read:,}: {would} {result.imported:,}, merged {result.merged:,}, "
             f"skipped {result.skipped:,}, failed {result.failed:,}"]  # fmt: skip
    if result.import_id:
        lines.append(f"import {result.import_id}; `memglot undo {result.import_id}` takes it back")
    elif not result.dry_run and not result.marked:
        lines.append("nothing changed")
    return lines


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
    tell_export(session, result, path)


def tell_export(session: Session, result: ExportResult, path: str | None) -> None:
    """Show what an export wrote; where that went to standard output, only what a person should know."""
    if path is not None:
        session.print_result(result.value(), f"exported {memories(result.count)} to {path} ({result.format})")
    if not session.json or path is None:
        for field, count in sorted(result.losses.items()):
            session.print_note(f"dropped `{field}` of {count:,}: this export has no place for it")
        for note in result.notes:
            session.print_note(note)


@command("convert")
@click.argument("source", metavar="IN", type=click.Path())
@click.argument("target", metavar="OUT", type=click.Path())
@click.option("--from", "from_", type=FormatName(), help="The format of IN; else it is detected.")
@click.option("--to", type=FormatName(), help="The format of OUT; else by extension, else json.")
@click.option("--plain", is_flag=True, help="Only what the format itself has a place for.")
@click.option("--lenient", is_flag=True, help="Accept later dialects of a format.")
@click.option("--dialect", metavar="NAME", help="`program`: what the real tool reads, where its page says otherwise.")
@click.option("--force", is_flag=True, help="Overwrite OUT.")
@click.option("--plaintext", is_flag=True, help="Write what was sealed, or is sensitive, as it is.")
@passphrase_option
@click.option("--report", is_flag=True, help="Show what was kept, carried and dropped.")
def convert(
    session: Session, source: str, target: str, report: bool, passphrase_file: str | None, **options: Any
) -> int:
    """Convert a file or folder to another format, without a store. `-` is standard input or output."""
    from memglot.exporting.convert import convert as convert_

    to_stdout = target == "-"
    options["passphrase"] = secret(passphrase_file)
    with session.progress("converting") as bar:
        stream = sys.stdout.buffer if to_stdout else None
        result = convert_(source, None if to_stdout else target, stream=stream, progress=bar, **options)
    if not to_stdout:
        text = f"converted {memories(result.count)} to {target} ({result.format})"
        session.print_result(result.value(), text if result.exit_code != 2 else "nothing was written")
    if session.json and not to_stdout:
        return result.exit_code
    if report:
        click.echo(f"kept:    {', '.join(result.kept) or 'nothing'}", err=to_stdout)
        click.echo(f"carried: {', '.join(result.carried) or 'nothing'}", err=to_stdout)
        click.echo(f"dropped: {_dropped(result.dropped)}", err=to_stdout)
    session.print_errors(result.errors)
    for note in result.notes:
        session.print_note(note)
    return result.exit_code


def _dropped(losses: list[dict[str, Any]]) -> str:
    return ", ".join(f"{loss['field']} of {len(loss['records']):,}" for loss in losses) or "nothing"


COMMANDS = {"import": import_, "export": export, "convert": convert}
