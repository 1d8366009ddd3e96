"""`memglot repo list`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

from memglot.cli.repo.by_hand import complete_tags
from memglot.cli.repo.output import Data, print_envelope
from memglot.cli.session import Session, command
from memglot.cli.style import Style
from memglot.display import shorten
from memglot.project.storage.vocabulary import KINDS

_STATUSES = ("active", "stale", "superseded", "open", "closed")
_MAX_ID = 44


@command(
    "list",
    examples="""
    memglot repo list
    memglot repo list --kind question --status open
    # What is known about a file?
    memglot repo list --anchor src/billing/retry.py
    """,
)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this kind; can be repeated.")
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(_STATUSES), help="Only this status; can be repeated."
)
@click.option(
    "--tag", "tags", multiple=True, shell_complete=complete_tags, help="Only nodes with this tag; can be repeated."
)
@click.option("--anchor", metavar="PATH", help="Only nodes that describe this path, or something below it.")
def list_(
    session: Session, kinds: tuple[str, ...], statuses: tuple[str, ...], tags: tuple[str, ...], anchor: str | None
) -> int:
    """List the nodes of project memory, the last changed first."""
    from memglot.project.envelope import run
    from memglot.project.listing import list_nodes

    select = partial(list_nodes, kinds=kinds, statuses=statuses, tags=tags, anchor=anchor)
    envelope = run(Path(), select)
    if envelope["ok"] and envelope["data"]["nodes"] and not session.json:
        style = Style()
        style.show(_rows(envelope["data"]["nodes"], style))
    return print_envelope(session, envelope, _count, always=True)


def _count(data: Data) -> str:
    if data["nodes"]:
        return ""
    if data["total"]:
        return f"None of {data['total']:,} nodes match. `memglot repo list` shows all."
    return 'There are no nodes yet. `memglot repo add decision "TITLE"` adds one.'


def _rows(nodes: list[Data], style: Style) -> Iterator[str]:
    """Yield a line for each node: id, state, title, and then anchors and tags."""
    ids = max(min(len(node["id"]), _MAX_ID) for node in nodes)
    states = max(len(_state(node)) for node in nodes)
    for node in nodes:
        about = "  ".join(filter(None, [", ".join(node["anchors"]), style.tags(node["tags"])]))
        room = style.width - ids - states - 4
        title = shorten(node["title"], max(room, 20))
        about = shorten(about, room - len(title) - 2) if room - len(title) - 2 > 10 else ""
        line = f"{style.paint(node['id'].ljust(ids), 'id')}  {style.paint(_state(node).ljust(states), 'about')}  "
        line += style.paint(title, "title")
        yield f"{line}  {style.paint(about, 'about')}" if about else line


def _state(node: Data) -> str:
    return node["stage"] if node["stage"] and node["status"] == "active" else str(node["status"])
