"""`me_memory_tree`, `mv`, `delete_tree`: the tree of memories."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from memglot.mcp.schemas import CountOut, Natural, Text
from memglot.mcp.tool import Answer, Arguments, Call, Tool

DryRunArg = Annotated[bool, Meta(description="true only counts; false does it. Begin with true.")]


class TreeArgs(Arguments):
    """Which part of the tree."""

    tree: Annotated[str | None, Meta(description="The path to begin at; leave out for the whole tree.")] = None
    levels: Annotated[Natural | None, Meta(description="So many levels below it; leave out for all.")] = None


class MoveArgs(Arguments):
    """From where to where."""

    source: Annotated[Text, Meta(description="The path to move, with all below it.")]
    destination: Annotated[str, Meta(description="The path that takes its place.")]
    dry_run: DryRunArg


class DeleteTreeArgs(Arguments):
    """Which branch."""

    tree: Annotated[Text, Meta(description="The path to delete, with all below it.")]
    dry_run: DryRunArg


class TreeNode(msgspec.Struct):
    """A path, how many memories lie at and below it, and how many at it."""

    path: str
    count: int
    here: int


class TreeOut(msgspec.Struct):
    """The tree, the root first, and how many memories it holds in all."""

    nodes: list[TreeNode]
    total: int


def tree(call: Call, given: TreeArgs) -> Answer:
    """Show the tree."""
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
        description="See how memories are ordered and how many lie where, before you choose a path for a new one or "
        "narrow a search.",
        input=TreeArgs,
        output=TreeOut,
        run=tree,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        name="me_memory_mv",
        title="Move a branch",
        description="Rename or reorder a branch of the tree: every memory at and below `source` goes to `destination`. "
        "All move, or none.",
        input=MoveArgs,
        output=CountOut,
        run=move,
        idempotent=True,
    ),
    Tool(
        name="me_memory_delete_tree",
        title="Delete a branch",
        description="Delete every memory at and below a path. Only when the user asks for it; count first with "
        "`dry_run`.",
        input=DeleteTreeArgs,
        output=CountOut,
        run=delete_tree,
        destructive=True,
        idempotent=True,
    ),
]
