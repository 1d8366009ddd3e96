"""`memglot undo`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from memglot.cli.session import LIMIT, Session, command
from memglot.display import excerpt, plural

if TYPE_CHECKING:
    from memglot.editing.undo import Undone


@command(
    "undo",
    examples="""
    memglot undo
    memglot undo --list
    memglot undo 3f2a91c7
    memglot undo last
    memglot undo 0194a000-0006-7000-8000-000000000006 --force
    """,
)
@click.argument("id", required=False, metavar="[ID]")
@click.option("--list", "is_list", is_flag=True, help="List operations and imports, newest first.")
@click.option("--limit", type=LIMIT, default=20, show_default=True, help="Maximum number of operations with --list.")
@click.option("--force", is_flag=True, help="Undo it even for memories that were changed since.")
@click.option("--yes", "-y", is_flag=True, help="Undo the last operation without asking.")
def undo(session: Session, id: str | None, is_list: bool, limit: int, force: bool, yes: bool) -> None:
    """Undo an operation or an import.

    Without ID, the command shows the last operation that is not undone, and asks. With ID, it undoes an operation or
    import that `--list` shows; `last` is the newest import, even if that is undone already.

    Every command that changes memories is an operation. Undoing one is a new edit, which other machines follow and
    which can be undone in turn. Undoing an import removes what it added and restores what it changed, here only. What
    was changed since stays as it is, unless `--force` is set.
    """
    if is_list and id is not None:
        raise click.UsageError("`--list` accepts no ID")
    if is_list:
        _print_list(session, limit)
        return
    if id is None:
        id = _ask(session, yes)
    with session.memory(write=True) as memory, session.counting("undoing") as progress:
        result = memory.undo(id, force=force, progress=progress)
    session.print_notes(result.notes)
    session.print_result(result.value(), _summary(result))


def _summary(result: Undone) -> str:
    if result.action == "import":
        return f"removed {plural(result.removed, 'memory')}, restored {result.restored:,}"
    counts = {
        "removed": (result.removed, "memory"),
        "restored": (result.restored, "memory"),
        "changed back": (result.reverted, "memory"),
        "reversed": (result.others, "other change"),
    }
    parts = [f"{verb} {plural(count, noun)}" for verb, (count, noun) in counts.items() if count]
    return f"undid {result.action}: {', '.join(parts)}" if parts else "nothing changed"


def _ask(session: Session, yes: bool) -> str:
    """Show the last operation, and return its id if it is to be undone."""
    from memglot.editing.operations import describe, first_memories, last_operation
    from memglot.model import format_time

    with session.memory() as memory:
        operation = last_operation(memory.store)
        about = f"the last operation, {format_time(operation.at)[:16]}: {describe(operation)}"
        lines = [f"    {excerpt(record.content)}" for record in first_memories(memory.store, operation)]
    more = operation.memories - len(lines)
    lines += [f"    and {more:,} more"] if lines and more > 0 else []
    session.confirm(
        "\n".join([f"Undo {about}", *lines, "Undo it?"]) if lines else f"Undo {about}?",
        yes=yes,
        refusal=f"this would undo {about}",
        hint="add `--yes` to undo it; `memglot undo --list` lists all operations",
    )
    return operation.id


def _print_list(session: Session, limit: int) -> None:
    from memglot.editing.operations import operation_line, operation_value

    with session.memory() as memory:
        found = list(islice(memory.operations(), limit))
    value = {"operations": [operation_value(one) for one in found]}
    session.print_result(value, [operation_line(one) for one in found] or "none", always=True)
