"""`conflicts`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from memglot.cli.session import Session, command

if TYPE_CHECKING:
    from memglot.memory import Memory
    from memglot.model import Conflict, Record


@command("conflicts")
@click.argument("what", type=click.Choice(["list", "show", "resolve"]), default="list")
@click.argument("id", required=False)
@click.argument("field", required=False)
@click.option("--take", type=int, metavar="N", help="Settle it with the value of this number.")
@click.option("--value", metavar="TEXT", help="Settle it with this text.")
@click.option("--json-value", metavar="JSON", help="Settle it with this value; `null` takes the field away.")
def conflicts(session: Session, what: str, id: str | None, field: str | None, **choice: Any) -> None:
    """List the fields whose values clash, show the values, or settle a clash.

    Settling is an ordinary edit: it travels to other machines. FIELD may be left out where only one clashes.
    """
    given = {name: value for name, value in choice.items() if value is not None}
    if what == "list" and id is not None or what != "list" and id is None:
        raise click.UsageError("`conflicts list` takes no ID, `conflicts show` and `conflicts resolve` take one")
    if (what == "resolve") != (len(given) == 1):
        raise click.UsageError("`conflicts resolve`, and only that, takes one of --take, --value and --json-value")
    if what == "resolve" and id is not None:
        _resolve(session, id, field, given)
        return
    with session.memory() as memory:
        _show(session, _values(memory, id, field), whole=what == "show")


def _resolve(session: Session, id: str, field: str | None, given: dict[str, Any]) -> None:
    from memglot.json_values import record_value

    if "json_value" in given:
        import msgspec

        try:
            given = {"value": msgspec.json.decode(given["json_value"].encode())}
        except msgspec.MsgspecError as error:
            raise click.UsageError(f"--json-value takes JSON: {error}") from None
    with session.memory(write=True) as memory:
        record = memory.resolve(id, field, **given)
    session.print_result(record_value(record), f"settled {record.id}")


def _values(memory: Memory, id: str | None, field: str | None) -> Iterator[dict[str, Any]]:
    from memglot.merging.conflicts import conflicts_with_records

    if id is None:
        for conflict, record in conflicts_with_records(memory.store):
            yield _value(record, conflict)
        return
    for conflict in memory.conflicts(id, field):
        yield _value(memory.get(conflict.record), conflict)


def _value(record: Record, conflict: Conflict) -> dict[str, Any]:
    from memglot.display import excerpt
    from memglot.merging.conflicts import conflict_value

    return conflict_value(record, conflict) | {"memory": excerpt(record.title or record.content)}


def _show(session: Session, values: Iterable[dict[str, Any]], *, whole: bool) -> None:
    """Show conflicts one at a time: there may be many, and large ones."""
    from memglot.cli.json_output import Stream

    if session.json:
        session.print_result({"conflicts": Stream(values)}, "")
        return
    none = True
    for found in values:
        none = False
        click.echo(f"{found['id']}  {found['field']}  {found['at']}  {found['memory']}")
        for text in value_lines(found, whole=whole):
            click.echo("    " + text)
    if none:
        click.echo("none")


def value_lines(found: dict[str, Any], *, whole: bool = False) -> list[str]:
    """The values of a conflict with their numbers: whole, or the beginning of each."""
    from memglot.display import excerpt
    from memglot.merging.conflicts import value_text

    lines = []
    for number, value in enumerate(found["values"], 1):
        stands = "  (stands meanwhile)" if number == found["stands"] else ""
        lines.append(f"{number}  {value_text(value) if whole else excerpt(value_text(value))}{stands}")
    return lines
