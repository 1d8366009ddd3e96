"""`memglot delete` and `memglot undelete`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.results import record_value


@command(
    "delete",
    examples="""
    memglot delete 0194a000-0006
    memglot delete 0194a000-0006 0194a000-0007 --reason "out of date"
    """,
)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--reason", default="", help="Reason, stored with the deletion.")
def delete(session: Session, ids: tuple[str, ...], reason: str) -> None:
    """Delete memories.

    `memglot undelete` restores a deleted memory. Importing an old file that contains it does not.
    """
    with session.memory(write=True) as memory:
        deleted = memory.delete(*ids, reason=reason)
    session.print_result({"deleted": deleted}, [f"deleted {id}" for id in deleted])


@command("undelete", examples="memglot undelete 0194a000-0006")
@click.argument("id")
def undelete(session: Session, id: str) -> None:
    """Restore a deleted memory."""
    with session.memory(write=True) as memory:
        record = memory.undelete(id)
    session.print_result(record_value(record), f"restored {record.id}")
