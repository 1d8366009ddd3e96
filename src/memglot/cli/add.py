"""`memglot add`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.record_fields import field_options, fields_of, text_argument
from memglot.cli.session import Session, command
from memglot.results import record_value


@command(
    "add",
    examples="""
    memglot add "Deploys are frozen on Fridays" --tree work.deploys --tag rule
    memglot add "Ann moved to Lisbon" --temporal 2024-05-01T00:00:00Z
    memglot add - --title "Meeting notes" < notes.txt
    """,
)
@click.argument("text")
@field_options
@click.option("--id", default="", help="Id of the memory, a UUIDv7 (default: a new one).")
def add(session: Session, text: str, id: str, **options: Any) -> None:
    """Add a memory.

    TEXT is its content; `-` reads it from standard input. The command prints the id of the new memory.
    """
    with session.memory(write=True) as memory:
        record = memory.add(text_argument(text), id=id, **fields_of(options))
    session.print_result(record_value(record), record.id)
