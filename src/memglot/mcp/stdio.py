"""Serve one client over standard input and output."""

from __future__ import annotations

import os
import signal
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from memglot.mcp.config import ServerConfig
from memglot.mcp.server import MemglotServer

_EXIT_INTERRUPTED = 130
_GRACE_SECONDS = 2.0
"""Time left for pending answers after the client closes its end; calls that take longer are stopped."""


def serve(config: ServerConfig) -> None:
    """Serve until the client closes its end."""
    # A blocking read of standard input cannot be cancelled, so exit at once. What was committed is safe.
    signal.signal(signal.SIGINT, lambda *_: os._exit(_EXIT_INTERRUPTED))
    anyio.run(_serve, MemglotServer(config).server())


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        pipes = _Pipes(outgoing)
        request_writer, request_reader = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answer_writer, answer_reader = anyio.create_memory_object_stream[SessionMessage](0)
        async with outgoing, anyio.create_task_group() as answering:
            answering.start_soon(pipes.forward_answers, answer_reader)
            async with answer_writer, anyio.create_task_group() as tasks:
                tasks.start_soon(pipes.forward_requests, incoming, request_writer)
                await server.run(request_reader, answer_writer, server.create_initialization_options())
                tasks.cancel_scope.cancel()


class _Pipes:
    """A layer between the pipes and the SDK, which would silently drop invalid lines and late answers."""

    def __init__(self, outgoing: Any) -> None:
        self._outgoing = outgoing
        self._pending: set[int | str] = set()
        self._answered = anyio.Event()

    async def forward_requests(
        self, incoming: Any, requests: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        """Forward messages, answer invalid lines with an error, and wait briefly for the last answers."""
        async with requests:
            async for message in incoming:
                if isinstance(message, Exception):
                    await self._outgoing.send(SessionMessage(_invalid_line_error(message)))
                    continue
                self._track(message.message)
                await requests.send(message)
            with anyio.move_on_after(_GRACE_SECONDS):
                while self._pending:
                    self._answered = anyio.Event()
                    await self._answered.wait()

    def _track(self, message: types.JSONRPCMessage) -> None:
        """Record pending requests: each is answered once, unless the client cancels it."""
        if isinstance(message, types.JSONRPCRequest):
            self._pending.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._pending.discard((message.params or {}).get("requestId", ""))

    async def forward_answers(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Forward answers, and update the pending requests."""
        async for message in answers:
            await self._outgoing.send(message)
            if isinstance(message.message, (types.JSONRPCResponse, types.JSONRPCError)):
                # Compare with None, since many clients number their requests from 0.
                if message.message.id is not None:
                    self._pending.discard(message.message.id)
                self._answered.set()


def _invalid_line_error(error: Exception) -> types.JSONRPCError:
    """Return the error response to a line that is not a valid message."""
    faults = error.errors() if isinstance(error, ValidationError) else []
    is_json = all(fault["type"] != "json_invalid" for fault in faults)
    # If the line has a request id, the client waits for an answer with it.
    given = next((fault["input"]["id"] for fault in faults if "id" in _mapping(fault["input"])), None)
    id = given if isinstance(given, (int, str)) and not isinstance(given, bool) else None
    data = types.ErrorData(
        code=types.INVALID_REQUEST if is_json else types.PARSE_ERROR,
        message="this line is not a JSON-RPC message" if is_json else "this line is not valid JSON",
    )
    return types.JSONRPCError(jsonrpc="2.0", id=id, error=data)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
