"""An MCP client for tests, based on the SDK's client: synchronous, in process or over a real transport."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.streamable_http import streamable_http_client

from mcp import Client, StdioServerParameters
from memglot.mcp.config import ServerConfig
from memglot.mcp.server import MemglotServer

TOKEN = "a-token-for-tests-0123456789"
PATIENCE = 60.0
"""Timeout in seconds after which a call counts as hanging."""
WAYS = ["here-legacy", "here-auto", "stdio-legacy", "stdio-auto", "http-legacy", "http-auto"]
"""Each transport with each era of the protocol."""


class Agent:
    """A connected client."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal, self.client = portal, client

    def call_raw(self, tool: str, arguments: dict[str, Any] | None, **options: Any) -> types.CallToolResult:
        """Call a tool with any arguments and return the result."""

        async def call() -> types.CallToolResult:
            with anyio.fail_after(PATIENCE):
                return await self.client.call_tool(tool, arguments, **options)

        return self.portal.call(call)

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that must succeed, and return its structured result, which the SDK validates."""
        result = self.call_raw(tool, arguments)
        assert not result.is_error, result.content
        assert result.structured_content is not None
        return result.structured_content

    def call_text(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must succeed, and return the text for the model."""
        result = self.call_raw(tool, arguments)
        assert not result.is_error, result.content
        return text_of(result)

    def call_error(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must fail, and return its error, which must be one line."""
        result = self.call_raw(tool, arguments)
        assert result.is_error, result.structured_content
        text = text_of(result)
        assert "\n" not in text and "Traceback" not in text and text.strip()
        return text

    def request(self, method: str, *arguments: Any) -> Any:
        """Call any other method of the client."""
        return self.portal.call(getattr(self.client, method), *arguments)


def text_of(result: types.CallToolResult) -> str:
    """Return the text of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


@contextmanager
def agent(target: Any, era: str = "auto", *, roots: list[str] | None = None) -> Iterator[Agent]:
    """Yield a client connected to a server, a transport or a command; `roots` are the folders it names."""

    async def list_roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": uri}) for uri in roots or ()])

    with start_blocking_portal() as portal:
        client = Client(target, mode=era, list_roots_callback=None if roots is None else list_roots)
        with portal.wrap_async_context_manager(client) as connected:
            yield Agent(portal, connected)


def command(store: Path | str, *options: str, cwd: Path | None = None, **env: str) -> StdioServerParameters:
    """Return the command with which a client starts the server."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "memglot", "--store", str(store), "mcp", *options],
        cwd=cwd,
        env={**os.environ, **env},
    )


@contextmanager
def listening(store: Path | str, *options: str, cwd: Path | None = None) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start an HTTP server on a free port with the token of these tests; yield its URL and process."""
    server = subprocess.Popen(
        [sys.executable, "-m", "memglot", "--store", str(store), "mcp", "--transport", "http", "--port", "0", *options],
        env={**os.environ, "MEMGLOT_MCP_TOKEN": TOKEN},
        cwd=cwd,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        line = server.stderr.readline()
        assert "http://" in line, line + server.stderr.read()
        yield line[line.index("http://") :].split(";")[0], server
    finally:
        server.terminate()
        server.wait(PATIENCE)
        if server.stderr is not None:
            server.stderr.close()


@asynccontextmanager
async def over_http(url: str, token: str = TOKEN) -> Any:
    """Yield a transport to an HTTP server."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            yield streams


@contextmanager
def reached(way: str, store: Path, *options: str, cwd: Path, roots: list[str] | None = None) -> Iterator[Agent]:
    """Yield an agent that is connected in one of the `WAYS`."""
    transport, era = way.split("-")
    with ExitStack() as stack:
        target: Any
        if transport == "stdio":
            target = command(store, *options, cwd=cwd)
        elif transport == "http":
            url, _ = stack.enter_context(listening(store, *options, cwd=cwd))
            target = over_http(url)
        else:
            target = MemglotServer(_serving(store, options, cwd)).server()
        yield stack.enter_context(agent(target, era, roots=roots))


def _serving(store: Path, options: tuple[str, ...], cwd: Path) -> ServerConfig:
    named = [Path(options[place + 1]) for place, option in enumerate(options) if option == "--root"]
    return ServerConfig(
        store=str(store),
        roots=tuple(named or [cwd]),
        read_only="--read-only" in options,
        allow_sensitive="--allow-sensitive" in options,
    )


Reach = Callable[..., Agent]
