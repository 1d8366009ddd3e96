"""`memglot repo query`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from memglot.cli.repo.output import print_envelope
from memglot.cli.session import Session, command


@command(
    "query",
    examples="""
    memglot repo query "how do webhook retries work"
    memglot repo query src/billing/retry.py --budget 800
    """,
)
@click.argument("question")
@click.option(
    "--budget", type=float, metavar="TOKENS", help="Maximum length of the answer (default: the project's setting)."
)
def query(session: Session, question: str, budget: float | None) -> int:
    """Answer a question from project memory, as Markdown.

    Shows the matching nodes first, then related nodes, then open questions. You can also search for ids, tags and
    paths.
    """
    from memglot.project.envelope import run
    from memglot.project.query import query

    envelope = run(Path(), partial(query, question=question, budget=budget))
    return print_envelope(session, envelope, lambda data: str(data["markdown"]), always=True)
