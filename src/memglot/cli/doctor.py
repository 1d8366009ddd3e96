"""`memglot doctor`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.display import plural


@command("doctor")
@click.option("--fix", is_flag=True, help="Rebuild the indexes and the full text from the memories.")
def doctor(session: Session, fix: bool) -> int:
    """Check the store: its file, every memory, the full text, the audit chain."""
    from memglot.exporting.verify import verdict_value

    with session.memory(write=fix) as memory:
        verdict = memory.doctor(fix=fix)
    lines = [f"{verdict.path}: {verdict.state}, {plural(verdict.count, 'memory')}"]
    session.print_result(verdict_value(verdict), lines + [f"  {problem}" for problem in verdict.problems])
    return 0 if verdict.ok else 1
