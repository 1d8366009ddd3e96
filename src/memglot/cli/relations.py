"""`memglot relations`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command


@command("relations")
@click.argument("id", required=False)
@click.option("--predicate", help="Only those with this predicate.")
def relations(session: Session, id: str | None, predicate: str | None) -> None:
    """List all relations, or those from and to one memory or `entity:<id>`."""
    with session.memory() as memory:
        session.print_list(
            memory.relations(id, predicate=predicate),
            lambda relation: f"{relation.id}  {relation.subject.id} {relation.predicate} {relation.object.id}",
        )
