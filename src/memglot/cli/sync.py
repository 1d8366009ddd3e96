"""`memglot sync`."""

from __future__ import annotations

import sys
from typing import Any

import click

from memglot.cli.export import print_export
from memglot.cli.import_ import print_import
from memglot.cli.max_record import max_record_option
from memglot.cli.passphrase import passphrase_option, secret
from memglot.cli.session import Session, command, group
from memglot.cli.vectors import embed_imported, embed_option
from memglot.display import plural


@group(
    "sync",
    examples="""
    # On the first machine
    memglot sync export --out=memories.json
    # On the second machine
    memglot sync diff-with-remote --from=memories.json
    memglot sync import --from=memories.json
    """,
)
def sync() -> None:
    """Exchange memories.json with other machines, memoryd and mcp-memory-service."""


@command(
    "export",
    examples="""
    memglot sync export --out=memories.json
    memglot sync export --out=work.json --scope=work --include-audit-chain
    memglot sync export --out=memories.json --passphrase-file=passphrase.txt
    """,
)
@click.option("--out", required=True, metavar="FILE", type=click.Path(), help="Output file; `-` is standard output.")
@click.option("--scope", metavar="SCOPE", help="Scope to export, with everything that belongs to it (default: all).")
@click.option("--include-audit-chain", is_flag=True, help="Include the audit chain.")
@click.option("--include-embeddings", is_flag=True, help="Include the vectors of semantic search.")
@passphrase_option
@click.option("--plaintext", is_flag=True, help="Write sensitive scopes without encryption.")
@click.option("--v5", is_flag=True, help="Write mcp-memory-service's own format: not split, not encrypted.")
@click.option(
    "--chunk-size-mb",
    type=click.IntRange(1, 1 << 20),
    default=5,
    show_default=True,
    help="Size in MiB above which a text is written to a folder next to the file.",
)
@click.option("--force", is_flag=True, help="Overwrite a file that another tool wrote.")
def export(session: Session, out: str, passphrase_file: str | None, **options: Any) -> None:
    """Export all memories to memories.json.

    The file contains every memory, the graph, the identity, deletions, unresolved conflicts and a proof. Sensitive
    scopes are encrypted; without a passphrase the export is refused. A file that memglot wrote is replaced.
    """
    path = None if out == "-" else out
    with session.memory() as memory, session.progress("exporting") as bar:
        stream = sys.stdout.buffer if path is None else None
        passphrase = secret(passphrase_file, confirm=True)
        result = memory.sync_export(path, passphrase=passphrase, stream=stream, progress=bar, **options)
    print_export(session, result, path)


@command(
    "import",
    examples="""
    memglot sync import --from=memories.json --dry-run
    memglot sync import --from=memories.json --conflict=prefer-local
    """,
)
@click.option(
    "--from", "source", required=True, metavar="FILE", type=click.Path(), help="Input file; `-` is standard input."
)
@click.option(
    "--conflict",
    type=click.Choice(["merge", "prefer-local", "prefer-remote"]),
    default="merge",
    show_default=True,
    help="Action for memories that differ from the stored ones.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change without writing anything.")
@passphrase_option
@max_record_option
@click.option("--restore-deleted", is_flag=True, help="Restore memories that were deleted here.")
@click.option("--accept-broken-audit", is_flag=True, help="Import the file even if its audit chain is broken.")
@embed_option
def import_(
    session: Session, source: str, dry_run: bool, embed: bool, passphrase_file: str | None, **options: Any
) -> int:
    """Import memories.json and merge it field by field.

    If two edits of a field have the same timestamp, both values are kept as a conflict; `memglot conflicts` lists them.
    """
    options["passphrase"] = secret(passphrase_file)
    session.writes_batches = not dry_run
    with session.memory(write=not dry_run, dry_run=dry_run) as memory:
        with session.progress("importing") as bar:
            result = memory.sync_import(source, dry_run=dry_run, embed=False, progress=bar, **options)
        embed_imported(session, memory, result, embed=embed)
    return print_import(session, result)


@command("diff-with-remote", examples="memglot sync diff-with-remote --from=memories.json")
@click.option("--from", "source", required=True, metavar="FILE", type=click.Path(), help="File of the other machine.")
@passphrase_option
@max_record_option
def diff_with_remote(session: Session, source: str, passphrase_file: str | None, max_record: str | None) -> int:
    """Show what importing a memories.json would change."""
    with session.memory() as memory, session.progress("comparing") as bar:
        passphrase = secret(passphrase_file)
        found = memory.diff_with_remote(source, passphrase=passphrase, max_record=max_record, progress=bar)
    shown = [f"new        {id}" for _, id in zip(range(_MAX_SHOWN), found.new, strict=False)]
    shown += [f"delete     {id}" for _, id in zip(range(_MAX_SHOWN), found.deletes, strict=False)]
    for name, values in (("update", found.updates), ("conflict", found.conflicts), ("ahead", found.ahead)):
        shown += [
            f"{name:10} {value['id']}  {', '.join(value['fields'])}"
            for _, value in zip(range(_MAX_SHOWN), values, strict=False)
        ]
    counts = (
        f"{plural(found.remote_total, 'memory')}: {len(found.new):,} new, {len(found.updates):,} to update, "
        f"{len(found.conflicts):,} in conflict, {len(found.ahead):,} newer here, "
        f"{len(found.unchanged):,} unchanged, {len(found.deletes):,} to delete, {len(found.deleted):,} deleted here"
    )
    if found.others:
        counts += "; also " + ", ".join(plural(count, name) for name, count in sorted(found.others.items()))
    if not session.json:
        session.print_errors(found.report.faults())
        session.print_notes(found.report.notes)
    session.print_result(found.value(), [*shown, counts], always=True)
    return found.exit_code


_MAX_SHOWN = 20
for _command in (export, import_, diff_with_remote):
    sync.add_command(_command)
