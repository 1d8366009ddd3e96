"""`memglot import`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memglot.cli.format_name import FormatName
from memglot.cli.passphrase import passphrase_option, secret
from memglot.cli.session import Session, command

if TYPE_CHECKING:
    from memglot.results import ImportResult


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
    return print_import(session, result)


def print_import(session: Session, result: ImportResult) -> int:
    """Show what an import did; tells the exit code."""
    session.print_result(result.value(), _summary(result))
    if not session.json:
        session.print_errors(result.errors)
        for note in result.notes:
            session.print_note(note)
    return int(result.exit_code)


def _summary(result: Any) -> list[str]:
    would = "would import" if result.dry_run else "imported"
    read = result.imported + result.merged + result.skipped + result.failed
    lines = [f"read {read:,}: {would} {result.imported:,}, merged {result.merged:,}, "
             f"skipped {result.skipped:,}, failed {result.failed:,}"]  # fmt: skip
    if result.import_id:
        lines.append(f"import {result.import_id}; `memglot undo {result.import_id}` takes it back")
    elif not result.dry_run and not result.marked:
        lines.append("nothing changed")
    return lines
