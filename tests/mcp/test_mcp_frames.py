"""Any bytes from a client: every request with an id that is text or a number is answered once, and the server lives."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_agent import PATIENCE
from memglot.mcp import frames
from memglot.mcp.config import ServerConfig
from memglot.mcp.frames import InvalidFrame, LineBuffer, parse_frame
from memglot.mcp.server import MemglotServer
from memglot.mcp.stdio import serve_lines
from memglot.settings import MAX_BODY_BYTES

HELLO = (
    b'{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"test","version":"0"}}}'
)
PARSE, INVALID, NO_METHOD, PARAMS = -32700, -32600, -32601, -32602


def ping(id: str) -> bytes:
    """Return a ping whose id is written like this."""
    return f'{{"jsonrpc":"2.0","id":{id},"method":"ping"}}'.encode()


def exchange(*lines: bytes, store: str = ":memory:", end: bytes = b"\n", chunk: int = 1 << 16) -> list[dict[str, Any]]:
    """Send lines to a server in this process, close the connection, and return all that it sends."""
    data = end.join([*lines, b""])
    chunks = [data[start : start + chunk] for start in range(0, len(data), chunk)]
    received = bytearray()

    async def talk() -> None:
        async def read() -> bytes:
            return chunks.pop(0) if chunks else b""

        async def write(written: bytes) -> None:
            received.extend(written)

        with anyio.fail_after(PATIENCE):
            await serve_lines(MemglotServer(ServerConfig(store=store)).server(), read, write)

    anyio.run(talk)
    assert not received or received.endswith(b"\n")
    found = [json.loads(line) for line in received.decode().splitlines()]
    assert all(message["jsonrpc"] == "2.0" for message in found)
    return found


def call(id: str, tool: str, **arguments: Any) -> bytes:
    """Return a call of a tool."""
    params = json.dumps({"name": tool, "arguments": arguments})
    return f'{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}'.encode()


@pytest.mark.parametrize(
    ("line", "id", "code"),
    [
        # not JSON
        (b"nonsense", None, PARSE),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"', None, PARSE),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}}', None, PARSE),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping",}', 1, PARSE),
        (ping("1") + ping("2"), None, PARSE),
        (ping('1"x"'), None, PARSE),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', 1, PARSE),
        (b'{"params":{"id":5,"a":-Infinity},"id":"x","jsonrpc":"2.0","method":"ping"}', "x", PARSE),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"9" * 5_000 + b"}}", 1, PARSE),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 5_000 + b"]" * 5_000 + b"}", 1, PARSE),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"id":' * 5_000 + b"7" + b"}" * 5_001, 1, PARSE),
        (b'{"jsonrpc":"2.0","id":1,"method":"p\xffng"}', 1, PARSE),
        (b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}', None, PARSE),
        (ping("1").decode().encode("utf-16"), None, PARSE),
        (b"\0", None, PARSE),
        (ping("1") + b"\0", None, PARSE),
        (ping("9" * 5_000), None, PARSE),
        # not a message
        (b"[]", None, INVALID),
        (b"[" + ping("1") + b"]", None, INVALID),
        (b'"text"', None, INVALID),
        (b"null", None, INVALID),
        (b"1", None, INVALID),
        (b"{}", None, INVALID),
        (b'{"id":"a"}', "a", INVALID),
        (b'{"id":1,"method":"ping"}', 1, INVALID),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 1, INVALID),
        (b'{"jsonrpc":2,"id":1,"method":"ping"}', 1, INVALID),
        (b'{"jsonrpc":"2.0","id":1,"method":1}', 1, INVALID),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', 1, INVALID),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', 1, INVALID),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 1, INVALID),
        (b'{"jsonrpc":"2.0","method":"ping","params":7}', None, INVALID),
        # ids
        (ping("null"), None, INVALID),
        (ping("true"), None, INVALID),
        (ping("[]"), None, INVALID),
        (ping("{}"), None, INVALID),
        (ping("1.5"), 1.5, INVALID),
        (ping("1e400"), None, INVALID),
        # lone surrogates
        (call("1", "me_memory_search", query="\ud83d"), 1, INVALID),
        (call('"\\udc00"', "me_memory_search", query="x"), "\udc00", INVALID),
        (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', 1, INVALID),
        # answers, which are not answered with their id, as the client may use it for a request of its own
        (b'{"jsonrpc":"2.0","id":1,"result":1}', None, INVALID),
        (b'{"jsonrpc":"2.0","id":[],"result":{}}', None, INVALID),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}', None, INVALID),
        # valid messages
        (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', 1, NO_METHOD),
        (b'{"jsonrpc":"2.0","id":1,"method":""}', 1, NO_METHOD),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', 1, PARAMS),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}', 1, PARAMS),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', 1, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":true}}}', 1, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":5}}', 1, PARAMS),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":"' + b"t" * 9_000 + b'"}}}', 1, None),  # noqa: E501
        (b'{"jsonrpc":"2.0","id":1,"method":"no","id":2,"method":"ping"}', 2, None),
        (ping("0"), 0, None),
        (ping("-1"), -1, None),
        (ping("1" + "0" * 400), 10**400, None),
        (ping('""'), "", None),
        (ping('"' + "i" * 100_000 + '"'), "i" * 100_000, None),
        (ping('"\\u0000\\n\\ud83d\\ude00"'), "\0\n\U0001f600", None),
        (b"\xef\xbb\xbf" + ping("1"), 1, None),
        (b"  " + ping("1") + b"\t\r", 1, None),
    ],
)  # fmt: skip
def test_a_line_has_one_answer_with_its_id(line: bytes, id: Any, code: int | None) -> None:
    for lines in ([line, ping('"last"')], [HELLO, line, ping('"last"')]):
        found = exchange(*lines)
        (answer,) = (message for message in found if message["id"] not in ("hello", "last"))
        assert answer["id"] == id and type(answer["id"]) is type(id)
        assert answer.get("error", {}).get("code") == code, answer
        assert len(found) == len(lines)


@pytest.mark.parametrize("id", ["[]", "{}", "null", "true", "1.5", '"x"', "99", '"\\ud800"', "1e999", "9" * 4_000])
def test_cancelling_anything_does_not_stop_the_server(id: str) -> None:
    cancel = f'{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}'.encode()
    for lines in ([cancel, ping("1")], [HELLO, cancel, ping("1"), cancel, ping("2")]):
        answered = [message["id"] for message in exchange(*lines) if "result" in message]
        assert {1, 2} & set(answered) == {1, 2} & {json.loads(line).get("id") for line in lines if b"ping" in line}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"\r",
        b'{"jsonrpc":"2.0","method":"no/such"}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[],"progress":"x"}}',
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1e308}}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":7}}',
        b'{"jsonrpc":"2.0","id":77,"result":{}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}',
    ],
)
def test_other_lines_have_no_answer(line: bytes) -> None:
    assert [message["id"] for message in exchange(HELLO, line, ping("1"))] == ["hello", 1]


def test_ids_in_use_may_be_used_again() -> None:
    searches = [call(id, "me_memory_search", query="x") for id in ("1", "1", '"1"', "1", '"1"')]
    found = exchange(HELLO, *searches)
    assert Counter(repr(message["id"]) for message in found) == {"'hello'": 1, "1": 3, "'1'": 2}
    assert all("result" in message for message in found)


def test_only_the_cancelled_request_is_not_answered() -> None:
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}'
    calls = [call(id, "me_memory_search", query="x") for id in ("1", '"1"', "2")]
    assert {repr(message["id"]) for message in exchange(HELLO, *calls, cancel)} == {"'hello'", "1", "2"}


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b"\n\n\n"])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 16])
def test_lines_may_come_in_any_pieces(end: bytes, chunk: int) -> None:
    lines = [HELLO, *(ping(str(number)) for number in range(20)), b"nonsense"]
    found = exchange(*lines, end=end, chunk=chunk)
    assert sorted(str(message["id"]) for message in found) == sorted(["hello", "None", *map(str, range(20))])


def test_the_end_of_the_input_ends_the_last_line() -> None:
    assert [message["id"] for message in exchange(HELLO + b"\n" + ping("1"), end=b"")] == ["hello", 1]
    last, hello = sorted(exchange(HELLO + b"\n" + ping("1")[:-1], end=b""), key=lambda message: "result" in message)
    assert hello["id"] == "hello" and last["id"] is None and last["error"]["code"] == PARSE


@pytest.mark.parametrize(
    ("start", "end", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":"', b'"}}', 7),
        (b'{"method":"tools/call","params":{"id":3,"x":"', b'"},"jsonrpc":"2.0","id":7}', 7),
        (b'{"method":"tools/call","params":{"x":"', b'"},"id":"a b" , "jsonrpc" : "2.0" }', "a b"),
        (b'{"method":"tools/call","params":{"x":"', b'\\",\\"id\\":3}"}}', None),
        (b'{"method":"tools/call","params":{"x":"', b'","id":3}}', None),
        (b'{"method":"tools/call","params":{"x":"', b"", None),
        (b'{"id":7,"x":"', b"", 7),
    ],
)
def test_a_line_over_the_limit_is_answered(start: bytes, end: bytes, id: Any) -> None:
    line = start + b"x" * MAX_BODY_BYTES + end
    found = exchange(HELLO, line, ping('"last"'))
    (answer,) = (message for message in found if message["id"] not in ("hello", "last"))
    assert (len(found), answer["id"], answer["error"]["code"]) == (3, id, INVALID)
    assert "more than 8 MiB" in answer["error"]["message"]
    with pytest.raises(InvalidFrame) as caught:
        parse_frame(line)
    assert caught.value.id == id


def test_a_line_without_end_takes_bounded_memory() -> None:
    buffer = LineBuffer()
    for _ in range(40):
        assert not list(buffer.feed(b"x" * (1 << 20)))
        assert sum(map(len, buffer._parts)) <= MAX_BODY_BYTES + (1 << 20)
    assert [type(line) for line in buffer.feed(b"\n")] == [InvalidFrame]
    assert list(buffer.feed(ping("1") + b"\n")) == [ping("1")]


@pytest.mark.parametrize(
    "data",
    [b'"' * 1_000_000, b'{"id":' * 200_000, b'\\"' * 500_000, b',"id"' * 200_000, b'{"id":"' + b'\\"' * 500_000],
    ids=["quotes", "ids", "escapes", "keys", "text"],
)
def test_hostile_lines_are_read_in_linear_time(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these would take hours if it were read again from every quote."""
    with pytest.raises(InvalidFrame):
        parse_frame(data)
    monkeypatch.setattr(frames, "MAX_BODY_BYTES", 1)
    with pytest.raises(InvalidFrame):
        parse_frame(data)


def test_calls_before_the_handshake_are_answered(tmp_path: Path) -> None:
    lines = [call("1", "me_memory_create", content="x"), ping("2"), HELLO, call("3", "me_memory_create", content="y")]
    found = {message["id"]: message for message in exchange(*lines, store=str(tmp_path / "s.db"))}
    assert found.keys() == {1, 2, "hello", 3}
    assert "error" in found[1] and found[3]["result"]["structuredContent"]["content"] == "y"
