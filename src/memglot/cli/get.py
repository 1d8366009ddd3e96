"""`memglot get`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.editing.markdown import markdown_of
from memglot.results import record_value


@command(
    "get",
    examples="""
    memglot get 0194a000-0006-7000-8000-000000000006
    memglot get 00000006 --json
    """,
)
@click.argument("id")
def get(session: Session, id: str) -> None:
    """Show a memory as Markdown.

    ID may be the beginning or the end of an id, of six characters or more, if only one memory matches.
    """
    with session.memory() as memory:
        record = memory.get(id)
    session.print_result(record_value(record), markdown_of(record).rstrip("\n"), always=True)
