"""The tools that agents call."""

from __future__ import annotations

from functools import cache
from typing import Any

from memglot.mcp.tool import Tool


@cache
def all_tools() -> dict[str, Tool[Any]]:
    """Return every tool by its name, in the order in which they are listed."""
    from memglot.mcp.tools import memory, project, search, sync, transfer, tree

    found = (*memory.TOOLS, *search.TOOLS, *tree.TOOLS, *transfer.TOOLS, *project.TOOLS, *sync.TOOLS)
    return {tool.name: tool for tool in found}
