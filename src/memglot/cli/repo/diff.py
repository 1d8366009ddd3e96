"""`memglot repo diff`."""

from __future__ import annotations

from pathlib import Path

from memglot.cli.repo.output import Data, print_envelope
from memglot.cli.session import Session, command


@command("diff")
def diff(session: Session) -> int:
    """Show the differences of `.memory/` from the last commit."""
    from memglot.project.diff import diff
    from memglot.project.envelope import run

    return print_envelope(session, run(Path(), diff), diff_text, always=True)


def diff_text(data: Data) -> str:
    """Return the diff."""
    return str(data["diff"]).rstrip("\n") or "No differences from the last commit."
