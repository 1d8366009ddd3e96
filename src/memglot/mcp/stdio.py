"""Serves one client over standard input and output."""

from __future__ import annotations

import os
import signal

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from memglot.mcp.server import Agents
from memglot.mcp.serving import Serving

_INTERRUPTED = 130


def serve(serving: Serving) -> None:
    """Serve until the client closes its end."""
    # A read of standard input cannot be given up, so nothing else would end before the client sends something.
    # What landed is safe, as after any other end.
    signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    anyio.run(_serve, Agents(serving).server())


async def _serve(server: Server[object]) -> None:
    async with stdio_server() as (incoming, outgoing):
        sender, receiver = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_pass_on, incoming, sender, outgoing)
            await server.run(receiver, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()


async def _pass_on(
    incoming: object, sender: MemoryObjectSendStream[SessionMessage | Exception], outgoing: object
) -> None:
    """Pass messages on; answer those that are none, which the SDK would drop without a word."""
    async with sender:
        async for message in incoming:  # type: ignore[attr-defined]
            if isinstance(message, Exception):
                await outgoing.send(SessionMessage(_refusal(message)))  # type: ignore[attr-defined]
            else:
                await sender.send(message)


def _refusal(error: Exception) -> types.JSONRPCError:
    """The answer to a line that is no message."""
    is_json = "Invalid JSON" not in str(error)
    code, what = (types.INVALID_REQUEST, "no JSON-RPC message") if is_json else (types.PARSE_ERROR, "no JSON")
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=types.ErrorData(code=code, message=f"this line is {what}"))
