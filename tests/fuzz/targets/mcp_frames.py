"""Frames of an MCP client: whatever comes before, the server answers the request that follows, and ends in order."""

from __future__ import annotations

import atexit
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from memglot.mcp.config import ServerConfig
from memglot.mcp.frames import InvalidFrame, encode_message, parse_frame
from memglot.mcp.server import MemglotServer
from memglot.mcp.stdio import serve_lines

HELLO = (
    b'{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"fuzz","version":"0"}}}\n'
)
LAST = b'\n{"jsonrpc":"2.0","id":"the last","method":"ping"}\n'
CALL = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}'
SEEDS = [
    b"",
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":1.5}}}\n{"id":null}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}\r[{"jsonrpc":"2.0"}]',
    b'{"id":1,"params":NaN,"method":"resources/read"}',
    b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"memglot://imports/x"}}',
    b'{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"_meta":'
    b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}',
    CALL.replace("%s", "me_memory_create", 1).replace("%s", '{"content":"x","tags":["a"],"meta":{"k":1}}').encode(),
    CALL.replace("%s", "me_memory_search", 1).replace("%s", '{"query":"x -y","temporal":{"within":{}}}').encode(),
    CALL.replace("%s", "me_memory_import", 1).replace("%s", '{"content":"[{}]","format":"json"}').encode(),
    CALL.replace("%s", "me_memory_export", 1).replace("%s", '{"format":"yaml","tree":"a.*"}').encode(),
]
PATIENCE = 20.0
# Tools may write files, but only there.
_FOLDER = TemporaryDirectory(prefix="memglot-frames-", ignore_cleanup_errors=True)
atexit.register(_FOLDER.cleanup)


class Unanswered(Exception):
    """A request without exactly one answer, or a server that stopped."""


def try_one(data: bytes) -> None:
    """Send the bytes before a request, with and without a handshake."""
    _check_frame(data)
    start = HELLO if not data.startswith(b"#") else b""
    received = bytearray()
    given = [start + data + LAST]

    async def talk() -> None:
        async def read() -> bytes:
            return given.pop() if given else b""

        async def write(written: bytes) -> None:
            received.extend(written)

        config = ServerConfig(store=":memory:", roots=(Path(_FOLDER.name),), read_only=data.startswith(b"!"))
        with anyio.fail_after(PATIENCE):
            await serve_lines(MemglotServer(config).server(), read, write)

    anyio.run(talk)
    answers = [json.loads(line) for line in received.splitlines()]
    last = [answer for answer in answers if answer.get("id") == "the last"]
    if len(last) != 1 and b"the last" not in data:
        raise Unanswered(f"{len(last)} answers to the last request")
    due = sum(_has_id(line) for line in data.replace(b"\r", b"\n").split(b"\n"))
    answered = sum(isinstance(answer.get("id"), (str, int)) and "method" not in answer for answer in answers)
    if answered < due and b"cancelled" not in data and b"listen" not in data:
        raise Unanswered(f"{answered} answers to at least {due} requests")


def _check_frame(data: bytes) -> None:
    """Check that a message which is read can be written, and that an error can."""
    try:
        message: Any = parse_frame(data)
    except InvalidFrame as error:
        json.loads(error.answer())
    else:
        json.loads(encode_message(message, 1))


def _has_id(line: bytes) -> bool:
    """Return True for a valid request with an id that is text or a whole number."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    id = found.get("id") if isinstance(found, dict) and "method" in found else None
    return isinstance(id, (str, int)) and not isinstance(id, bool)
