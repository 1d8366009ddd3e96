"""The server as a process: invalid input, progress, cancellation, disconnects, and access over HTTP."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from mcp_agent import PATIENCE, TOKEN, agent, command, listening, over_http
from memglot import Memory
from memglot.mcp import stdio
from memglot.settings import BATCH_SIZE

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
}


class Pipe:
    """A server process with raw access to its pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, id: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": id})
        self.write(json.dumps(message).encode())

    def read(self) -> dict[str, Any]:
        """Return the next message; anything else in the stream fails the test."""
        assert self.process.stdout is not None
        found = json.loads(self.process.stdout.readline())
        assert found["jsonrpc"] == "2.0"
        return dict(found)

    def answer(self, id: int) -> dict[str, Any]:
        """Return the answer to a request; skip notifications before it."""
        while (found := self.read()).get("id") != id or "method" in found:
            pass
        return found

    def hello(self) -> None:
        self.write(json.dumps(HELLO).encode())
        assert self.answer(0)["result"]["serverInfo"]["name"] == "memglot"
        self.send("notifications/initialized")

    def call(self, id: int, tool: str, **arguments: Any) -> None:
        self.send("tools/call", id, name=tool, arguments=arguments, _meta={"progressToken": f"t{id}"})


@contextmanager
def piped(store: Path, *options: str, cwd: Path) -> Iterator[Pipe]:
    process = subprocess.Popen(
        [sys.executable, "-m", "memglot", "--store", str(store), "mcp", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
    )
    try:
        yield Pipe(process)
    finally:
        process.kill()
        process.wait(PATIENCE)
        for stream in (process.stdin, process.stdout, process.stderr):
            with suppress(BrokenPipeError):
                stream.close()  # type: ignore[union-attr]


def test_invalid_lines_are_answered_and_the_server_keeps_running(tmp_path: Path) -> None:
    with piped(tmp_path / "s.db", cwd=tmp_path) as pipe:
        pipe.hello()
        for line, code, id in (
            (b"nonsense", -32700, None),
            (b'{"jsonrpc": "2.0", "id": 1', -32700, None),
            (b"\xff\xfe", -32700, None),
            (b"[]", -32600, None),
            (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600, 1),
            (b'{"id": "a"}', -32600, "a"),
            (b'"text"', -32600, None),
        ):
            pipe.write(line)
            said = pipe.read()
            assert (said["id"], said["error"]["code"]) == (id, code), (line, said)
        pipe.write(b"")
        pipe.send("no/such", 2)
        assert pipe.answer(2)["error"]["code"] == -32601
        pipe.send("tools/call", 3, name="me_memory_get", arguments=[1])
        assert "error" in pipe.answer(3)
        pipe.call(4, "me_memory_create", content="still here")
        assert pipe.answer(4)["result"]["structuredContent"]["content"] == "still here"
        pipe.process.stdin.close()  # type: ignore[union-attr]
        assert pipe.process.wait(PATIENCE) == 0
        assert pipe.process.stdout.read() == b""  # type: ignore[union-attr]
        assert b"Traceback" not in pipe.process.stderr.read()  # type: ignore[union-attr]


def test_no_line_stops_the_server(tmp_path: Path) -> None:
    """The first of these ended the server, and the second was answered without its id."""
    with piped(tmp_path / "s.db", cwd=tmp_path) as pipe:
        pipe.hello()
        pipe.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}')
        pipe.call(1, "me_memory_search", query="\ud83d")
        assert "lone surrogate (U+D83D)" in pipe.answer(1)["error"]["message"]
        for number in range(200):
            pipe.send("notifications/cancelled", reason=[number])
        pipe.call(2, "me_memory_create", content="still here")
        assert pipe.answer(2)["result"]["structuredContent"]["content"] == "still here"
        pipe.process.stdin.close()  # type: ignore[union-attr]
        assert pipe.process.wait(PATIENCE) == 0
        assert len(pipe.process.stderr.read()) < 10_000  # type: ignore[union-attr]


def many(path: Path, count: int) -> None:
    with open(path, "w") as out:
        for number in range(count):
            out.write(json.dumps({"id": f"0194a000-0000-7000-8000-{number:012x}", "content": f"text {number}"}) + "\n")


