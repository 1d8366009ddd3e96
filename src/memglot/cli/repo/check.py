"""`memglot repo check`."""

from __future__ import annotations

from pathlib import Path

from memglot.cli.repo.output import Data, issue_place, print_envelope
from memglot.cli.session import Session, command
from memglot.display import one_line


@command("check")
def check(session: Session) -> int:
    """Check every file of project memory.

    The exit status is 0 if memory is valid and 1 if it is not. Warnings do not make it invalid.
    """
    from memglot.project.check.run import check_project
    from memglot.project.envelope import run

    envelope = run(Path(), check_project)
    code = print_envelope(session, envelope, check_text, always=True)
    return code or int(not envelope["data"]["valid"])


def check_text(data: Data) -> str:
    """List what is wrong."""
    lines = ["Memory is valid." if data["valid"] else "Memory is not valid."]
    for kind in ("errors", "warnings"):
        for issue in data[kind]:
            lines.append(f"{kind[:-1]}: {issue_place(issue)}: {issue['message']} ({issue['code']})")
    return "\n".join(map(one_line, lines))
