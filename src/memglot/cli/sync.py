"""`sync`: memories.json between machines and tools."""

from __future__ import annotations

import sys
from typing import Any

import click

from memglot.cli.export import print_export
from memglot.cli.import_ import print_import
from memglot.cli.passphrase import passphrase_option, secret
from memglot.cli.session import Session, command, shared_options
from memglot.display import plural


@click.group("sync")
@shared_options
def sync() -> None:
    """Exchange memories.json with other machines, with memoryd and with mcp-memory-service."""


@command("export")
@click.option("--out", required=True, metavar="FILE", type=click.Path(), help="Where to; `-` is standard output.")
@click.option("--scope", metavar="SCOPE", help="Only this scope, with all that belongs to it.")
@click.option("--include-audit-chain", is_flag=True, help="The chain of everything that was done too.")
@click.option("--include-embeddings", is_flag=True, help="Vectors too.")
@passphrase_option
@click.option("--plaintext", is_flag=True, help="Write sensitive scopes as they are.")
@click.option("--v5", is_flag=True, help="mcp-memory-service's own shape: nothing chunked, nothing sealed.")
@click.option(
    "--chunk-size-mb",
    type=click.IntRange(1, 1 << 20),
    default=5,
    show_default=True,
    help="Bodies of more MiB lie apart, in a folder beside the file.",
)
@click.option("--force", is_flag=True, help="Overwrite a file that another tool wrote.")
def export(session: Session, out: str, passphrase_file: str | None, **options: Any) -> None:
    """Write memories.json.

    It holds every memory, the graph, the identity, deletions and open conflicts, and proves itself. Sensitive scopes
    are sealed; without a passphrase the export is refused. A file that this tool wrote is replaced.
    """
    path = None if out == "-" else out
    with session.memory() as memory, session.progress("exporting") as bar:
        stream = sys.stdout.buffer if path is None else None
        passphrase = secret(passphrase_file, confirm=True)
        result = memory.sync_export(path, passphrase=passphrase, stream=stream, progress=bar, **options)
    print_export(session, result, path)


@command("import")
@click.option("--from", "source", required=True, metavar="FILE", type=click.Path(), help="`-` is standard input.")
@click.option(
    "--conflict",
    type=click.Choice(["merge", "prefer-local", "prefer-remote"]),
    default="merge",
    show_default=True,
    help="What to do with a memory that differs here.",
)
@click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing.")
@passphrase_option
@click.option("--restore-deleted", is_flag=True, help="Bring back what was deleted here.")
@click.option("--accept-broken-audit", is_flag=True, help="Import though the audit chain is broken.")
def import_(session: Session, source: str, dry_run: bool, passphrase_file: str | None, **options: Any) -> int:
    """Import memories.json and merge it, field by field.

    What no rule decides is kept as a conflict: `memglot conflicts` lists them.
    """
    options["passphrase"] = secret(passphrase_file)
    session.writes_batches = not dry_run
    with session.memory(write=not dry_run, dry_run=dry_run) as memory, session.progress("importing") as bar:
        result = memory.sync_import(source, dry_run=dry_run, progress=bar, **options)
    return print_import(session, result)


@command("diff-with-remote")
@click.option("--from", "source", required=True, metavar="FILE", type=click.Path(), help="The other machine's file.")
@passphrase_option
def diff_with_remote(session: Session, source: str, passphrase_file: str | None) -> int:
    """Show what importing memories.json would change."""
    with session.memory() as memory, session.progress("comparing") as bar:
        found = memory.diff_with_remote(source, passphrase=secret(passphrase_file), progress=bar)
    shown = [f"new        {id}" for _, id in zip(range(_SHOWN), found.new, strict=False)]
    shown += [f"delete     {id}" for _, id in zip(range(_SHOWN), found.deletes, strict=False)]
    for name, values in (("update", found.updates), ("conflict", found.conflicts), ("ahead", found.ahead)):
        shown += [
            f"{name:10} {value['id']}  {', '.join(value['fields'])}"
            for _, value in zip(range(_SHOWN), values, strict=False)
        ]
    counts = (
        f"{plural(found.remote_total, 'memory')}: {len(found.new):,} new, {len(found.updates):,} to update, "
        f"{len(found.conflicts):,} in conflict, {len(found.ahead):,} newer here, "
        f"{len(found.unchanged):,} unchanged, {len(found.deletes):,} to delete, {len(found.deleted):,} deleted here"
    )
    if found.others:
        counts += "; besides " + ", ".join(f"{count:,} of {name}" for name, count in sorted(found.others.items()))
    session.print_result(found.value(), [*shown, counts], always=True)
    if not session.json:
        session.print_errors(found.report.faults())
        for note in found.report.notes:
            session.print_note(note)
    return found.exit_code


_SHOWN = 20
for _command in (export, import_, diff_with_remote):
    sync.add_command(_command)
