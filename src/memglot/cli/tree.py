"""`tree`, `move`, `copy`, `delete-tree`."""

from __future__ import annotations

from typing import Any

import click

from memglot.cli.session import LIMIT, Session, command, memories


@command("tree")
@click.argument("path", default="")
@click.option("--depth", type=LIMIT, help="So many levels below PATH.")
def tree(session: Session, path: str, depth: int | None) -> None:
    """Show the tree of memories, with counts."""
    with session.memory() as memory:
        branches = memory.tree(path, depth=depth)
    total = branches[0].total if branches else 0
    value = [{"path": branch.path, "here": branch.here, "total": branch.total} for branch in branches]
    lines = []
    for branch in branches:
        level = branch.path.count(".") + 1 if branch.path else 0
        lines.append("  " * level + f"{branch.path.rpartition('.')[2] or '(root)'}  {branch.total:,}")
    session.print_result({"branches": value, "total": total}, [*lines, memories(total)], always=True)


def _branch_command(name: str, done: str, help: str) -> Any:
    @command(name)
    @click.argument("source", metavar="SRC")
    @click.argument("target", metavar="DST")
    @click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing.")
    def branch(session: Session, source: str, target: str, dry_run: bool) -> None:
        with session.memory(write=not dry_run) as memory:
            count = getattr(memory, name)(source, target, dry_run=dry_run)
        _tell(session, done, count, dry_run)

    branch.help = help
    return branch


@command("delete-tree")
@click.argument("path")
@click.option("--dry-run", is_flag=True, help="Say what would happen and write nothing.")
@click.option("--reason", default="", help="Why; it is kept with the deletions.")
def delete_tree(session: Session, path: str, dry_run: bool, reason: str) -> None:
    """Delete every memory at PATH and below; `undelete` brings one back. `""` is the whole tree."""
    with session.memory(write=not dry_run) as memory:
        count = memory.delete_tree(path, dry_run=dry_run, reason=reason)
    _tell(session, "deleted", count, dry_run)


def _tell(session: Session, done: str, count: int, dry_run: bool) -> None:
    text = f"{'would have ' if dry_run else ''}{done} {memories(count)}"
    session.print_result({"count": count, "dryRun": dry_run}, text)


COMMANDS = {
    "tree": tree,
    "move": _branch_command("move", "moved", "Move every memory at SRC and below to DST; ids stay."),
    "copy": _branch_command("copy", "copied", "Copy every memory at SRC and below to DST, under new ids."),
    "delete-tree": delete_tree,
}
