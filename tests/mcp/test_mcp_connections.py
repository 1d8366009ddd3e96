"""Connections of the HTTP server: slow, silent or too many clients do not lock others out."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send

from mcp_agent import PATIENCE, TOKEN, agent, listening, over_http
from memglot.mcp.config import ServerConfig
from memglot.mcp.connections import Limits
from memglot.mcp.http import CheckBody, http_server, listen, url_of

HEAD = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n".encode()
REQUEST = HEAD + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"


@contextmanager
def limited(folder: Path, **limits: Any) -> Iterator[str]:
    """Run a server with other limits in a thread; yield its URL."""
    with closing(listen(0)) as listener:
        server = http_server(ServerConfig(store=str(folder / "s.db")), listener, TOKEN, Limits(**limits))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield url_of(listener)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive()


def connect(url: str) -> socket.socket:
    """Open a connection."""
    host, port = httpx2.URL(url).host, httpx2.URL(url).port
    return socket.create_connection((host, port), PATIENCE)


def seconds_until_closed(connection: socket.socket) -> float:
    """Return how long it takes until the server closes a connection."""
    started = time.monotonic()
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    return time.monotonic() - started


def works(url: str) -> bool:
    """Return True if a normal client gets an answer."""
    with agent(over_http(url), "legacy") as one:
        return bool(one.call("me_memory_create", content="x")["id"])


@pytest.mark.parametrize("sent", [b"", b"P", HEAD, HEAD + b"X: y"], ids=["nothing", "a letter", "lines", "half a line"])
def test_headers_that_do_not_arrive_end_the_connection(tmp_path: Path, sent: bytes) -> None:
    with limited(tmp_path, header_seconds=0.4) as url, closing(connect(url)) as slow:
        slow.sendall(sent)
        assert seconds_until_closed(slow) < PATIENCE / 2
        assert works(url)


def drip(connection: socket.socket, data: bytes) -> bool:
    """Send data byte by byte; return True if the server closed the connection before the end."""
    try:
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)
    except ConnectionError:
        return True
    return False


@pytest.mark.parametrize("start", [b"GET /mcp HTTP/1.1\r\n", REQUEST], ids=["headers", "body"])
def test_slow_bytes_do_not_extend_the_time(tmp_path: Path, start: bytes) -> None:
    with limited(tmp_path, header_seconds=0.5, body_seconds=0.5) as url, closing(connect(url)) as slow:
        slow.sendall(start)
        assert drip(slow, b"X" * 90)
        assert works(url)


def test_a_second_request_has_the_same_time(tmp_path: Path) -> None:
    with limited(tmp_path, header_seconds=0.5) as url, closing(connect(url)) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"401" in slow.recv(1 << 16)
        assert drip(slow, b"GET / HTTP/1.1\r\nX: " + b"y" * 90)


def test_a_rejected_request_does_not_keep_its_connection(tmp_path: Path) -> None:
    with limited(tmp_path, header_seconds=0.5) as url, closing(connect(url)) as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
        assert b"401" in slow.recv(1 << 16)
        assert drip(slow, b"x" * 90)


def test_a_request_that_takes_long_is_answered(tmp_path: Path) -> None:
    """The time counts only while the server waits for the client."""
    lines = "".join(json.dumps({"content": f"text {number}"}) + "\n" for number in range(8_000))
    (tmp_path / "many.ndjson").write_text(lines)
    with limited(tmp_path, header_seconds=0.2, body_seconds=0.2) as url:
        with agent(over_http(url), "legacy", roots=[tmp_path.as_uri()]) as one:
            started = time.monotonic()
            assert one.call("me_memory_import", path="many.ndjson")["imported"] == 8_000
            assert time.monotonic() - started > 0.2


def test_half_open_connections_make_room(tmp_path: Path) -> None:
    with limited(tmp_path, connections=20, header_seconds=PATIENCE) as url, ExitStack() as stack:
        silent = [stack.enter_context(closing(connect(url))) for _ in range(19)]
        assert works(url)
        silent += [stack.enter_context(closing(connect(url))) for _ in range(60)]
        for one in silent[-30:]:
            one.sendall(HEAD)
        assert works(url)
        assert all(seconds_until_closed(one) < PATIENCE / 2 for one in silent[:50]), "the oldest were closed"


def test_connections_in_use_are_not_closed_for_others(tmp_path: Path) -> None:
    with limited(tmp_path, connections=4, header_seconds=PATIENCE) as url, agent(over_http(url), "legacy") as one:
        one.call("me_memory_create", content="first")
        with ExitStack() as stack:
            others = [stack.enter_context(agent(over_http(url), "legacy")) for _ in range(1)]
            silent = [stack.enter_context(closing(connect(url))) for _ in range(30)]
            # Answered after the server has accepted all others. It may close an idle connection, and a client that
            # sends a request at this very moment loses it.
            probe = stack.enter_context(closing(connect(url)))
            probe.sendall(b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert probe.recv(1 << 16).startswith(b"HTTP/1.1 4")
            assert [other.call("me_memory_search")["total"] for other in (one, *others)] == [1, 1]
            assert silent


def test_the_limit_holds_if_all_connections_are_in_use(tmp_path: Path) -> None:
    with limited(tmp_path, connections=3) as url, ExitStack() as stack:
        session = httpx2.post(url, content=HELLO, headers=HEADERS, timeout=PATIENCE).headers["mcp-session-id"]
        ask = f"GET /mcp HTTP/1.1\r\nHost: {httpx2.URL(url).netloc.decode()}\r\n"
        ask += f"Authorization: Bearer {TOKEN}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {{}}\r\n\r\n"
        sessions = [session] + [
            httpx2.post(url, content=HELLO, headers=HEADERS, timeout=PATIENCE).headers["mcp-session-id"]
            for _ in range(2)
        ]
        for one in sessions:
            stream = stack.enter_context(closing(connect(url)))
            stream.sendall(ask.format(one).encode())
            assert b" 200 " in stream.recv(1 << 16)
        refused = stack.enter_context(closing(connect(url)))
        assert b" 503 " in refused.recv(1 << 16)


HELLO = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
    }
)
HEADERS = {
    "Authorization": f"Bearer {TOKEN}",
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}


def test_a_flood_writes_little_and_locks_nobody_out(tmp_path: Path) -> None:
    """1,224 half-open connections locked all clients out, and wrote 189 MB of tracebacks."""
    with listening(tmp_path / "s.db", cwd=tmp_path) as (url, server), ExitStack() as stack:
        for _ in range(700):
            stack.enter_context(closing(connect(url))).sendall(b"POST /mcp HTTP/1.1\r\n")
        assert works(url)
        server.terminate()
        server.wait(PATIENCE)
        assert server.stderr is not None and len(server.stderr.read()) < 1_000


def test_too_few_file_descriptors_write_little(tmp_path: Path) -> None:
    program = "import sys; from memglot.cli.main import main; sys.argv[0] = 'memglot'; main()"
    arguments = ["--store", str(tmp_path / "s.db"), "mcp", "--transport", "http", "--port", "0"]
    server = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env={"MEMGLOT_MCP_TOKEN": TOKEN, "HOME": str(tmp_path)},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)),
    )
    assert server.stderr is not None
    with closing(server.stderr):
        try:
            line = server.stderr.readline()
            url = line[line.index("http://") :].split(";")[0]
            with ExitStack() as stack:
                for _ in range(150):
                    stack.enter_context(closing(connect(url)))
                time.sleep(2.5)  # the event loop tries again each second
            assert works(url)
        finally:
            server.terminate()
            server.wait(PATIENCE)
        assert len(server.stderr.read()) < 100_000


@pytest.mark.parametrize(
    ("body", "id", "status"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":NaN}}', 7, 400),
        (b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{"a":"\\ud800"}}', "a", 400),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":' + b"[" * 3_000 + b"]" * 3_000 + b"}", 7, 400),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 1.5, 400),
        (b'{"jsonrpc":"2.0","id":[],"method":"ping"}', None, 400),
        (b"\xff", None, 400),
        (b"", None, 400),
        (b'{"id":7,"x":"' + b"x" * (9 << 20), 7, 413),
    ],
)
def test_bodies_are_answered_with_their_id(tmp_path: Path, body: bytes, id: Any, status: int) -> None:
    with limited(tmp_path) as url:
        for version in ({}, {"MCP-Protocol-Version": "2026-07-28"}):
            answer = httpx2.post(url, content=body, headers=HEADERS | version, timeout=PATIENCE)
            assert answer.status_code == status
            assert answer.json()["id"] == id and "error" in answer.json()


def test_an_id_in_use_is_refused() -> None:
    """The request that had it before was never answered."""
    answers: dict[str, int] = {}

    async def post(app: CheckBody, name: str, id: Any, session: str = "s") -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": json.dumps({"jsonrpc": "2.0", "id": id, "method": "ping"}).encode()}

        async def send(message: Message) -> None:
            answers.setdefault(name, message.get("status", 0))

        await app({"type": "http", "method": "POST", "headers": [(b"mcp-session-id", session.encode())]}, receive, send)

    async def run() -> None:
        going_on, finish = anyio.Event(), anyio.Event()

        async def slow(_: Scope, receive: Receive, send: Send) -> None:
            assert b"ping" in (await receive())["body"]
            going_on.set()
            await finish.wait()
            await send({"type": "http.response.start", "status": 200})

        app = CheckBody(slow)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post, app, "first", 1)
            await going_on.wait()
            await post(app, "same", 1)
            await post(app, "text", "1")
            await post(app, "reserved", "_GET_stream")
            tasks.start_soon(post, app, "other session", 1, "t")
            finish.set()
        await post(app, "later", 1)

    anyio.run(run)
    refused = {"same": 400, "text": 400, "reserved": 400}
    assert answers == refused | {"first": 200, "other session": 200, "later": 200}
