"""`memglot delete` and `memglot undelete`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command


@command("delete")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--reason", default="", help="Why; it is kept with the deletion.")
def delete(session: Session, ids: tuple[str, ...], reason: str) -> None:
    """Delete memories; `undelete` brings them back. An old file that is imported again does not."""
    with session.memory(write=True) as memory:
        gone = memory.delete(*ids, reason=reason)
    session.print_result({"deleted": gone}, [f"deleted {id}" for id in gone])


@command("undelete")
@click.argument("id")
def undelete(session: Session, id: str) -> None:
    """Bring a deleted memory back as it was."""
    from memglot.json_values import record_value

    with session.memory(write=True) as memory:
        record = memory.undelete(id)
    session.print_result(record_value(record), f"restored {record.id}")