def whole_batches(store: Path) -> int:
    """Return the number of stored memories, which must be complete batches that search can find."""
    with Memory.open(store) as memory:
        count = memory.count()
        assert count % BATCH_SIZE == 0
        assert memory.audit_verify()["ok"]
        assert memory.doctor().ok
        return count


def test_progress_is_reported_and_increases(tmp_path: Path) -> None:
    many(tmp_path / "a.ndjson", 60 * BATCH_SIZE)
    with piped(tmp_path / "s.db", cwd=tmp_path) as pipe:
        pipe.hello()
        pipe.call(1, "me_memory_import", path="a.ndjson")
        on_progress = []
        while (found := pipe.read()).get("id") != 1:
            assert found["method"] == "notifications/progress" and found["params"]["progressToken"] == "t1"
            on_progress.append(found["params"]["progress"])
        assert found["result"]["structuredContent"]["imported"] == 60 * BATCH_SIZE
        assert on_progress and on_progress == sorted(set(on_progress)) and on_progress[-1] <= 60 * BATCH_SIZE
        pipe.call(2, "me_memory_export", format="json", path="out.json")
        while (found := pipe.read()).get("id") != 2:
            assert found["method"] == "notifications/progress"
        assert found["result"]["structuredContent"]["count"] == 60 * BATCH_SIZE


def test_a_cancelled_import_stops_and_keeps_written_batches(tmp_path: Path) -> None:
    many(tmp_path / "a.ndjson", 200 * BATCH_SIZE)
    with piped(tmp_path / "s.db", cwd=tmp_path) as pipe:
        pipe.hello()
        pipe.call(1, "me_memory_import", path="a.ndjson")
        assert pipe.read()["method"] == "notifications/progress"
        pipe.send("notifications/cancelled", requestId=1, reason="enough")
        pipe.call(2, "me_memory_search", limit=1)
        assert pipe.answer(2)["result"]["structuredContent"]["total"] > 0
        pipe.process.stdin.close()  # type: ignore[union-attr]
        assert pipe.process.wait(PATIENCE) == 0
    assert 0 < whole_batches(tmp_path / "s.db") < 200 * BATCH_SIZE
    with Memory.open(tmp_path / "s.db") as memory:
        assert memory.import_report().state == "stopped"


@pytest.mark.parametrize("way", ["close", "kill"])
def test_a_client_that_disconnects_during_an_import(tmp_path: Path, way: str) -> None:
    many(tmp_path / "a.ndjson", 200 * BATCH_SIZE)
    with piped(tmp_path / "s.db", cwd=tmp_path) as pipe:
        pipe.hello()
        pipe.call(1, "me_memory_import", path="a.ndjson")
        assert pipe.read()["method"] == "notifications/progress"
        if way == "close":
            pipe.process.stdin.close()  # type: ignore[union-attr]
            pipe.process.stdout.close()  # type: ignore[union-attr]
        else:
            pipe.process.kill()
        pipe.process.wait(PATIENCE)
    # A pipe that is closed leaves a little time, in which a fast machine may come to the end.
    assert 0 < whole_batches(tmp_path / "s.db") < 200 * BATCH_SIZE + (way == "close")
    with Memory.open(tmp_path / "s.db") as memory:
        assert memory.import_from(tmp_path / "a.ndjson").skipped > 0, "the same import goes on"
        assert memory.count() == 200 * BATCH_SIZE


def test_the_last_request_is_answered(tmp_path: Path) -> None:
    """A client that writes a few lines and closes the pipe still gets its answers."""
    with piped(tmp_path / "s.db", cwd=tmp_path) as pipe:
        pipe.write(json.dumps(HELLO).encode())
        pipe.send("notifications/initialized")
        for number in range(1, 6):
            pipe.call(number, "me_memory_create", content=f"number {number}")
        pipe.process.stdin.close()  # type: ignore[union-attr]
        found = {said["id"] for said in (pipe.read() for _ in range(6)) if "result" in said}
        assert found == set(range(6))
        assert pipe.process.wait(PATIENCE) == 0


