"""`memglot sync`."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memglot.cli.export import print_export
from memglot.cli.import_ import print_import
from memglot.cli.max_record import max_record_option
from memglot.cli.passphrase import passphrase_option, secret
from memglot.cli.session import GroupWithExamples, Session, command, group
from memglot.cli.vectors import embed_imported, embed_option
from memglot.display import plural, printable

if TYPE_CHECKING:
    from memglot.exporting.sync_file import SideChanges
    from memglot.exporting.sync_path import SyncResult


@command("path")
@click.argument("path", type=click.Path())
@click.option("--dry-run", is_flag=True, help="Show what each side would get without writing anything.")
@passphrase_option
@max_record_option
@embed_option
def sync_file(
    session: Session, path: str, dry_run: bool, embed: bool, passphrase_file: str | None, max_record: str | None
) -> int:
    """Merge a memories.json, and write the union of both sides back to it."""
    session.writes_batches = not dry_run
    # A passphrase for a new file is asked for twice.
    passphrase = secret(passphrase_file, confirm=not Path(path).exists())
    with session.memory(write=not dry_run, dry_run=dry_run) as memory:
        with session.progress("syncing") as bar:
            options: dict[str, Any] = {"passphrase": passphrase, "max_record": max_record, "dry_run": dry_run}
            result = memory.sync(path, embed=False, progress=bar, **options)
        embed_imported(session, memory, result, embed=embed)
    if not session.json:
        session.print_errors(result.errors)
        session.print_notes(result.notes)
    session.print_result(result.value(), _summary(result))
    return result.exit_code


def _summary(result: SyncResult) -> list[str]:
    would, path = "would " if result.dry_run else "", printable(str(result.path))
    received = changes_text(result.received)
    if (first := next(result.replaced_edits, None)) is not None:
        edits = plural(sum(1 for _ in result.replaced_edits), "local edit")
        received += f" ({edits} {would and 'would be '}replaced; `memglot history {first}`)"
    lines = [
        f"{would}receive{'' if would else 'd'} {received}",
        f"{would}sen{'d' if would else 't'} {changes_text(result.sent)}",
    ]
    count = plural(result.count, "memory")
    if result.is_written:
        lines.append(f"{would}write {count} to {path}" if would else f"wrote {count} to {path}")
    elif next(result.errors, None) is None:
        lines.append(f"{path} is up to date with {count}")
    return lines + [f"import {id}; undo it with `memglot undo {id}`" for id in result.import_ids]


def changes_text(changes: SideChanges) -> str:
    """Return what one side got, as text."""
    found = [f"{getattr(changes, name):,} {name}" for name in ("new", "changed", "deleted") if getattr(changes, name)]
    found += [plural(changes.others, "other item")] if changes.others else []
    return ", ".join(found) or "nothing"


class _SyncGroup(GroupWithExamples):
    """Commands to sync; a first argument that is none of them is the path of a file to sync with."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing and all(word.startswith("-") for word in args) and not {"-h", "--help"} & {*args}:
            from memglot.settings import setting

            # Without a path, the place in the settings.
            args = [*([str(place)] if (place := setting("sync_path")) else []), *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        first = next((word for word in args if not word.startswith("-")), "")
        if args and args[0] in self.commands:
            return super().resolve_command(ctx, args)
        near = get_close_matches(first, self.commands, 1)
        if near and not Path(first).exists() and not Path(first).suffix:
            raise click.UsageError(f"no command `{first}`; did you mean `{near[0]}`?", ctx)
        return "", sync_file, args

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] PATH")
        formatter.write_usage(ctx.command_path, "COMMAND [ARGS]...", prefix=" " * len("Usage: "))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params = [*sync_file.params, *self.get_params(ctx)[-1:]]
        options = [option.get_help_record(ctx) for option in params if isinstance(option, click.Option)]
        with formatter.section("Options"):
            formatter.write_dl([option for option in options if option is not None])
        self.format_commands(ctx, formatter)


class _PathContext(click.Context):
    """The context of a path, whose help is that of the group."""

    @property
    def command_path(self) -> str:
        assert self.parent is not None
        return self.parent.command_path

    def get_help(self) -> str:
        assert self.parent is not None
        return self.parent.get_help()


sync_file.context_class = _PathContext


@group(
    "sync",
    cls=_SyncGroup,
    context_settings={"ignore_unknown_options": True},
    examples="""
    # On every machine, with a folder that all of them see
    memglot sync ~/Dropbox/memories.json
    memglot sync ~/Dropbox/memories.json --dry-run
    # From then on, `memglot sync` is enough
    memglot config set sync_path ~/Dropbox/memories.json
    # In two steps
    memglot sync export --out=memories.json
    memglot sync diff-with-remote --from=memories.json
    memglot sync import --from=memories.json
    """,
)
def sync() -> None:
    """Sync with other machines, memoryd and mcp-memory-service through a file, memories.json.

    With PATH, merge what the file contains into the store, and write the union of both sides back to it. The file is
    created if it does not exist; of a folder, it is the memories.json in it. Run the same command on every machine, in
    any order. An encrypted file needs its passphrase, and stays encrypted. Without PATH, the file is `sync_path` of
    `memglot config`.
    """


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
@click.option("--force", is_flag=True, help="Replace the file, whatever it contains.")
def export(session: Session, out: str, passphrase_file: str | None, **options: Any) -> None:
    """Export all memories to memories.json.

    The file contains every memory, the graph, the identity, deletions, unresolved conflicts and a proof. Sensitive
    scopes are encrypted; without a passphrase the export is refused.

    A file that memglot wrote is replaced, unless it contains memories or edits that this store has not seen: use
    `memglot sync FILE` to merge both. A file that already contains everything stays as it is.
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
