"""`memglot entity` and `memglot entities`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.editing.entities import type_notes
from memglot.model import to_builtins


@command(
    "entities",
    examples="""
    memglot entities
    memglot entities postgres --type tool
    """,
)
@click.argument("query", required=False)
@click.option("--type", help="Type; list only entities of this type.")
def entities(session: Session, query: str | None, type: str | None) -> None:
    """List entities.

    With QUERY, list only the entities whose name, alias or id contains it.
    """
    with session.memory() as memory:
        session.print_list(memory.entities(query, type=type), lambda one: f"{one.id}  {one.name}  {one.type}".rstrip())


@command("entity", examples="memglot entity add PostgreSQL --type tool --alias postgres", help_alone=True)
@click.argument("action", type=click.Choice(["add"]))
@click.argument("name")
@click.option("--type", required=True, help="Type: person, organization, place, library, tool, project or concept.")
@click.option("--alias", "aliases", multiple=True, help="Another name of the entity; can be repeated.")
@click.option("--scope", help="Scope that the entity belongs to (default: user).")
def entity(session: Session, action: str, name: str, type: str, aliases: tuple[str, ...], scope: str | None) -> None:
    """Add an entity that memories can be linked to.

    If the entity exists, the command adds the new aliases to it.
    """
    with session.memory(write=True) as memory:
        found = memory.add_entity(name, type, aliases=aliases, scope=scope)
    session.print_notes(type_notes(type))
    session.print_result(to_builtins(found) | {"notes": type_notes(type)}, found.id)
