"""`memglot supersede` and `memglot chain`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.session import Session, command
from memglot.display import escape
from memglot.model import format_time, to_builtins


@command("supersede", examples='memglot supersede 0194a000-0006 0194a000-0002 --reason "moved to PostgreSQL"')
@click.argument("newer")
@click.argument("older")
@click.option("--reason", default="", help="Reason, stored with the decision.")
@click.option("--entity", metavar="ID", help="Entity that both memories are about.")
def supersede(session: Session, newer: str, older: str, reason: str, entity: str | None) -> None:
    """Mark a memory as superseded by a newer one.

    OLDER gets the status `superseded`.
    """
    with session.memory(write=True) as memory:
        found = memory.supersede(newer, older, reason=reason, entity=entity)
    session.print_result(_supersession(found), f"{found.newer} supersedes {found.older}")


@command("chain", examples="memglot chain 0194a000-0006")
@click.argument("id", required=False)
def chain(session: Session, id: str | None) -> None:
    """List superseded memories and their replacements.

    With ID, list the complete chain of one memory.
    """
    with session.memory() as memory:
        found = memory.chain(id)
    lines = []
    for one in found:
        value = _supersession(one)
        parts = [f"{one.newer} supersedes {one.older}", value["decided_at"], one.decided_by, escape(one.reason)]
        lines.append("  ".join(part for part in parts if part))
    session.print_result({"results": [_supersession(one) for one in found]}, lines or "none", always=True)


def _supersession(found: Any) -> dict[str, Any]:
    at = format_time(found.decided_at) if found.decided_at is not None else None
    return {**to_builtins(found), "decided_at": at}
