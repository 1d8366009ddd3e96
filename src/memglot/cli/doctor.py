"""`memglot doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from memglot.cli.session import Session, command
from memglot.cli.verify import verdict_lines
from memglot.display import plural
from memglot.errors import DamagedStore
from memglot.exporting.verify import Verdict, verdict_value


@command(
    "doctor",
    examples="""
    memglot doctor
    memglot doctor --fix
    memglot doctor --salvage salvaged.db
    memglot restore salvaged.db --force
    """,
)
@click.option("--fix", is_flag=True, help="Rebuild the indexes and the full-text index from the memories.")
@click.option(
    "--salvage",
    "out",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="Copy everything that can be read to a new store, and list what is lost. The damaged store is not changed.",
)
def doctor(session: Session, fix: bool, out: Path | None) -> int:
    """Check the store, and repair its indexes.

    The command checks the file, every memory, the full-text index and the audit chain. The exit status is 1 if there is
    a problem, or if `--salvage` could not copy everything.
    """
    if out is not None:
        if fix:
            raise click.UsageError("use `--fix` or `--salvage`, not both")
        return _salvage(session, out)
    verdict = _check(session, fix)
    if not verdict.ok:
        session.print_note(
            "`memglot doctor --fix` rebuilds indexes; `memglot doctor --salvage OUT` copies what can be read to a new "
            "store, which `memglot restore OUT --force` puts in place"
        )
    session.print_result(verdict_value(verdict), verdict_lines(verdict))
    return 0 if verdict.ok else 1


def _check(session: Session, fix: bool) -> Verdict:
    try:
        with session.memory(write=fix) as memory, session.working("checking the store"):
            return memory.doctor(fix=fix)
    except DamagedStore as error:
        return Verdict(error.url, "altered", "sqlite", 0, [error.reason])


def _salvage(session: Session, out: Path) -> int:
    from memglot.exporting.salvage import salvage

    with session.working("copying"):
        result = salvage(session.store, out)
    others = [f"{counts['copied']:,} {kind}" for kind, counts in result.others.items() if counts["copied"]]
    copied = ", ".join([plural(result.memories, "memory"), *others])
    lines = [f"copied {copied} to {out}", *(f"  {problem}" for problem in result.problems())]
    session.print_notes(result.notes)
    session.print_result(result.value(), lines)
    return 0 if result.is_complete else 1
