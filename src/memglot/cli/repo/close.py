"""`memglot repo close`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from memglot.cli.repo.by_hand import complete_ids, id_argument, print_change, write_options
from memglot.cli.session import Session, command


@command(
    "close",
    examples="""
    memglot repo close question.who-owns-retries --answer decision.retries-run-in-the-worker
    # Open it again.
    memglot repo edit question.who-owns-retries --status open
    """,
)
@id_argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--answer",
    "answers",
    multiple=True,
    metavar="ID",
    shell_complete=complete_ids,
    help="Id of a node that answers the questions; it gets a relation to them. Can be repeated.",
)
@write_options
def close(session: Session, ids: tuple[str, ...], **options: Any) -> int:
    """Close open questions."""
    from memglot.project.by_hand import close
    from memglot.project.envelope import run

    change = partial(close, ids=ids, **options)
    return print_change(session, run(Path(), change, register=not options["dry_run"]))
