"""`memglot repo map`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from memglot.cli.repo.output import Data, print_envelope
from memglot.cli.session import Session, command

_DONE = {"added": "README.md: the map was added at its end.", "updated": "README.md: the map was updated."}
_PLANNED = {"added": "README.md: the map would be added at its end.", "updated": "README.md: the map would be updated."}


@command(
    "map",
    examples="""
    memglot repo map
    memglot repo map --readme
    """,
)
@click.option("--readme", is_flag=True, help="Add the map to README.md; every save and sync keeps it current.")
@click.option("--dry-run", is_flag=True, help="Show what would be added, and write nothing.")
def map_(session: Session, readme: bool, dry_run: bool) -> int:
    """Show the product map, or add it to README.md.

    In README.md, the map is between two lines with markers, which you can move; the rest of the file stays as it is. To
    stop updates, delete both lines.
    """
    from memglot.project.envelope import run
    from memglot.project.map import add_to_readme, show_map

    change = partial(add_to_readme, dry_run=dry_run) if readme else show_map
    envelope = run(Path(), change, register=not dry_run)
    return print_envelope(session, envelope, map_text, always=not readme)


def map_text(data: Data) -> str:
    """Return the map, or describe what happened to README.md."""
    if data["readme"] is None:
        return str(data["map"])
    if data["readme"] == "unchanged":
        return "README.md: unchanged."
    return (_PLANNED if data["dry_run"] else _DONE)[data["readme"]]
