"""The MCP server: list the tools, run calls in threads, and turn every outcome into a tool result."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from memglot import __version__
from memglot.display import quoted
from memglot.errors import MemglotError, StoreError, UsageError
from memglot.mcp import resources
from memglot.mcp.client import Context, client_folders, client_name, progress_reporter
from memglot.mcp.config import ServerConfig
from memglot.mcp.results import error_result, error_text, tool_result
from memglot.mcp.roots import NAME_A_ROOT, Roots
from memglot.mcp.store_pool import StorePool
from memglot.mcp.texts import INSTRUCTIONS
from memglot.mcp.tool import Call, Tool
from memglot.mcp.tools import all_tools
from memglot.report import Stopped
from memglot.settings import data_folder
from memglot.store.own_files import store_paths

_MAX_READERS, _MAX_WRITERS = 8, 4
"""Maximum number of concurrent calls. Writers are limited separately, so that readers never wait for them."""
_log = logging.getLogger("memglot.mcp")


class MemglotServer:
    """Serve the tools and resources of one store to every client of a process."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._pool = StorePool(config)
        self._tools = {name: tool for name, tool in all_tools().items() if tool.read_only or not config.read_only}
        if config.read_only:
            # This tool can return an export inline; it refuses to write a file itself.
            self._tools["me_memory_export"] = all_tools()["me_memory_export"]
        self._limiters: dict[bool, anyio.CapacityLimiter] = {}
        # Read now, since the folder may be deleted later; only calls that use files need it.
        self._working_folder = Path.cwd()
        self._own_files = [data_folder(), *map(Path, sorted(store_paths(self._pool.url)))]

    def server(self) -> Server[Any]:
        """Return the SDK's server, which speaks the protocol over any transport."""
        return Server(
            "memglot",
            version=__version__,
            title="memglot",
            description="One memory for every agent",
            instructions=INSTRUCTIONS,
            lifespan=self._lifespan,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    @asynccontextmanager
    async def _lifespan(self, _: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        self._limiters = {True: anyio.CapacityLimiter(_MAX_READERS), False: anyio.CapacityLimiter(_MAX_WRITERS)}
        try:
            yield {}
        finally:
            self._pool.close()

    async def _list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._tool_list)

    @cached_property
    def _tool_list(self) -> list[types.Tool]:
        # Generating all schemas takes 20 ms, and every client over HTTP asks for them.
        return [describe_tool(tool) for tool in self._tools.values()]

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool: Tool[Any] | None = None
        try:
            tool = self._find_tool(params.name)
            return await self._answer(context, params, tool)
        except MemglotError as error:
            return error_result(tool, error)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            return error_result(tool, MemglotError(f"cannot use {quoted(str(error.filename or ''), 200)}: {reason}"))
        except Stopped:
            return error_result(tool, StoreError("stopped; batches that were already written are kept"))
        except UnicodeEncodeError as error:
            surrogate = f"U+{ord(error.object[error.start]):04X}"
            message = f"a parameter contains a lone surrogate ({surrogate}), which is not valid text"
            return error_result(tool, UsageError(message))
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001 - every failure becomes a tool error
            _log.exception("%s failed", params.name)
            return error_result(
                tool,
                StoreError(
                    f"`{params.name}` failed: {type(error).__name__}", "see the server's standard error for details"
                ),
            )

    async def _answer(
        self, context: Context, params: types.CallToolRequestParams, tool: Tool[Any]
    ) -> types.CallToolResult | types.InputRequiredResult:
        given = tool.parse(params.arguments)
        # Resolving links takes time, and most calls use no files.
        roots = await self._roots(context, params) if tool.touches_files(given) else Roots(())
        if isinstance(roots, types.InputRequiredResult):
            return roots
        return tool_result(tool, await self._run(context, lambda call: tool.run(call, given), roots, tool.read_only))

    async def _roots(self, context: Context, params: types.CallToolRequestParams) -> Roots | types.InputRequiredResult:
        """Return the folders that tools may use: those in the config, or the client's, or the working directory."""
        allowed = self._config.roots
        if not allowed:
            asked = await client_folders(context, params)
            if isinstance(asked, types.InputRequiredResult):
                return asked
            allowed = tuple(asked)
        if not allowed and self._working_folder == Path(self._working_folder.anchor):
            # Desktop clients start servers there, which is not meant as access to every file.
            raise UsageError(
                f"this server may not use any folder, because it was started in `{self._working_folder}`", NAME_A_ROOT
            )
        return Roots(allowed or (self._working_folder,), self._own_files)

    def _find_tool(self, name: str) -> Tool[Any]:
        if name in self._tools:
            return self._tools[name]
        if name in all_tools():
            raise UsageError(
                f"`{name}` is not available, because this server is read-only",
                "start `memglot mcp` without `--read-only`",
            )
        near = get_close_matches(name, list(self._tools), 1)
        hint = f"did you mean `{near[0]}`?" if near else f"the tools are {', '.join(self._tools)}"
        raise UsageError(f"there is no tool {quoted(name, 200)}", hint)

    async def _run(self, context: Context, function: Callable[[Call], Any], roots: Roots, reads: bool = True) -> Any:
        """Run a function in a thread. If the client cancels or disconnects, it stops after the current batch."""
        stop = threading.Event()
        call = Call(self._config, self._pool, roots, progress_reporter(context, stop), client_name(context))
        try:
            return await anyio.to_thread.run_sync(
                partial(function, call), abandon_on_cancel=True, limiter=self._limiters.get(reads)
            )
        finally:
            stop.set()

    async def _list_resources(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[resources.IMPORT_LIST])

    async def _list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[resources.IMPORT_REPORT])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            text = await self._run(context, lambda call: resources.read_resource(call, uri), Roots(()))
        except MemglotError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=error_text(None, error)) from None
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[content])


def describe_tool(tool: Tool[Any]) -> types.Tool:
    """Return a tool as clients see it."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )
