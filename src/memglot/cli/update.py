"""`memglot update`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.record_fields import field_options, fields_of, text_argument
from memglot.cli.session import Session, command


@command("update")
@click.argument("id")
@click.option("--content", help="The new text; `-` reads it from standard input.")
@field_options
@click.option("--status", help="Its status, such as `stale`.")
def update(session: Session, id: str, content: str | None, **options: Any) -> None:
    """Change fields of a memory; each replaces the old value. `--tag ""` removes all tags."""
    from memglot.json_values import record_value

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
