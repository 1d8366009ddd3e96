"""Commands about one memory: `add get update edit delete undelete link unlink`."""

from __future__ import annotations

import sys
from typing import Any

import click

from memglot.cli.session import Session, command, json_object
from memglot.errors import CheckFailed


def _text(argument: str) -> str:
    """The argument, or for `-` standard input, without the newline that ends it."""
    return sys.stdin.read().removesuffix("\n") if argument == "-" else argument


def _temporal(text: str | None) -> list[str] | None:
    return [part.strip() for part in text.split(",")] if text else None


def _field_options(function: Any) -> Any:
    for option in (
        click.option("--title", help="A title."),
        click.option("--temporal", metavar="START[,END]", help="When it is about."),
        click.option("--meta", metavar="JSON", help="Metadata, as a JSON object."),
        click.option("--scope", help="Whose memory it is."),
        click.option("--kind", help="What kind of memory it is."),
        click.option("--tag", "tags", multiple=True, help="A tag; may be given several times."),
        click.option("--tree", metavar="PATH", help="Its place in the tree."),
    ):
        function = option(function)
    return function


def _fields(options: dict[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in options.items() if value not in (None, ())}
    if "meta" in found:
        found["meta"] = json_object(found["meta"], "--meta")
    if "temporal" in found:
        found["temporal"] = _temporal(found["temporal"])
    if "tags" in found:
        found["tags"] = list(found["tags"])
    return found


@command("add")
@click.argument("text")
@_field_options
@click.option("--id", default="", help="Its id, a UUIDv7; else a new one.")
def add(session: Session, text: str, id: str, **options: Any) -> None:
    """Keep a new memory. `-` reads its text from standard input."""
    from memglot.json_values import record_value

    with session.memory(write=True) as memory:
        record = memory.add(_text(text), id=id, **_fields(options))
    session.print_result(record_value(record), record.id)


@command("get")
@click.argument("id")
def get(session: Session, id: str) -> None:
    """Show one memory, as Markdown. The beginning of an id is enough where it is unambiguous."""
    from memglot.editing.markdown import markdown_of
    from memglot.json_values import record_value

    with session.memory() as memory:
        record = memory.get(id)
    session.print_result(record_value(record), markdown_of(record).rstrip("\n"), always=True)


@command("update")
@click.argument("id")
@click.option("--content", help="The new text; `-` reads it from standard input.")
@_field_options
@click.option("--status", help="Its status, such as `stale`.")
def update(session: Session, id: str, content: str | None, **options: Any) -> None:
    """Change fields of a memory; each replaces the old value. `--tag ""` removes all tags."""
    from memglot.json_values import record_value

    changes = _fields(options)
    if changes.get("tags") == [""]:
        changes["tags"] = []
    if content is not None:
        changes["content"] = _text(content)
    if not changes:
        raise click.UsageError("nothing to change: give at least one field")
    with session.memory(write=True) as memory:
        record = memory.update(id, **changes)
    session.print_result(record_value(record), f"updated {record.id}")


@command("edit")
@click.argument("id")
def edit(session: Session, id: str) -> None:
    """Open a memory in your editor, as Markdown, and keep what you saved."""
    from memglot.cli.editing import edit_text
    from memglot.editing.markdown import changes_from_markdown, markdown_of
    from memglot.json_values import record_value

    with session.memory() as memory:
        record = memory.get(id)
    before = markdown_of(record)
    after = edit_text(before, record.id)
    if after.text == before:
        after.forget()
        session.print_result(record_value(record), "nothing changed")
        return
    with after.kept_on_error():
        changes = changes_from_markdown(after.text)
        with session.memory(write=True) as memory:
            if memory.get(record.id) != record:
                raise CheckFailed(f"memory `{record.id}` was changed while you edited it")
            record = memory.update(record.id, **changes)
    session.print_result(record_value(record), f"updated {record.id}")


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


COMMANDS = {
    "add": add,
    "get": get,
    "update": update,
    "edit": edit,
    "delete": delete,
    "undelete": undelete,
    "link": link,
    "unlink": unlink,
}
