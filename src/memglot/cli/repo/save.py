"""`memglot repo save`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from memglot.cli.repo.output import Data, bullets, print_envelope
from memglot.cli.session import Session, command
from memglot.display import plural
from memglot.project.storage.vocabulary import SourceKind

_LISTS = (
    ("Files changed", "files_changed"),
    ("Memory created", "memory_created"),
    ("Memory updated", "memory_updated"),
    ("Memory deleted", "memory_deleted"),
    ("Relations created", "relations_created"),
    ("Relations updated", "relations_updated"),
    ("Relations deleted", "relations_deleted"),
)


@command(
    "save",
    examples="""
    # Create a decision and a relation to a feature.
    memglot repo save <<'EOF'
    {"task": "move retries", "nodes": [{"kind": "decision", "title": "Retries run in the worker",
     "body": "Inline retries blocked requests.",
     "related": [{"predicate": "affects", "to": "feature.webhooks"}]}]}
    EOF
    # Check a save without writing it.
    memglot repo save save.json --dry-run
    """,
)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--stdin", "from_stdin", is_flag=True, help="Read standard input, also if it is a terminal.")
@click.option(
    "--actor",
    type=click.Choice(["user", "agent"]),
    help="Who saves, for the log (default: user at a terminal, else agent).",
)
@click.option("--dry-run", is_flag=True, help="Check and plan the save, and write nothing.")
def save(session: Session, file: Path | None, from_stdin: bool, actor: SourceKind | None, dry_run: bool) -> int:
    """Create, change or delete nodes and relations.

    FILE contains JSON; without it, or if it is `-`, standard input does. The input is {"task": …, "nodes": […],
    "stale": […], "supersede": […], "delete": […]}; docs/repo.md describes it.
    A save is written completely or not at all, and updates the product map.
    """
    if file is not None and str(file) != "-":
        if from_stdin:
            raise click.UsageError("FILE and `--stdin` exclude each other")
        source = str(file)
    elif file is None and not from_stdin and sys.stdin.isatty():
        click.echo(click.get_current_context().get_help())
        return 0
    else:
        source = "stdin"
    from memglot.project.envelope import run
    from memglot.project.save.run import save

    at_terminal = sys.stdin.isatty() or sys.stdout.isatty()
    request = partial(
        save,
        request=_read(source),
        dry_run=dry_run,
        actor=actor or ("user" if at_terminal else "agent"),
        source=source,
    )
    return print_envelope(session, run(Path(), request, register=not dry_run), save_text)


def _read(source: str) -> bytes:
    if source == "stdin":
        return sys.stdin.buffer.read()
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise click.UsageError(f"`{source}` cannot be read: {(error.strerror or str(error)).lower()}") from None


def save_text(data: Data) -> str:
    """Describe what a save did, or would do."""
    if not data["files_changed"]:
        return f"Nothing {'would change' if data['dry_run'] else 'changed'}: all of this is already stored."
    lines = [f"{'Planned' if data['dry_run'] else 'Saved'}: {_summary(data)}."]
    for label, key in _LISTS:
        lines += bullets(label, data[key])
    lines += bullets("Backed up", [f"{item['path']} to {item['recovery_path']}" for item in data["recovery_files"]])
    lines.append(f"Events appended: {data['events_appended']}")
    lines.append("Index updated." if data["index_updated"] else "Index not updated.")
    return "\n".join(lines)


def _summary(data: Data) -> str:
    """Return the numbers of created, updated and deleted nodes, and of relations."""
    counts = [(len(data[f"memory_{change}"]), change) for change in ("created", "updated", "deleted")]
    parts = [f"{count:,} {change}" for count, change in counts if count]
    relations = sum(len(data[f"relations_{change}"]) for change in ("created", "updated", "deleted"))
    return ", ".join([*parts, plural(relations, "relation")] if relations else parts)
