"""`memglot history`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from memglot.cli.conflicts import value_lines
from memglot.cli.session import Session, command
from memglot.display import excerpt
from memglot.merging.conflicts import conflict_value
from memglot.model import format_time
from memglot.results import record_value

if TYPE_CHECKING:
    from memglot.editing.history import Version


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
        lines.append(f"{version.number}  {until}" + _other_changes(version, versions))
        if version.record:
            lines.append("    " + excerpt(version.record.content))
        for conflict in conflicts:
            lines.append(f"    {conflict['field']} had conflicting values:")
            lines += ["        " + text for text in value_lines(conflict)]
    session.print_result({"versions": value, "importId": import_id}, lines, always=True)


def _other_changes(version: Version, versions: Sequence[Version]) -> str:
    """Return the fields that the next version changed, if the texts that are shown are the same."""
    after = versions[version.number].record if version.number < len(versions) else None
    if version.record is None or after is None or after.content != version.record.content:
        return ""
    old, new = record_value(version.record), record_value(after)
    names = [name for name in {**old, **new} if name not in ("updated_at", "clocks")]
    changed = [name for name in names if old.get(name) != new.get(name)]
    return f": {', '.join(changed)}" if changed else ""
