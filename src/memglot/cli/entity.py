"""`memglot entity` and `memglot entities`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command


@command("entities")
@click.argument("query", required=False)
@click.option("--type", help="Only those of this type.")
def entities(session: Session, query: str | None, type: str | None) -> None:
    """List the entities that memories mention: all, or those with QUERY in their name, alias or id."""
    with session.memory() as memory:
        session.print_list(memory.entities(query, type=type), lambda one: f"{one.id}  {one.name}  {one.type}".rstrip())


@command("entity")
@click.argument("what", type=click.Choice(["add"]))
@click.argument("name")
@click.option("--type", required=True, help="What it is: person, organization, place, library, tool, project, concept.")
@click.option("--alias", "aliases", multiple=True, help="Another name for it; may be given several times.")
@click.option("--scope", help="Whose it is; `user` unless told otherwise.")
def entity(session: Session, what: str, name: str, type: str, aliases: tuple[str, ...], scope: str | None) -> None:
    """Keep an entity that memories can be linked to. One that is there gets the new aliases."""
    from memglot.editing.entities import type_notes
    from memglot.model import to_builtins

    with session.memory(write=True) as memory:
        found = memory.add_entity(name, type, aliases=aliases, scope=scope)
    session.print_result(to_builtins(found) | {"notes": type_notes(type)}, found.id)
    session.print_notes(type_notes(type))
