"""`memglot conflicts`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click
import msgspec

from memglot.cli.json_output import Stream
from memglot.cli.session import Session, command
from memglot.display import excerpt
from memglot.errors import NotFound
from memglot.merging.conflicts import conflict_value, conflicts_with_records, value_text
from memglot.results import record_value

if TYPE_CHECKING:
    from memglot.memory import Memory
    from memglot.model import Conflict, Record


@command(
    "conflicts",
    examples="""
    memglot conflicts
    memglot conflicts show 0194a000-0006
    memglot conflicts resolve 0194a000-0006 title --take 2
    memglot conflicts resolve 0194a000-0006 title --value "Task queue"
    """,
)
@click.argument("action", type=click.Choice(["list", "show", "resolve"]), default="list")
@click.argument("id", required=False)
@click.argument("field", required=False)
@click.option("--take", type=int, metavar="N", help="Number of the value to use.")
@click.option("--value", metavar="TEXT", help="Text to use instead of the conflicting values.")
@click.option("--json-value", metavar="JSON", help="JSON value to use instead; `null` removes the field.")
def conflicts(session: Session, action: str, id: str | None, field: str | None, **choice: Any) -> None:
    """List, show and resolve conflicting values.

    `list` shows the fields that have conflicting values, `show` all values of one memory, and `resolve` chooses one.
    FIELD can be left out if only one field has a conflict. Resolving a conflict is an ordinary edit, which the next
    sync sends to other machines.
    """
    given = {name: value for name, value in choice.items() if value is not None}
    if action == "list" and id is not None or action != "list" and id is None:
        raise click.UsageError("`conflicts list` accepts no ID; `conflicts show` and `conflicts resolve` need one")
    if (action == "resolve") != (len(given) == 1):
        raise click.UsageError(
            "`conflicts resolve` needs one of --take, --value and --json-value; `list` and `show` accept none"
        )
    if action == "resolve" and id is not None:
        _resolve(session, id, field, given)
        return
    with session.memory() as memory:
        _print_conflicts(session, _values(memory, id, field), complete=action == "show")


def _resolve(session: Session, id: str, field: str | None, given: dict[str, Any]) -> None:
    if "json_value" in given:
        try:
            given = {"value": msgspec.json.decode(given["json_value"].encode())}
        except msgspec.MsgspecError as error:
            raise click.UsageError(f"--json-value is not valid JSON: {error}") from None
    with session.memory(write=True) as memory:
        try:
            record = memory.resolve(id, field, **given)
        except NotFound:
            # A command that was killed may have resolved it, and left its file.
            memory.mirror_conflicts()
            raise
    session.print_result(record_value(record), f"resolved the conflict in {record.id}")


def _values(memory: Memory, id: str | None, field: str | None) -> Iterator[dict[str, Any]]:
    if id is None:
        for conflict, record in conflicts_with_records(memory.store):
            yield _value(record, conflict)
        return
    for conflict in memory.conflicts(id, field):
        yield _value(memory.get(conflict.record), conflict)


def _value(record: Record, conflict: Conflict) -> dict[str, Any]:
    return conflict_value(record, conflict) | {"memory": excerpt(record.title or record.content)}


def _print_conflicts(session: Session, values: Iterable[dict[str, Any]], *, complete: bool) -> None:
    """Print conflicts one at a time: they may be many and large."""
    if session.json:
        session.print_result({"conflicts": Stream(values)}, "")
        return
    none = True
    for found in values:
        none = False
        click.echo(f"{found['id']}  {found['field']}  {found['at']}  {found['memory']}")
        for text in value_lines(found, complete=complete):
            click.echo("    " + text)
    if none:
        click.echo("none")


def value_lines(found: dict[str, Any], *, complete: bool = False) -> list[str]:
    """Return the values of a conflict with their numbers, each complete or shortened."""
    lines = []
    for number, value in enumerate(found["values"], 1):
        in_use = "  (in use)" if number == found["stands"] else ""
        lines.append(f"{number}  {value_text(value) if complete else excerpt(value_text(value))}{in_use}")
    return lines
