"""The server itself: lists the tools, calls them in threads, and turns whatever happens into an answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from memglot import __version__
from memglot.errors import MemglotError, StoreError, UsageError
from memglot.mcp import resources
from memglot.mcp.client import Context, client_folders, client_name, progress_reporter
from memglot.mcp.config import ServerConfig
from memglot.mcp.errors import file_failed, no_root_named, no_tool
from memglot.mcp.results import error_result, error_text, tool_result
from memglot.mcp.roots import Roots
from memglot.mcp.store_pool import StorePool
from memglot.mcp.texts import INSTRUCTIONS
from memglot.mcp.tool import Call, Tool
from memglot.mcp.tools import all_tools
from memglot.report import Stopped
from memglot.settings import data_folder
from memglot.store.own_files import paths_of

_MAX_READERS, _MAX_WRITERS = 8, 4
"""So many calls run at a time; those that write have places of their own, so that those that read need not wait."""
_log = logging.getLogger("memglot.mcp")


class MemglotServer:
    """Answers agents. One of these serves every client of a process."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._pool = StorePool(config)
        self._tools = {name: tool for name, tool in all_tools().items() if tool.read_only or not config.read_only}
        if config.read_only:
            # It writes no files then, and says so when it is asked to.
            self._tools["me_memory_export"] = all_tools()["me_memory_export"]
        self._limiters: dict[bool, anyio.CapacityLimiter] = {}
        # It may be gone later, which is no matter for those who use no files.
        self._working_folder = Path.cwd()
        self._own_files = [data_folder(), *map(Path, sorted(paths_of(self._pool.url)))]

    def server(self) -> Server[Any]:
        """The SDK's server, which speaks the protocol over any transport."""
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
        # Making all the schemas takes 20 ms, and every client over HTTP asks for them.
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
            return error_result(tool, file_failed(str(error.filename or ""), (error.strerror or str(error)).lower()))
        except Stopped:
            return error_result(tool, StoreError("stopped: whole batches stay"))
        except UnicodeEncodeError as error:
            return error_result(
                tool,
                UsageError(
                    f"a parameter holds U+{ord(error.object[error.start]):04X}, half of a sign, which is no text"
                ),
            )
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001 - a face turns whatever happens into a message
            _log.exception("%s failed", params.name)
            return error_result(
                tool,
                StoreError(f"`{params.name}` failed: {type(error).__name__}", "the server's standard error tells more"),
            )

    async def _answer(
        self, context: Context, params: types.CallToolRequestParams, tool: Tool[Any]
    ) -> types.CallToolResult | types.InputRequiredResult:
        given = tool.parse(params.arguments)
        # Most calls use no files, and need not wait for links to be resolved.
        roots = await self._roots(context, params) if tool.touches_files(given) else Roots(())
        if isinstance(roots, types.InputRequiredResult):
            return roots
        return tool_result(tool, await self._run(context, lambda call: tool.run(call, given), roots, tool.read_only))

    async def _roots(self, context: Context, params: types.CallToolRequestParams) -> Roots | types.InputRequiredResult:
        """The folders that files may lie in: those a person named, else the client's, else the working directory."""
        allowed = self._config.roots
        if not allowed:
            asked = await client_folders(context, params)
            if isinstance(asked, types.InputRequiredResult):
                return asked
            allowed = tuple(asked)
        if not allowed and self._working_folder == Path(self._working_folder.anchor):
            # Clients with windows start servers there, and whoever wrote that did not mean every file there is.
            raise no_root_named(str(self._working_folder))
        return Roots(allowed or (self._working_folder,), self._own_files)

    def _find_tool(self, name: str) -> Tool[Any]:
        if name in self._tools:
            return self._tools[name]
        raise (
            UsageError(f"this server is read-only: `{name}` is not open here", "`memglot mcp` without `--read-only`")
            if name in all_tools()
            else no_tool(name, list(self._tools))
        )

    async def _run(self, context: Context, function: Callable[[Call], Any], roots: Roots, reads: bool = True) -> Any:
        """Do something in a thread. When the client cancels it, or goes, it stops where whole batches have landed."""
        stop = threading.Event()
        call = Call(self._config, self._pool, roots, progress_reporter(context, stop), client_name(context))
        try:
            return await anyio.to_thread.run_sync(
                partial(function, call), abandon_on_cancel=True, limiter=self._limiters.get(reads)
            )
        finally:
            stop.set()

    # Resources: the reports of imports, which stay when the conversation is gone.

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
    """A tool as clients see it."""
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
