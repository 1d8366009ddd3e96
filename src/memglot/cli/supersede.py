"""`memglot supersede` and `memglot chain`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.session import Session, command
from memglot.display import escape


@command("supersede")
@click.argument("newer")
@click.argument("older")
@click.option("--reason", default="", help="Why; it is kept with the decision.")
@click.option("--entity", metavar="ID", help="The entity that both memories speak of.")
def supersede(session: Session, newer: str, older: str, reason: str, entity: str | None) -> None:
    """Say that memory NEWER takes the place of OLDER, which gets the status `superseded`."""
    with session.memory(write=True) as memory:
        found = memory.supersede(newer, older, reason=reason, entity=entity)
    session.print_result(_supersession(found), f"{found.newer} supersedes {found.older}")


@command("chain")
@click.argument("id", required=False)
def chain(session: Session, id: str | None) -> None:
    """List which memory took the place of which: all, or the whole chain of one memory."""
    with session.memory() as memory:
        found = memory.chain(id)
    lines = []
    for one in found:
        value = _supersession(one)
        about = [f"{one.newer} supersedes {one.older}", value["decided_at"], one.decided_by, escape(one.reason)]
        lines.append("  ".join(part for part in about if part))
    session.print_result({"results": [_supersession(one) for one in found]}, lines or "none", always=True)


def _supersession(found: Any) -> dict[str, Any]:
    from memglot.model import format_time, to_builtins

    at = format_time(found.decided_at) if found.decided_at is not None else None
    return {**to_builtins(found), "decided_at": at}