def test_an_interrupt_stops_the_server(tmp_path: Path) -> None:
    with piped(tmp_path / "s.db", cwd=tmp_path) as pipe:
        pipe.hello()
        pipe.process.send_signal(signal.SIGINT)
        assert pipe.process.wait(PATIENCE) == 130
        assert b"Traceback" not in pipe.process.stderr.read()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("store", "sentence"),
    [("folder", "it is a folder"), ("text", "not a memglot store"), ("newer", "pip install --upgrade")],
)
def test_an_unusable_store_is_reported_by_every_call(tmp_path: Path, store: str, sentence: str) -> None:
    import apsw

    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no database at all, but a text that is long enough to be looked at " * 20)
    Memory.open(tmp_path / "newer").close()
    db = apsw.Connection(str(tmp_path / "newer"))
    db.execute("PRAGMA user_version = 99")
    db.close()
    with agent(command(tmp_path / store, cwd=tmp_path)) as one:
        for _ in range(2):
            assert sentence in one.call_error("me_memory_search", query="x")
            assert sentence in one.call_error("me_memory_create", content="x")


# HTTP


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("door")
    with listening(folder / "s.db", cwd=folder) as (url, _):
        yield url


def post(url: str, body: bytes | None = None, **headers: str) -> httpx2.Response:
    sent = {
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(
        url, content=json.dumps(HELLO).encode() if body is None else body, headers=sent, timeout=PATIENCE
    )


def test_requests_require_the_token(door: str) -> None:
    assert post(door).status_code == 200
    assert post(door, Authorization=f"bearer {TOKEN}").status_code == 200
    for wrong in (
        "",
        "Bearer",
        f"Basic {TOKEN}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        TOKEN,
        "Bearer é",
    ):
        refused = httpx2.post(
            door,
            content=json.dumps(HELLO).encode(),
            headers=[(b"authorization", wrong.encode())],
            timeout=PATIENCE,
        )
        assert refused.status_code == 401, wrong
        assert refused.headers["www-authenticate"] == "Bearer" and TOKEN not in refused.text
    for method in ("GET", "DELETE", "OPTIONS", "PUT"):
        assert httpx2.request(method, door, timeout=PATIENCE).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil:80"])
def test_other_hosts_are_rejected(door: str, host: str) -> None:
    assert post(door, Host=host).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1", "null", "http://127.0.0.1:1"])
def test_other_origins_are_rejected(door: str, origin: str) -> None:
    assert post(door, Origin=origin).status_code == 403
    own = door.removesuffix("/mcp")
    assert post(door, Origin=own).status_code == 200


def test_bad_requests_do_not_stop_the_server(door: str) -> None:
    assert post(door, b"nonsense").status_code == 400
    assert post(door, b"{}").status_code == 400
    assert post(door, b"x" * (9 << 20)).status_code == 413
    assert post(door, Content_Type="text/plain").status_code == 400
    assert (
        httpx2.get(door + "/other", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE).status_code == 404
    )
    assert post(door).status_code == 200


def test_the_server_listens_on_localhost_only(door: str) -> None:
    assert door.startswith("http://127.0.0.1:")


def test_clients_of_one_server_share_the_store(door: str) -> None:
    with agent(over_http(door), "legacy") as one, agent(over_http(door), "auto") as other:
        id = one.call("me_memory_create", content="shared")["id"]
        assert other.call("me_memory_get", id=id)["content"] == "shared"


def test_an_http_client_that_disconnects_during_an_import(tmp_path: Path) -> None:
    many(tmp_path / "a.ndjson", 200 * BATCH_SIZE)
    with listening(tmp_path / "s.db", cwd=tmp_path) as (url, _):

        async def leave() -> None:
            from mcp import Client

            gone = anyio.Event()

            async def on_progress(progress: float, total: float | None, message: str | None) -> None:
                gone.set()

            async with Client(over_http(url), mode="legacy") as client, anyio.create_task_group() as tasks:

                async def call() -> None:
                    await client.call_tool("me_memory_import", {"path": "a.ndjson"}, progress_callback=on_progress)

                tasks.start_soon(call)
                await gone.wait()
                tasks.cancel_scope.cancel()

        anyio.run(leave)
        with agent(over_http(url)) as one:
            assert one.call("me_memory_search", limit=1)["total"] > 0
    assert whole_batches(tmp_path / "s.db") > 0


def run(*arguments: str, home: Path, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("MEMGLOT")}
    return subprocess.run(
        [sys.executable, "-m", "memglot", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**clean, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), **env},
        stdin=subprocess.DEVNULL,
    )


