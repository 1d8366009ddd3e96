"""`memglot repo check`."""

from __future__ import annotations

from pathlib import Path

import click

from memglot.cli.repo.output import Data, issue_place, print_envelope
from memglot.cli.session import Session, command
from memglot.display import one_line, plural


@command(
    "check",
    examples="""
    memglot repo check
    # In CI and before a commit: warnings fail, too.
    memglot repo check --strict
    """,
)
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings, too; docs/repo.md lists which ones count.")
def check(session: Session, strict: bool) -> int:
    """Check every file of project memory.

    The exit status is 0 if memory is valid and 1 if it is not. Warnings do not make it invalid, unless `--strict` is
    set.
    """
    from memglot.project.check.run import check_project, counted
    from memglot.project.envelope import run

    envelope = run(Path(), check_project)
    if strict and envelope["ok"]:
        envelope["data"]["counted_warnings"] = counted(envelope["data"]["warnings"])
    code = print_envelope(session, envelope, check_text, always=True)
    return code or int(not envelope["data"]["valid"] or envelope["data"].get("counted_warnings", 0) > 0)


def check_text(data: Data) -> str:
    """List what is wrong."""
    lines = ["Memory is valid." if data["valid"] else "Memory is not valid."]
    for kind in ("errors", "warnings"):
        for issue in data[kind]:
            lines.append(f"{kind[:-1]}: {issue_place(issue)}: {issue['message']} ({issue['code']})")
    if count := data.get("counted_warnings"):
        lines.append(f"The strict check failed: {plural(count, 'warning')}.")
    return "\n".join(map(one_line, lines))
