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
from memglot.mcp.answers import error_of, result_of, sentence_of
from memglot.mcp.client import Context, folders, name_of, progress
from memglot.mcp.config import Serving
from memglot.mcp.errors import file_failed, no_root_named, no_tool
from memglot.mcp.roots import Roots
from memglot.mcp.stores import Stores
from memglot.mcp.texts import INSTRUCTIONS
from memglot.mcp.tool import Call, Tool
from memglot.mcp.tools import all_tools
from memglot.report import Stopped
from memglot.settings import data_folder
from memglot.store.own_files import paths_of

_READ_AT_ONCE, _WRITE_AT_ONCE = 8, 4
"""So many calls run at a time; those that write have places of their own, so that those that read need not wait."""
_log = logging.getLogger("memglot.mcp")


class Agents:
    """Answers agents. One of these serves every client of a process."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._stores = Stores(serving)
        self._tools = {name: tool for name, tool in all_tools().items() if tool.reads or not serving.read_only}
        if serving.read_only:
            # It writes no files then, and says so when it is asked to.
            self._tools["me_memory_export"] = all_tools()["me_memory_export"]
        self._places: dict[bool, anyio.CapacityLimiter] = {}
        # It may be gone later, which is no matter for those who use no files.
        self._here = Path.cwd()
        self._own = [data_folder(), *map(Path, sorted(paths_of(self._stores.url)))]

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
        self._places = {True: anyio.CapacityLimiter(_READ_AT_ONCE), False: anyio.CapacityLimiter(_WRITE_AT_ONCE)}
        try:
            yield {}
        finally:
            self._stores.close()

    async def _list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._described)

    @cached_property
    def _described(self) -> list[types.Tool]:
        # Making all the schemas takes 20 ms, and every client over HTTP asks for them.
        return [described(tool) for tool in self._tools.values()]

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool: Tool[Any] | None = None
        try:
            tool = self._tool(params.name)
            return await self._answer(context, params, tool)
        except MemglotError as error:
            return error_of(tool, error)
        except OSError as error:
            return error_of(tool, file_failed(str(error.filename or ""), (error.strerror or str(error)).lower()))
        except Stopped:
            return error_of(tool, StoreError("stopped: whole batches stay"))
        except UnicodeEncodeError as error:
            return error_of(
                tool,
                UsageError(
                    f"a parameter holds U+{ord(error.object[error.start]):04X}, half of a sign, which is no text"
                ),
            )
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001 - a face turns whatever happens into a message
            _log.exception("%s failed", params.name)
            return error_of(
                tool,
                StoreError(f"`{params.name}` failed: {type(error).__name__}", "the server's standard error tells more"),
            )

    async def _answer(
        self, context: Context, params: types.CallToolRequestParams, tool: Tool[Any]
    ) -> types.CallToolResult | types.InputRequiredResult:
        given = tool.arguments(params.arguments)
        # Most calls use no files, and need not wait for links to be resolved.
        roots = await self._roots(context, params) if tool.touches_files(given) else Roots(())
        if isinstance(roots, types.InputRequiredResult):
            return roots
        return result_of(tool, await self._run(context, lambda call: tool.run(call, given), roots, tool.reads))

    async def _roots(self, context: Context, params: types.CallToolRequestParams) -> Roots | types.InputRequiredResult:
        """The folders that files may lie in: those a person named, else the client's, else the working directory."""
        allowed = self._serving.roots
        if not allowed:
            asked = await folders(context, params)
            if isinstance(asked, types.InputRequiredResult):
                return asked
            allowed = tuple(asked)
        if not allowed and self._here == Path(self._here.anchor):
            # Clients with windows start servers there, and whoever wrote that did not mean every file there is.
            raise no_root_named(str(self._here))
        return Roots(allowed or (self._here,), self._own)

    def _tool(self, name: str) -> Tool[Any]:
        if name in self._tools:
            return self._tools[name]
        raise (
            UsageError(f"this server is read-only: `{name}` is not open here", "`memglot mcp` without `--read-only`")
            if name in all_tools()
            else no_tool(name, list(self._tools))
        )

    async def _run(self, context: Context, deed: Callable[[Call], Any], roots: Roots, reads: bool = True) -> Any:
        """Do something in a thread. When the client cancels it, or goes, it stops where whole batches have landed."""
        stop = threading.Event()
        call = Call(self._serving, self._stores, roots, progress(context, stop), name_of(context))
        try:
            return await anyio.to_thread.run_sync(
                partial(deed, call), abandon_on_cancel=True, limiter=self._places.get(reads)
            )
        finally:
            stop.set()

    # Resources: the reports of imports, which stay when the conversation is gone.

    async def _list_resources(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[resources.LIST])

    async def _list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[resources.ONE])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            text = await self._run(context, lambda call: resources.read(call, uri), Roots(()))
        except MemglotError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=sentence_of(None, error)) from None
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[content])


def described(tool: Tool[Any]) -> types.Tool:
    """A tool as clients see it."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema(),
        output_schema=tool.answer_schema(),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads,
            destructive_hint=tool.destroys,
            idempotent_hint=tool.repeatable,
            open_world_hint=False,
        ),
    )
