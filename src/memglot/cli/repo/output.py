"""Print the result of a command of project memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memglot.cli.session import Session

Data = dict[str, Any]
_MAX_ISSUES = 20


def print_envelope(session: Session, envelope: Data, show: Callable[[Data], str], *, always: bool = False) -> int:
    """Print an envelope as JSON with `--json`, else its data as text and its warnings; return the exit code.

    The text of a query is `always` printed; with `--quiet`, the report of a change is not.
    """
    from memglot.project.envelope import exit_code

    if session.json:
        session.print_result(envelope, "")
        return exit_code(envelope)
    for warning in () if session.quiet else envelope["warnings"]:
        click.echo(f"warning: {warning}", err=True)
    if envelope["ok"]:
        session.print_result(None, show(envelope["data"]), always=always)
    else:
        error = envelope["error"]
        click.echo(f"error: {error['code']}: {error['message']}", err=True)
        for line in _details(error.get("details")):
            click.echo(f"  {line}", err=True)
    return exit_code(envelope)


def bullets(label: str, values: list[str]) -> list[str]:
    """Return the lines of a labelled list; none for an empty list."""
    return [f"{label}:", *(f"- {value}" for value in values)] if values else []


def issue_place(issue: Data) -> str:
    """Return the path and field of an issue."""
    return " ".join(part for part in (issue["path"], issue["field"]) if part)


def _details(details: Any) -> list[str]:
    """Return where an error is, line by line."""
    if not isinstance(details, dict):
        return []
    id = f": `{details['id']}`" if "id" in details else ""
    lines = [f"at {details['field']}{id}"] if "field" in details else []
    if "allowed" in details:
        lines.append(f"allowed: {', '.join(details['allowed'])}")
    issues = details.get("issues", [])
    lines += [f"{issue_place(issue)}: {issue['message']}" for issue in issues[:_MAX_ISSUES]]
    hidden = len(issues) - _MAX_ISSUES
    return [*lines, f"and {hidden} more; use `--json` to list all"] if hidden > 0 else lines
