"""`memglot update`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.record_fields import field_options, fields_of, text_argument
from memglot.cli.session import Session, command
from memglot.results import record_value


@command(
    "update",
    examples="""
    memglot update 0194a000-0006 --tag database --tag decision
    memglot update 0194a000-0006 --status stale
    memglot update 0194a000-0006 --content - < new-text.md
    """,
)
@click.argument("id")
@click.option("--content", help="New text; `-` reads it from standard input.")
@field_options
@click.option("--status", help="Status, such as `active` or `stale`.")
def update(session: Session, id: str, content: str | None, **options: Any) -> None:
    """Change fields of a memory.

    Each option replaces the old value of its field. `--tag ""` removes all tags.
    """
    changes = fields_of(options)
    if changes.get("tags") == [""]:
        changes["tags"] = []
    if content is not None:
        changes["content"] = text_argument(content)
    if not changes:
        raise click.UsageError("nothing to change: give at least one field")
    with session.memory(write=True) as memory:
        record = memory.update(id, **changes)
    session.print_result(record_value(record), f"updated {record.id}")
