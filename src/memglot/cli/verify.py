"""`memglot verify`."""

from __future__ import annotations

import click

from memglot.cli.format_name import FormatName
from memglot.cli.passphrase import passphrase_option, secret
from memglot.cli.session import Session, command
from memglot.display import plural


@command("verify")
@click.argument("path", type=click.Path())
@click.option("--format", "-f", type=FormatName(), help="The format; else it is detected.")
@passphrase_option
def verify(session: Session, path: str, format: str | None, passphrase_file: str | None) -> int:
    """Check that an export or a store is whole and unaltered.

    Exit status 0 means that it is; 1 that it was cut off or edited, or that it carries no proof.
    """
    from memglot.exporting.verify import verdict_value
    from memglot.exporting.verify import verify as verify_

    verdict = verify_(path, format=format, passphrase=secret(passphrase_file))
    lines = [f"{verdict.path}: {verdict.state}, {plural(verdict.count, 'memory')}"]
    lines += [f"  {problem}" for problem in verdict.problems]
    session.print_result(verdict_value(verdict), lines, always=True)
    return 0 if verdict.ok else 1
