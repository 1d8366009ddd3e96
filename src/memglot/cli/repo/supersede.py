"""`memglot repo supersede`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from memglot.cli.repo.by_hand import id_argument, print_change, write_options
from memglot.cli.session import Session, command


@command(
    "supersede",
    examples="""
    memglot repo supersede decision.inline-retries decision.retries-run-in-the-worker --reason "moved"
    """,
)
@id_argument("old")
@id_argument("new")
@click.option("--reason", metavar="TEXT", help="Why, in one sentence (default: replaced by NEW).")
@write_options
def supersede(session: Session, old: str, new: str, **options: Any) -> int:
    """Mark a node as superseded by another.

    NEW gets a relation to OLD, and OLD leaves the product map.
    """
    from memglot.project.by_hand import supersede
    from memglot.project.envelope import run

    change = partial(supersede, old=old, new=new, **options)
    return print_change(session, run(Path(), change, register=not options["dry_run"]))
