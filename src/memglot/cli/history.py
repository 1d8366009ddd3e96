"""`memglot history`."""

from __future__ import annotations

import click

from memglot.cli.conflicts import value_lines
from memglot.cli.session import Session, command
from memglot.display import excerpt
from memglot.merging.conflicts import conflict_value
from memglot.model import format_time
from memglot.results import record_value


@command("history", examples="memglot history 0194a000-0006")
@click.argument("id")
def history(session: Session, id: str) -> None:
    """Show all versions of a memory, oldest first.

    Fields that had conflicting values are shown with these values.
    """
    with session.memory() as memory:
        versions, import_id = memory.history(id)
    value = []
    lines = [f"imported by {import_id}"] if import_id else []
    for version in versions:
        conflicts = [conflict_value(version.record, one) for one in version.conflicts if version.record]
        value.append(
            {
                "number": version.number,
                "until": format_time(version.until) if version.until else None,
                "deed": version.deed,
                "record": record_value(version.record) if version.record else None,
                "conflicts": conflicts,
            }
        )
        until = f"until {format_time(version.until)} ({version.deed})" if version.until else version.deed
        lines.append(f"{version.number}  {until}")
        if version.record:
            lines.append("    " + excerpt(version.record.content))
        for conflict in conflicts:
            lines.append(f"    {conflict['field']} had conflicting values:")
            lines += ["        " + text for text in value_lines(conflict)]
    session.print_result({"versions": value, "importId": import_id}, lines, always=True)
