"""The bare baseline of the MCP server: the SDK's own server over stdio with one tool that returns its argument."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

Context = ServerRequestContext[Any, Any]
TEXT = {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]}


async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """The one tool."""
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema=TEXT, output_schema=TEXT)])


async def call_tool(_: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Return the argument."""
    value = params.arguments or {}
    return types.CallToolResult(content=[types.TextContent(text=str(value))], structured_content=value)


async def serve() -> None:
    """Serve until the client closes its end."""
    server: Server[Any] = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(serve)
