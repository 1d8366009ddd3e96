"""Serve one client over standard input and output."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.shared.message import SessionMessage

from memglot.mcp.config import ServerConfig
from memglot.mcp.frames import FrameId, InvalidFrame, LineBuffer, encode_message, parse_frame
from memglot.mcp.logs import limit_logs
from memglot.mcp.server import MemglotServer

Read: TypeAlias = Callable[[], Awaitable[bytes]]
"""Returns the next bytes from the client; none at the end."""
Write: TypeAlias = Callable[[bytes], Awaitable[None]]
_EXIT_INTERRUPTED = 130
_GRACE_SECONDS = 2.0
"""Time left for pending answers after the client closes its end; calls that take longer are stopped."""
_CHUNK = 64 << 10
_QUEUED = 100
"""Maximum number of lines that wait for being written."""


def serve(config: ServerConfig) -> None:
    """Serve until the client closes its end."""
    # A blocking read of standard input cannot be cancelled, so exit at once. What was committed is safe.
    signal.signal(signal.SIGINT, lambda *_: os._exit(_EXIT_INTERRUPTED))
    limit_logs()
    source, target = _take_pipes()

    async def read() -> bytes:
        return await anyio.to_thread.run_sync(os.read, source, _CHUNK, abandon_on_cancel=True)

    async def write(data: bytes) -> None:
        await anyio.to_thread.run_sync(_write_all, target, data, abandon_on_cancel=True)

    anyio.run(serve_lines, MemglotServer(config).server(), read, write)


def _take_pipes() -> tuple[int, int]:
    """Return the pipes to the client; programs that the tools start get neither, nor does anything that prints."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    os.dup2(2, 1)
    return source, target


def _write_all(target: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]


async def serve_lines(server: Server[Any], read: Read, write: Write) -> None:
    """Serve one client that sends one message on each line."""
    line_writer, lines = anyio.create_memory_object_stream[bytes](_QUEUED)
    request_writer, requests = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answer_writer, answers = anyio.create_memory_object_stream[SessionMessage](0)
    client = _Client(line_writer)
    async with anyio.create_task_group() as all_tasks:
        all_tasks.start_soon(_write_lines, lines, write, all_tasks.cancel_scope)
        async with line_writer, anyio.create_task_group() as answering:
            answering.start_soon(client.forward_answers, answers)
            async with answer_writer, anyio.create_task_group() as tasks:
                tasks.start_soon(client.forward_requests, read, request_writer)
                await server.run(requests, answer_writer, server.create_initialization_options())
                tasks.cancel_scope.cancel()


async def _write_lines(lines: MemoryObjectReceiveStream[bytes], write: Write, everything: anyio.CancelScope) -> None:
    """Write lines, all that are ready at a time. Stop serving if the client no longer reads."""
    async with lines:
        async for line in lines:
            ready = [line, *(lines.receive_nowait() for _ in range(lines.statistics().current_buffer_used))]
            try:
                await write(b"\n".join([*ready, b""]))
            except OSError:
                everything.cancel()
                return


class _Client:
    """A layer between the pipes and the SDK, which would silently drop invalid lines and late answers.

    The SDK gets numbers of ours as ids. A client may thus use an id again before it is answered, and `1` next to `"1"`.
    """

    def __init__(self, lines: MemoryObjectSendStream[bytes]) -> None:
        self._lines = lines
        self._pending: dict[int, FrameId] = {}
        """The client's ids of requests without an answer, by the numbers that the SDK knows."""
        self._next = 0
        self._answered = anyio.Event()

    async def forward_requests(self, read: Read, requests: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Forward messages, answer invalid lines with an error, and wait briefly for the last answers."""
        async with requests:
            buffer = LineBuffer()
            while data := await read():
                for line in buffer.feed(data):
                    await self._forward(line, requests)
            for line in buffer.flush():
                await self._forward(line, requests)
            with anyio.move_on_after(_GRACE_SECONDS):
                while self._pending:
                    self._answered = anyio.Event()
                    await self._answered.wait()

    async def _forward(
        self, line: bytes | InvalidFrame, requests: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        try:
            if isinstance(line, InvalidFrame):
                raise line
            message = parse_frame(line)
        except InvalidFrame as error:
            await self._lines.send(error.answer())
            return
        if self._track(message):
            await requests.send(SessionMessage(message))

    def _track(self, message: types.JSONRPCMessage) -> bool:
        """Record pending requests under a new id. Return False for the cancellation of a request that is not pending.

        Each request is answered once, unless the client cancels it.
        """
        if isinstance(message, types.JSONRPCRequest):
            self._next += 1
            self._pending[self._next] = message.id
            message.id = self._next
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            number = self._number((message.params or {}).get("requestId"))
            if number is None:
                return False
            del self._pending[number]
            message.params = {**(message.params or {}), "requestId": number}
        return True

    def _number(self, id: object) -> int | None:
        """Return the number of the last pending request with an id; some clients cancel `1` as `"1"`."""
        if isinstance(id, bool) or not isinstance(id, str | int):
            return None
        same = [number for number, pending in self._pending.items() if pending == id]
        same = same or [number for number, pending in self._pending.items() if str(pending) == str(id)]
        return same[-1] if same else None

    async def forward_answers(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Forward answers under the ids of the client, and everything else that the SDK sends."""
        async with answers:
            async for answer in answers:
                message = answer.message
                if not isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                    await self._lines.send(encode_message(message))
                elif message.id in self._pending:
                    await self._lines.send(encode_message(message, self._pending.pop(message.id)))
                    self._answered.set()
