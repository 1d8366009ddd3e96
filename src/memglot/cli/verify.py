"""`memglot verify`."""

from __future__ import annotations

import click

from memglot.cli.format_name import FormatName
from memglot.cli.max_record import max_record_option
from memglot.cli.passphrase import passphrase_option, secret
from memglot.cli.session import Session, command
from memglot.display import plural
from memglot.exporting.verify import Verdict, verdict_value
from memglot.exporting.verify import verify as verify_

_STATES = {"whole": "intact", "unproven": "no proof"}


@command(
    "verify",
    examples="""
    memglot verify memories.json
    memglot verify vault --json
    """,
)
@click.argument("path", type=click.Path())
@click.option("--format", "-f", type=FormatName(), help="Format of PATH (default: detected by extension and content).")
@passphrase_option
@max_record_option
def verify(session: Session, path: str, format: str | None, passphrase_file: str | None, max_record: str | None) -> int:
    """Verify that an export or a store is complete and unaltered.

    The exit status is 0 if it is, and 1 if memories are missing or were edited, or if it contains no proof.
    """
    passphrase = secret(passphrase_file)
    with session.working("verifying"):
        verdict = verify_(path, format=format, passphrase=passphrase, max_record=max_record)
    session.print_result(verdict_value(verdict), verdict_lines(verdict), always=True)
    return 0 if verdict.ok else 1


def verdict_lines(verdict: Verdict) -> list[str]:
    """Return the result of a check as text."""
    state = _STATES.get(verdict.state, verdict.state)
    problems = (f"  {problem}" for problem in verdict.problems)
    return [f"{verdict.path}: {state}, {plural(verdict.count, 'memory')}", *problems]
