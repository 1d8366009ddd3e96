"""The server itself: lists the tools, calls them in threads, and turns whatever happens into an answer."""

from __future__ import annotations

import logging
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
import msgspec
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from memglot import __version__
from memglot.errors import MemglotError
from memglot.errors.mcp import no_tool, stopped, unforeseen, writes_nothing
from memglot.mcp import reports
from memglot.mcp.roots import Roots, folders_of
from memglot.mcp.serving import Serving
from memglot.mcp.stores import Stores
from memglot.mcp.tool import Answer, Call, Tool
from memglot.mcp.tools import all_tools
from memglot.notes.mcp import INSTRUCTIONS, note_progress
from memglot.report import Report, Stopped

_AT_ONCE = 8
_BETWEEN = 0.25
"""So many seconds lie between two tellings of progress at the least."""
_ASKED = "roots"
_log = logging.getLogger("memglot.mcp")

Context = ServerRequestContext[Any, Any]


class Agents:
    """Answers agents. One of these serves every client of a process."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._stores = Stores(serving)
        self._tools = {name: tool for name, tool in all_tools().items() if tool.reads or not serving.read_only}
        if serving.read_only:
            # It writes no files then, and says so when it is asked to.
            self._tools["me_memory_export"] = all_tools()["me_memory_export"]
        self._limiter: anyio.CapacityLimiter | None = None

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
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)
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
        try:
            tool = self._tool(params.name)
            given = tool.arguments(params.arguments)
            roots = self._serving.roots
            if not roots and tool.touches_files(given):
                asked = await _client_folders(context, params)
                if isinstance(asked, types.InputRequiredResult):
                    return asked
                roots = tuple(asked)
            allowed = Roots(roots or (Path.cwd(),))
            return _result(await self._run(context, lambda call: tool.run(call, given), allowed))
        except MemglotError as error:
            return _error(error)
        except Stopped:
            return _error(stopped())
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001 - a face turns whatever happens into a message
            _log.exception("%s failed", params.name)
            return _error(unforeseen(params.name, type(error).__name__))

    def _tool(self, name: str) -> Tool[Any]:
        if name in self._tools:
            return self._tools[name]
        raise writes_nothing(name) if name in all_tools() else no_tool(name, list(self._tools))

    async def _run(self, context: Context, deed: Callable[[Call], Any], roots: Roots) -> Any:
        """Do something in a thread. When the client cancels it, or goes, it stops where whole batches have landed."""
        stop = threading.Event()
        call = Call(self._serving, self._stores, roots, _progress(context, stop))
        try:
            return await anyio.to_thread.run_sync(partial(deed, call), abandon_on_cancel=True, limiter=self._limiter)
        finally:
            stop.set()

    # Resources: the reports of imports, which stay when the conversation is gone.

    async def _list_resources(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[reports.LIST])

    async def _list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[reports.ONE])

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            text = await self._run(context, lambda call: reports.read(call, uri), Roots(()))
        except MemglotError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=_sentence(error)) from None
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


def _result(answer: Answer) -> types.CallToolResult:
    value = msgspec.to_builtins(answer.value)
    text = answer.text if answer.text is not None else msgspec.json.encode(value).decode()
    content: list[types.ContentBlock] = [types.TextContent(text=text)]
    if answer.notes:
        content.append(types.TextContent(text="\n".join(answer.notes)))
    if answer.link is not None:
        content.append(types.ResourceLink(uri=answer.link, name="import report", mime_type="application/json"))
    return types.CallToolResult(content=content, structured_content=value, is_error=answer.failed)


def _error(error: MemglotError) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=_sentence(error))], is_error=True)


def _sentence(error: MemglotError) -> str:
    """What happened, and what to do next, on one line."""
    hint = f" ({error.hint})" if error.hint else ""
    return " ".join(f"{error}{hint}".split())


async def _client_folders(
    context: Context, params: types.CallToolRequestParams
) -> list[Path] | types.InputRequiredResult:
    """The folders that the client works in; none where it has none to name."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None:
        return []
    answered = (params.input_responses or {}).get(_ASKED)
    if isinstance(answered, types.ListRootsResult):
        return folders_of([str(root.uri) for root in answered.roots])
    if not context.session.can_send_request:
        # A client of today's protocol is asked by the answer to its call, which it then makes again.
        return types.InputRequiredResult(input_requests={_ASKED: types.ListRootsRequest()})
    with warnings.catch_warnings():
        # Clients of the protocols before it are asked directly, which is deprecated for those of today.
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        found = await context.session.list_roots()
    return folders_of([str(root.uri) for root in found.roots])


def _progress(context: Context, stop: threading.Event) -> Callable[[Report], None]:
    """Tells the client how far something is, not too often, and ends it when nobody wants it any more."""
    last = time.monotonic()

    def tell(report: Report) -> None:
        nonlocal last
        if stop.is_set():
            raise Stopped
        if time.monotonic() - last >= _BETWEEN:
            last = time.monotonic()
            done = report.read or report.written_count
            anyio.from_thread.run(context.session.report_progress, float(done), None, note_progress(done))

    return tell
