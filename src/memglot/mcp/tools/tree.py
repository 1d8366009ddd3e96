"""`me_memory_tree`, `me_memory_mv` and `me_memory_delete_tree`."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from memglot.mcp.schemas import CountOut, Natural, Text
from memglot.mcp.tool import Answer, Arguments, Call, Tool

DryRunArg = Annotated[bool, Meta(description="true only counts the memories; false makes the change. Start with true.")]


class TreeArgs(Arguments):
    """Arguments of `me_memory_tree`."""

    tree: Annotated[str | None, Meta(description="The path to start at. Leave out for the entire tree.")] = None
    levels: Annotated[Natural | None, Meta(description="Number of levels below it. Leave out for all.")] = None


class MoveArgs(Arguments):
    """Arguments of `me_memory_mv`."""

    source: Annotated[Text, Meta(description="The path to move, with everything below it.")]
    destination: Annotated[str, Meta(description="The new path.")]
    dry_run: DryRunArg


class DeleteTreeArgs(Arguments):
    """Arguments of `me_memory_delete_tree`."""

    tree: Annotated[Text, Meta(description="The path to delete, with everything below it.")]
    dry_run: DryRunArg


class TreeNode(msgspec.Struct):
    """A path, the number of memories at or below it (`count`), and directly at it (`here`)."""

    path: str
    count: int
    here: int


class TreeOut(msgspec.Struct):
    """The nodes of the tree, root first, and the total number of memories."""

    nodes: list[TreeNode]
    total: int


def tree(call: Call, given: TreeArgs) -> Answer:
    """Return the tree."""
    path = given.tree or ""
    with call.memory() as memory:
        found = memory.tree(path, depth=given.levels or None)
        nodes = [TreeNode(branch.path, branch.total, branch.here) for branch in found]
        return Answer(TreeOut(nodes, nodes[0].count if nodes else 0))


def move(call: Call, given: MoveArgs) -> Answer:
    """Move a branch."""
    with call.memory(write=True) as memory:
        return Answer(CountOut(memory.move(given.source, given.destination, dry_run=given.dry_run)))


def delete_tree(call: Call, given: DeleteTreeArgs) -> Answer:
    """Delete a branch."""
    with call.memory(write=True) as memory:
        return Answer(CountOut(memory.delete_tree(given.tree, dry_run=given.dry_run, reason="mcp")))


TOOLS: list[Tool[Any]] = [
    Tool(
        name="me_memory_tree",
        title="Show the tree",
        description="Show the tree of memories with the number at each path, before you choose a path for a new memory "
        "or narrow a search.",
        input=TreeArgs,
        output=TreeOut,
        run=tree,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        name="me_memory_mv",
        title="Move a branch",
        description="Rename or move a branch of the tree: every memory at or below `source` moves to `destination`. "
        "If it is interrupted, the same call moves the rest.",
        input=MoveArgs,
        output=CountOut,
        run=move,
        idempotent=True,
    ),
    Tool(
        name="me_memory_delete_tree",
        title="Delete a branch",
        description="Delete every memory at or below a path. Only do this when the user asks for it; count first with "
        "`dry_run`.",
        input=DeleteTreeArgs,
        output=CountOut,
        run=delete_tree,
        destructive=True,
        idempotent=True,
    ),
]
