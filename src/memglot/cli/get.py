"""`memglot get`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command


@command("get")
@click.argument("id")
def get(session: Session, id: str) -> None:
    """Show one memory, as Markdown. The beginning of an id is enough where it is unambiguous."""
    from memglot.editing.markdown import markdown_of
    from memglot.json_values import record_value

    with session.memory() as memory:
        record = memory.get(id)
    session.print_result(record_value(record), markdown_of(record).rstrip("\n"), always=True)
