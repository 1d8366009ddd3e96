"""`memglot import`."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from memglot.cli.format_name import FormatName
from memglot.cli.max_record import max_record_option
from memglot.cli.passphrase import passphrase_option, secret
from memglot.cli.session import Session, command
from memglot.cli.tables import confirm_guess, table_options
from memglot.cli.vectors import embed_imported, embed_option
from memglot.display import plural

if TYPE_CHECKING:
    from memglot.results import ImportResult


@command(
    "import",
    examples="""
    memglot import conversations.json
    memglot import ~/vault notes.ndjson --tree archive --tag old --dry-run
    memglot import export.zip --format chatgpt
    memglot import ~/vault --tree-from folders --prune
    memglot import notes.csv --map content=text,tags=labels,created_at=date
    memglot export - | memglot --store copy.db import --format json
    """,
)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option(
    "--format", "-f", type=FormatName(), help="Format of the input (default: detected by extension and content)."
)
@click.option(
    "--dedup",
    type=click.Choice(["content", "id"]),
    help="What makes two memories duplicates (default: depends on the format; see docs/formats.md).",
)
@click.option("--no-dedup", is_flag=True, help="Import memories whose content is already stored; same as --dedup id.")
@click.option(
    "--conflict",
    type=click.Choice(["skip", "merge", "prefer-local", "prefer-remote"]),
    help="Action for ids that are already stored (default: depends on the format; see docs/formats.md).",
)
@click.option("--tree", default="", metavar="PREFIX", help="Path in the tree below which the memories are stored.")
@click.option("--tree-from", type=click.Choice(["folders"]), help="Make the folders of the input paths in the tree.")
@click.option("--prune", is_flag=True, help="Delete memories whose notes are gone from the vault; asks if most are.")
@click.option("--yes", "-y", is_flag=True, help="Answer the questions of --prune and --map auto with yes.")
@click.option("--tag", "tags", multiple=True, help="Tag to add to every memory; can be repeated.")
@click.option("--space", help="Namespace for the ids of these files; keeps equal ids of one tool apart.")
@click.option("--dry-run", is_flag=True, help="Show what would change without writing anything.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first error.")
@click.option("--lenient", is_flag=True, help="Accept later dialects of a format.")
@click.option("--restore-deleted", is_flag=True, help="Restore memories that were deleted here.")
@click.option(
    "--allow-duplicates", is_flag=True, help="Import records without an id again if they were imported before."
)
@passphrase_option
@max_record_option
@click.option("--accept-broken-audit", is_flag=True, help="Import memories.json even if its audit chain is broken.")
@embed_option
@table_options
@click.option("--recursive", "-r", is_flag=True, help="Has no effect: folders are always read recursively.")
def import_(
    session: Session,
    paths: tuple[str, ...],
    no_dedup: bool,
    recursive: bool,
    dry_run: bool,
    embed: bool,
    passphrase_file: str | None,
    prune: bool,
    yes: bool,
    **options: Any,
) -> int:
    """Import memories from files, folders, zip archives or standard input.

    Without PATH, or with `-`, the command reads standard input. A record that cannot be read is reported with its file,
    its line or item number and the reason; the others are imported.
    """
    if no_dedup:
        options["dedup"] = "id"
    options["passphrase"] = secret(passphrase_file)
    if prune:
        options["prune"] = partial(_may_delete, session, yes=yes)
    if options["map"] and not dry_run:
        confirm_guess(session, paths, options["map"], options["table"], yes=yes)
    session.writes_batches = not dry_run
    with session.memory(write=not dry_run, dry_run=dry_run) as memory:
        with session.progress("importing") as bar:
            result = memory.import_from(*(paths or ("-",)), dry_run=dry_run, embed=False, progress=bar, **options)
        embed_imported(session, memory, result, embed=embed)
    return print_import(session, result)


def _may_delete(session: Session, question: str, *, yes: bool) -> bool:
    """Ask on a terminal; elsewhere the answer is no, unless it was given already."""
    can_ask = not session.json and sys.stdin.isatty() and sys.stderr.isatty()
    return yes or can_ask and click.confirm(question, err=True)


def print_import(session: Session, result: ImportResult) -> int:
    """Print the result of an import, and return the exit code."""
    if not session.json:
        session.print_errors(result.errors)
        session.print_notes(result.notes)
    session.print_result(result.value(), _summary(result))
    return int(result.exit_code)


def _replaced(result: ImportResult) -> str:
    """Return how many local edits were replaced, and the command that shows the first of them."""
    first = next(result.replaced_edits, None)
    if first is None:
        return ""
    edits = plural(sum(1 for _ in result.replaced_edits), "local edit")
    return f" ({edits} {'would be ' if result.dry_run else ''}replaced; `memglot history {first}`)"


def _summary(result: ImportResult) -> list[str]:
    imported = "would import" if result.dry_run else "imported"
    read = result.imported + result.merged + result.skipped + result.failed
    counts = f"merged {result.merged:,}{_replaced(result)}, skipped {result.skipped:,}, failed {result.failed:,}"
    if result.other_errors:
        counts += f"; {plural(result.other_errors, 'other error')}"
    lines = [f"read {read:,}: {imported} {result.imported:,}, {counts}"]
    if result.import_id:
        lines.append(f"import {result.import_id}; undo it with `memglot undo {result.import_id}`")
    elif not result.dry_run and not result.marked:
        lines.append("nothing changed")
    return lines
