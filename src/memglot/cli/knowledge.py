"""What is known beside memories: `scope`, `identity`, `entities`, `entity`, `relations`, `supersede`, `chain`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import click

from memglot.cli.session import Session, command
from memglot.display import excerpt, shorten
from memglot.errors import NotFound


@command("scope")
@click.argument("what", type=click.Choice(["list", "sensitive", "normal"]), default="list")
@click.argument("scopes", nargs=-1, metavar="[SCOPE]...")
def scope(session: Session, what: str, scopes: tuple[str, ...]) -> None:
    """List scopes, or mark some as sensitive or as normal again.

    A sensitive scope leaves the store only encrypted, or in a copy of the whole store; other exports leave it out.
    """
    import msgspec

    if (what == "list") == bool(scopes):
        raise click.UsageError("`list` takes no scope" if scopes else f"`{what}` takes at least one scope")
    with session.memory(write=what != "list") as memory:
        if what == "list":
            found = memory.scopes()
            lines = [
                f"{_shown(one.scope)}  {one.memories:,}" + ("  sensitive" if one.sensitive else "") for one in found
            ]
            session.print_result({"scopes": msgspec.to_builtins(found)}, lines or "none", always=True)
            return
        changed = (memory.mark_sensitive if what == "sensitive" else memory.mark_normal)(*scopes)
    lines = [f"{_shown(name)} is {what} now" for name in changed]
    session.print_result({"changed": list(changed), "sensitive": what == "sensitive"}, lines or "nothing changed")


def _shown(text: str) -> str:
    """A name on one line; an empty one as quotes."""
    return (text if text.isprintable() else text.encode("unicode_escape").decode("ascii")) or '""'


@command("identity")
@click.argument("what", type=click.Choice(["show", "set", "history"]), default="show")
@click.argument("file", required=False, type=click.Path())
@click.option("--text", help="The text itself, for `set`.")
@click.option("--scope", default="user", show_default=True, help="Whose identity it is.")
@click.option("--show", "number", type=click.IntRange(1), metavar="N", help="The text of this version, for `history`.")
def identity(session: Session, what: str, file: str | None, text: str | None, scope: str, number: int | None) -> None:
    """Show who you are said to be, set it from FILE or `-`, or list what was said before."""
    if what != "set" and (file is not None or text is not None):
        raise click.UsageError(f"`{what}` takes no text")
    if what != "history" and number is not None:
        raise click.UsageError(f"`{what}` takes no version")
    if what == "set":
        _set_identity(session, _given(file, text), scope)
    elif what == "show":
        _show_identity(session, scope)
    else:
        _show_history(session, scope, number)


def _given(file: str | None, text: str | None) -> str:
    from memglot.errors import Unreadable, bad_bytes

    if (file is None) == (text is None):
        raise click.UsageError("`set` takes one of FILE, `-` and --text")
    if file is None:
        return text or ""
    try:
        if file == "-":
            found = sys.stdin.buffer.read()
        else:
            with open(file, "rb") as source:
                found = source.read()
        return found.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(file, str(bad_bytes(error.start))) from None
    except OSError as error:
        raise Unreadable(file, (error.strerror or str(error)).lower()) from None


def _set_identity(session: Session, text: str, scope: str) -> None:
    with session.memory(write=True) as memory:
        before = memory.identity(scope)
        found = memory.set_identity(text, scope)
    changed = found != before
    session.print_result(_document(found) | {"changed": changed}, "set" if changed else "nothing changed")


def _show_identity(session: Session, scope: str) -> None:

    with session.memory() as memory:
        found = memory.identity(scope)
    if found is None:
        raise NotFound("identity of scope", shorten(scope), "`memglot identity set FILE` tells one")
    session.print_result(_document(found), found.content.removesuffix("\n"), always=True)


def _show_history(session: Session, scope: str, number: int | None) -> None:
    from memglot.model import format_time

    with session.memory() as memory:
        found = memory.identity_history(scope)
    if number is not None:
        if number > len(found):
            raise NotFound("version", str(number), f"there are {len(found):,}; `memglot identity history` lists them")
        one = found[number - 1]
        session.print_result(_document(one) | {"number": number}, one.content.removesuffix("\n"), always=True)
        return
    lines = []
    for place, one in enumerate(found, 1):
        lines.append(f"{place}  {format_time(one.created_at)}" + ("  present" if place == len(found) else ""))
        lines.append("    " + excerpt(one.content))
    value = [_document(one) | {"number": place} for place, one in enumerate(found, 1)]
    session.print_result({"versions": value}, lines or "none", always=True)


def _document(found: Any) -> dict[str, Any]:
    from memglot.model import format_time

    value = {"id": found.id, "scope": found.scope, "content": found.content}
    return {**value, "created_at": format_time(found.created_at)}


@command("entities")
@click.argument("query", required=False)
@click.option("--type", help="Only those of this type.")
def entities(session: Session, query: str | None, type: str | None) -> None:
    """List the entities that memories mention: all, or those with QUERY in their name, alias or id."""
    with session.memory() as memory:
        _show(session, memory.entities(query, type=type), _entity_line)


def _entity_line(entity: Any) -> str:
    return f"{entity.id}  {entity.name}  {entity.type}".rstrip()


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


@command("relations")
@click.argument("id", required=False)
@click.option("--predicate", help="Only those with this predicate.")
def relations(session: Session, id: str | None, predicate: str | None) -> None:
    """List all relations, or those from and to one memory or `entity:<id>`."""
    with session.memory() as memory:
        _show(
            session,
            memory.relations(id, predicate=predicate),
            lambda relation: f"{relation.id}  {relation.subject.id} {relation.predicate} {relation.object.id}",
        )


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
        about = [f"{one.newer} supersedes {one.older}", value["decided_at"], one.decided_by, _shown(one.reason)]
        lines.append("  ".join(part for part in about if part and part != '""'))
    session.print_result({"results": [_supersession(one) for one in found]}, lines or "none", always=True)


def _supersession(found: Any) -> dict[str, Any]:
    from memglot.model import format_time, to_builtins

    at = format_time(found.decided_at) if found.decided_at is not None else None
    return {**to_builtins(found), "decided_at": at}


def _show(session: Session, things: Iterable[Any], line: Any) -> None:
    from memglot.cli.json_output import Stream
    from memglot.model import to_builtins

    if session.json:
        session.print_result({"results": Stream(map(to_builtins, things))}, "")
        return
    count = 0
    for thing in things:
        click.echo(line(thing))
        count += 1
    if not count:
        click.echo("none")


COMMANDS = {
    "scope": scope,
    "identity": identity,
    "entities": entities,
    "entity": entity,
    "relations": relations,
    "supersede": supersede,
    "chain": chain,
}
