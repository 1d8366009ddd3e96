"""`memglot tree`."""

from __future__ import annotations

import click

from memglot.cli.session import LIMIT, Session, command
from memglot.display import plural


@command(
    "tree",
    examples="""
    memglot tree
    memglot tree work --depth 2
    """,
)
@click.argument("path", default="")
@click.option("--depth", type=LIMIT, metavar="N", help="Number of levels below PATH (default: all).")
def tree(session: Session, path: str, depth: int | None) -> None:
    """Show the tree of memories with counts.

    With PATH, show only this branch.
    """
    with session.memory() as memory:
        branches = memory.tree(path, depth=depth)
    total = branches[0].total if branches else 0
    value = [{"path": branch.path, "here": branch.here, "total": branch.total} for branch in branches]
    lines = []
    for branch in branches:
        level = branch.path.count(".") + 1 if branch.path else 0
        lines.append("  " * level + f"{branch.path.rpartition('.')[2] or '(root)'}  {branch.total:,}")
    session.print_result({"branches": value, "total": total}, [*lines, plural(total, "memory")], always=True)
