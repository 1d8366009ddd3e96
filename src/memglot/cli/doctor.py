"""`memglot doctor`."""

from __future__ import annotations

import click

from memglot.cli.session import Session, command
from memglot.cli.verify import verdict_lines
from memglot.exporting.verify import verdict_value


@command(
    "doctor",
    examples="""
    memglot doctor
    memglot doctor --fix
    """,
)
@click.option("--fix", is_flag=True, help="Rebuild the indexes and the full-text index from the memories.")
def doctor(session: Session, fix: bool) -> int:
    """Check the store, and repair its indexes.

    The command checks the file, every memory, the full-text index and the audit chain.
    """
    with session.memory(write=fix) as memory:
        verdict = memory.doctor(fix=fix)
    session.print_result(verdict_value(verdict), verdict_lines(verdict))
    return 0 if verdict.ok else 1
