"""`memglot relations`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command


@command(
    "relations",
    examples="""
    memglot relations
    memglot relations entity:tool:postgresql --predicate mentions
    """,
)
@click.argument("id", required=False)
@click.option("--predicate", help="Predicate; list only relations with it.")
def relations(session: Session, id: str | None, predicate: str | None) -> None:
    """List relations between memories and entities.

    With ID, list only the relations of one memory, or of one entity given as `entity:<id>`.
    """
    with session.memory() as memory:
        session.print_list(
            memory.relations(id, predicate=predicate),
            lambda relation: f"{relation.id}  {relation.subject.id} {relation.predicate} {relation.object.id}",
        )
