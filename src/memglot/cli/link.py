"""`memglot link` and `memglot unlink`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command


@command("link")
@click.argument("subject", metavar="A")
@click.argument("predicate")
@click.argument("object", metavar="B")
@click.option("--weight", type=float, help="How strong the relation is.")
def link(session: Session, subject: str, predicate: str, object: str, weight: float | None) -> None:
    """Relate two memories, or entities given as `entity:<id>`."""
    from memglot.editing.links import predicate_notes
    from memglot.model import to_builtins

    with session.memory(write=True) as memory:
        relation = memory.link(subject, predicate, object, weight=weight)
    notes = predicate_notes(predicate)
    session.print_result(to_builtins(relation) | {"notes": notes}, relation.id)
    session.print_notes(notes)


@command("unlink")
@click.argument("subject", metavar="A")
@click.argument("predicate")
@click.argument("object", metavar="B")
def unlink(session: Session, subject: str, predicate: str, object: str) -> None:
    """Take a relation away."""
    with session.memory(write=True) as memory:
        count = memory.unlink(subject, predicate, object)
    session.print_result({"unlinked": count}, f"removed {count} relation" + ("s" if count > 1 else ""))
