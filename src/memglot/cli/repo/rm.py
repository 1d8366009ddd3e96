"""`memglot repo rm`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from memglot.cli.repo.by_hand import id_argument, print_change, write_options
from memglot.cli.session import Session, command
from memglot.display import plural


@command(
    "rm",
    examples="""
    memglot repo rm gotcha.old-retry-loop --reason "fixed by the new queue" --yes
    """,
)
@id_argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--reason", metavar="TEXT", help="Why, in one sentence (default: deleted by hand).")
@click.option("--yes", "-y", is_flag=True, help="Delete without asking.")
@write_options
def rm(session: Session, ids: tuple[str, ...], yes: bool, **options: Any) -> int:
    """Delete nodes and their relations.

    To keep what was true once, use `repo supersede`, or `repo edit --status stale`. Git has what was committed.
    """
    from memglot.project.by_hand import find_doomed, remove
    from memglot.project.envelope import run

    found = run(Path(), partial(find_doomed, ids=ids, dry_run=options["dry_run"]), register=False)
    if not found["ok"]:
        return print_change(session, found)
    if not options["dry_run"]:
        named = [f"`{row['id']}` ({row['title']})" for row in found["data"]]
        links = sum(row["relations"] for row in found["data"])
        what = ", ".join(named) + (f" and {plural(links, 'relation')}" if links else "")
        session.confirm(
            f"Delete {what}?",
            yes=yes,
            refusal=f"this would delete {plural(len(named), 'node')}",
            hint="add `--yes` to delete without asking, or `--dry-run` to see what would be deleted",
        )
    change = partial(remove, ids=[row["id"] for row in found["data"]], **options)
    return print_change(session, run(Path(), change, register=not options["dry_run"]))
