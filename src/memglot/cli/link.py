"""`memglot link` and `memglot unlink`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.display import plural
from memglot.editing.links import predicate_notes
from memglot.model import to_builtins


@command(
    "link",
    examples="""
    memglot link 0194a000-0006 cites 0194a000-0002
    memglot link 0194a000-0006 mentions entity:tool:postgresql
    """,
)
@click.argument("subject", metavar="A")
@click.argument("predicate")
@click.argument("object", metavar="B")
@click.option("--weight", type=float, help="Strength of the relation, a number.")
def link(session: Session, subject: str, predicate: str, object: str, weight: float | None) -> None:
    """Add a relation between two memories or entities.

    A and B are memory ids, or `entity:<id>` for entities.
    """
    with session.memory(write=True) as memory:
        relation = memory.link(subject, predicate, object, weight=weight)
    notes = predicate_notes(predicate)
    session.print_notes(notes)
    session.print_result(to_builtins(relation) | {"notes": notes}, relation.id)


@command("unlink", examples="memglot unlink 0194a000-0006 cites 0194a000-0002")
@click.argument("subject", metavar="A")
@click.argument("predicate")
@click.argument("object", metavar="B")
def unlink(session: Session, subject: str, predicate: str, object: str) -> None:
    """Remove a relation between two memories or entities."""
    with session.memory(write=True) as memory:
        count = memory.unlink(subject, predicate, object)
    session.print_result({"unlinked": count}, f"removed {plural(count, 'relation')}")
