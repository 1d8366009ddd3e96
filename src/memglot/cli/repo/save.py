"""`memglot repo save`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import click

from memglot.cli.repo.output import Data, bullets, print_envelope
from memglot.cli.session import Session, command
from memglot.display import plural

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
    memglot repo save --stdin <<'EOF'
    {"task": "move retries", "nodes": [{"kind": "decision", "title": "Retries run in the worker",
     "body": "Inline retries blocked requests.",
     "related": [{"predicate": "affects", "to": "feature.webhooks"}]}]}
    EOF
    # Check a save without writing it.
    memglot repo save --stdin --dry-run < save.json
    """,
)
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the JSON from standard input (required).")
@click.option("--dry-run", is_flag=True, help="Check and plan the save, and write nothing.")
def save(session: Session, from_stdin: bool, dry_run: bool) -> int:
    """Create, change or delete nodes and relations.

    The input is {"task": …, "nodes": […], "stale": […], "supersede": […], "delete": […]}; docs/repo.md describes it.
    A save is written completely or not at all, and updates the product map.
    """
    if not from_stdin:
        raise click.UsageError("the JSON is read from standard input: add `--stdin`")
    from memglot.project.envelope import run
    from memglot.project.save.run import save

    request = partial(save, request=sys.stdin.buffer.read(), dry_run=dry_run)
    return print_envelope(session, run(Path(), request, register=not dry_run), save_text)


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
