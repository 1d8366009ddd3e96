"""`memglot diff`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from memglot.cli.json_output import Stream
from memglot.cli.max_record import max_record_option
from memglot.cli.passphrase import passphrase_option, secret
from memglot.cli.session import Session, command
from memglot.display import excerpt
from memglot.exporting.diff import diff as diff_
from memglot.report import Report
from memglot.settings import Passphrase


@command(
    "diff",
    examples="""
    memglot diff notes.json notes.yaml
    memglot diff vault memories.db --json
    """,
)
@click.argument("before", metavar="A", type=click.Path())
@click.argument("after", metavar="B", type=click.Path())
@passphrase_option
@max_record_option
def diff(session: Session, before: str, after: str, passphrase_file: str | None, max_record: str | None) -> int:
    """Compare two files, folders or stores, memory by memory.

    A and B may have different formats. The exit status is 0 if they are equal and 1 if they differ.
    """
    return _diff(session, before, after, secret(passphrase_file), max_record)


def _diff(session: Session, before: str, after: str, passphrase: Passphrase, max_record: str | None) -> int:
    report = Report()
    found = {"added": 0, "removed": 0, "changed": 0}

    def counted() -> Iterator[Any]:
        for difference in diff_(before, after, report, passphrase=passphrase, max_record=max_record):
            found[difference.state] += 1
            yield difference

    if session.json:
        values = ({**msgspec.to_builtins(d), "fields": d.fields} for d in counted())
        session.print_result({"differences": Stream(values), "errors": report.errors}, "")
    else:
        for difference in counted():
            mark = {"added": "+", "removed": "-", "changed": "~"}[difference.state]
            click.echo(f"{mark} {difference.id or '(no id)'}  {excerpt(difference.title)}")
            for field, (old, new) in difference.fields.items():
                click.echo(f"    {field}: {excerpt(repr(old), 60)} -> {excerpt(repr(new), 60)}")
        session.print_errors(report.faults())
        counts = ", ".join(f"{count:,} {state}" for state, count in found.items())
        click.echo(f"{'' if any(found.values()) else 'no differences; '}{counts}, {report.skipped:,} equal")
    if len(report.errors):
        return 2
    return 1 if any(found.values()) else 0