def test_the_token_is_created_once_and_readable_for_its_user_only(tmp_path: Path) -> None:
    first = run("mcp", "token", home=tmp_path).stdout
    assert len(first.strip()) >= 32 and run("mcp", "token", home=tmp_path).stdout == first
    kept = tmp_path / "data" / "memglot" / "mcp-token"
    assert kept.read_text() == first and stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert run("mcp", "token", home=tmp_path, MEMGLOT_MCP_TOKEN="x" * 20).stdout == "x" * 20 + "\n"
    for bad in ("brief", "with space in it all", "é" * 20):
        done = run("mcp", "token", home=tmp_path, MEMGLOT_MCP_TOKEN=bad)
        assert done.returncode == 2 and bad not in done.stderr


def test_wrong_usage_is_an_error(tmp_path: Path) -> None:
    done = run("mcp", "--root", str(tmp_path / "nowhere"), home=tmp_path)
    assert (done.returncode, done.stdout) == (2, "") and "is not a folder" in done.stderr
    assert run("mcp", "--transport", "pigeon", home=tmp_path).returncode == 2
    with listening(tmp_path / "s.db", cwd=tmp_path) as (url, _):
        port = url.split(":")[2].split("/")[0]
        done = run("mcp", "--transport", "http", "--port", port, home=tmp_path)
        assert done.returncode == 3 and f"127.0.0.1:{port}" in done.stderr


def test_the_server_stops_at_the_end_of_input(tmp_path: Path) -> None:
    done = run("mcp", home=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_http_server_stops_on_a_signal(tmp_path: Path) -> None:
    with listening(tmp_path / "s.db", cwd=tmp_path) as (url, server):
        with agent(over_http(url)) as one:
            one.call("me_memory_create", content="x")
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE) in (0, 130)


def test_misplaced_options_are_an_error(tmp_path: Path) -> None:
    for arguments, sentence in (
        (["mcp", "--port", "0"], "`--transport http`"),
        (["mcp", "--read-only", "install", "cursor"], "after its name"),
        (["--store", "postgresql://host/db", "mcp"], "no PostgreSQL store"),
    ):
        done = run(*arguments, home=tmp_path)
        assert done.returncode in (2, 3) and sentence in done.stderr and not done.stdout
    assert not (tmp_path / ".cursor").exists()


@pytest.mark.parametrize("last", ["answered", "cancelled"])
def test_the_server_does_not_wait_for_finished_requests(monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    """Many clients number their requests from 0, and cancelled requests are never answered."""
    monkeypatch.setattr(stdio, "_GRACE_SECONDS", 10 * PATIENCE)
    ask = b'{"jsonrpc": "2.0", "id": 0, "method": "ping"}\n'
    cancel = b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}}\n'
    sent = [ask, cancel] if last == "cancelled" else [ask]

    async def talk() -> None:
        forwarded: list[SessionMessage] = []
        lines_to_client, lines = anyio.create_memory_object_stream[bytes](9)
        asked, questions = anyio.create_memory_object_stream[SessionMessage | Exception](9)
        answers, given = anyio.create_memory_object_stream[SessionMessage](9)
        client = stdio._Client(lines_to_client)

        async def read() -> bytes:
            return sent.pop(0) if sent else b""

        async def serve() -> None:
            async with questions, answers:
                async for message in questions:
                    assert isinstance(message, SessionMessage)
                    forwarded.append(message)
                    if last == "answered":
                        id = message.message.id  # type: ignore[union-attr]
                        answer = types.JSONRPCResponse.model_validate({"jsonrpc": "2.0", "id": id, "result": {}})
                        await answers.send(SessionMessage(answer))

        async with lines_to_client, lines, given:
            with anyio.fail_after(PATIENCE):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.forward_requests, read, asked)
                    tasks.start_soon(client.forward_answers, given)
                    tasks.start_soon(serve)
            if last == "answered":
                assert json.loads(lines.receive_nowait()) == {"jsonrpc": "2.0", "id": 0, "result": {}}
            else:
                request, notification = (message.message for message in forwarded)
                assert notification.params["requestId"] == request.id  # type: ignore[index, union-attr]

    anyio.run(talk)
