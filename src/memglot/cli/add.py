"""`memglot add`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.record_fields import field_options, fields_of, text_argument
from memglot.cli.session import Session, command


@command("add")
@click.argument("text")
@field_options
@click.option("--id", default="", help="Its id, a UUIDv7; else a new one.")
def add(session: Session, text: str, id: str, **options: Any) -> None:
    """Keep a new memory. `-` reads its text from standard input."""
    from memglot.json_values import record_value

    with session.memory(write=True) as memory:
        record = memory.add(text_argument(text), id=id, **fields_of(options))
    session.print_result(record_value(record), record.id)
