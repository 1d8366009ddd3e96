"""Random and damaged frames for an MCP server, and what must come back for each of them."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HELLO = (
    b'{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"flood","version":"0"}}}'
)
LAST = "last"
_BATCH = 500
_ODD = [
    b"[]",
    b"{}",
    b"null",
    b"true",
    b"1.5",
    b'"x"',
    b"-0.5",
    b"1e999",
    b'"\\ud800"',
    b"[[[[]]]]",
    b"99999999999999999999",
]
_METHODS = [
    b"ping",
    b"no/such",
    b"",
    b"tools/list",
    b"resources/list",
    b"prompts/list",
    b"logging/setLevel",
    b"\\u0000",
]
_CALLS = [
    b'{"name":"me_memory_tree","arguments":{}}',
    b'{"name":"me_memory_search","arguments":{"query":"x","limit":1}}',
    b'{"name":"me_memory_get","arguments":{"id":"0194c000-0000-7000-8000-000000000000"}}',
    b'{"name":"me_memory_create","arguments":{"content":"flood"}}',
    b'{"name":"no_such","arguments":{"a":1}}',
    b'{"name":"me_memory_get","arguments":{"id":[]}}',
]


@dataclass(frozen=True)
class Frame:
    """A line, and its answers: the id of each; None for an answer without id."""

    line: bytes
    ids: tuple[Any, ...] = ()
    is_open: bool = False
    """Whether it may also go without an answer, or be answered without its id: damaged frames, and cancelled ones."""


def flood(seed: int, count: int) -> Iterator[Frame]:
    """Return frames, the same for each seed."""
    source = random.Random(seed)
    makers = [_request, _invalid, _wrong, _no_answer, _damaged, _odd_id, _call, _cancelled]
    weights = [14, 30, 24, 8, 12, 8, 2, 2]
    for number in range(count):
        (maker,) = source.choices(makers, weights)
        yield maker(source, number)


def _id(source: random.Random, number: int) -> tuple[bytes, Any]:
    """Return an id as it is written, and its value; some are used several times, and `1` next to `"1"`."""
    match source.randrange(8):
        case 0:
            value: Any = str(number)
        case 1:
            value = f"ä\U0001f600\n{number}"
        case 2:
            value = source.randrange(5)
        case 3:
            value = str(source.randrange(5))
        case 4:
            value = -number
        case 5:
            value = 10**30 + number
        case _:
            value = number
    return json.dumps(value, ensure_ascii=source.random() < 0.5).encode(), value


def _request(source: random.Random, number: int) -> Frame:
    written, id = _id(source, number)
    method = source.choice(_METHODS) if source.random() < 0.2 else b"ping"
    members = [b'"jsonrpc":"2.0"', b'"id":' + written, b'"method":"' + method + b'"']
    if source.random() < 0.3:
        members.append(b'"params":{"_meta":{"progressToken":' + source.choice(_ODD[:6]) + b"}}")
    source.shuffle(members)
    return Frame(b"{" + b",".join(members) + b"}" + source.choice([b"", b" ", b"\r"]), (id,))


def _invalid(source: random.Random, number: int) -> Frame:
    """Return a request that is not valid JSON."""
    written, id = _id(source, number)
    wrong = source.choice(
        [
            b"NaN",
            b"-Infinity",
            b"{,}",
            b"[1,]",
            b"01",
            b'"\xff"',
            b"[" * 1_100 + b"]" * 1_100,
            b"nul",
            b'{"id":1 2}',
            b"'x'",
        ]
    )
    return Frame(
        b'{"params":{"id":"inner","a":' + wrong + b'},"jsonrpc":"2.0","id":' + written + b',"method":"ping"}', (id,)
    )


def _wrong(source: random.Random, number: int) -> Frame:
    """Return a request that is JSON, but not a valid message."""
    written, id = _id(source, number)
    start = b'{"id":' + written
    end = source.choice(
        [
            b"}",
            b',"method":"ping"}',
            b',"jsonrpc":"1.0","method":"ping"}',
            b',"jsonrpc":"2.0","method":7}',
            b',"jsonrpc":"2.0","method":"ping","params":[1]}',
            b',"jsonrpc":"2.0","method":"ping","params":"x"}',
            b',"jsonrpc":"2.0","method":"ping","params":{"a":"\\udfff"}}',
        ]
    )
    return Frame(start + end, (id,))


def _no_answer(source: random.Random, number: int) -> Frame:
    """Return a notification, an answer to nothing, or a blank line."""
    odd = source.choice(_ODD)
    return Frame(
        source.choice(
            [
                b"",
                b" \t",
                b'{"jsonrpc":"2.0","method":"no/such"}',
                b'{"jsonrpc":"2.0","id":%d,"result":{}}' % number,
                b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}',
                b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
                b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never used"}}',
                b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}',
            ]
            if b"\\ud8" in odd
            else [
                b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":' + odd + b"}}",
                b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":' + odd + b"}}",
                b'{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":' + odd + b"}}",
            ]
        )
    )


def _damaged(source: random.Random, number: int) -> Frame:
    """Return a request with some bytes changed; its id is one that no other frame has."""
    id = f"damaged {number}"
    whole = b'{"jsonrpc":"2.0","id":"%b","method":"ping","params":{"id":"inner","a":[1,{"b":null}]}}' % id.encode()
    line = bytearray(whole)
    for _ in range(source.randint(1, 4)):
        place = source.randrange(len(line))
        line[place : place + source.randrange(3)] = source.randbytes(source.randrange(3))
    return Frame(bytes(line).translate(None, b"\r\n"), (id,), is_open=True)


def _odd_id(source: random.Random, number: int) -> Frame:
    """Return a request whose id is neither text nor a whole number."""
    odd = source.choice([b"[]", b"{}", b"null", b"true", b"false", b"1e999", b"[1]"])
    if source.random() < 0.3:
        return Frame(b'{"jsonrpc":"2.0","id":%d.5,"method":"ping"}' % number, (number + 0.5,))
    return Frame(b'{"jsonrpc":"2.0","id":' + odd + b',"method":"ping"}', (None,))


def _call(source: random.Random, number: int) -> Frame:
    written, id = _id(source, number)
    start = b'{"jsonrpc":"2.0","id":' + written + b',"method":"tools/call","params":'
    return Frame(start + source.choice(_CALLS) + b"}", (id,))


def _cancelled(source: random.Random, number: int) -> Frame:
    """Return a call and its cancellation, which may come too late."""
    id = f"cancelled {number}"
    call = b'{"jsonrpc":"2.0","id":"' + id.encode() + b'","method":"tools/call","params":' + _CALLS[1] + b"}"
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"' + id.encode() + b'"}}'
    return Frame(call + b"\n" + cancel, (id,), is_open=True)


def key(id: Any) -> str:
    """Return an id with its type, since `1`, `1.0` and `"1"` are different ids."""
    return f"{type(id).__name__} {id}"


@dataclass
class Tally:
    """What was sent, and what came back."""

    frames: int = 0
    due: Counter[str] = field(default_factory=Counter)
    possible: Counter[str] = field(default_factory=Counter)
    """Answers that may come or not; those without an id are counted, too."""
    answered: Counter[str] = field(default_factory=Counter)
    odd: list[str] = field(default_factory=list)

    def sent(self, frame: Frame) -> None:
        """Count a frame."""
        self.frames += 1
        if frame.is_open:
            self.possible.update(map(key, frame.ids))
        else:
            self.due.update(map(key, frame.ids))

    def received(self, line: bytes) -> Any:
        """Count a line of the server; return the id."""
        message = json.loads(line)
        if message.get("jsonrpc") != "2.0" or ("method" in message) or ("result" in message) == ("error" in message):
            self.odd.append(line[:300].decode())
        id = message.get("id")
        self.answered[key(id)] += 1
        return id

    def wrong(self) -> list[str]:
        """Return what is wrong: answers that are missing, second answers, and answers that belong to no frame."""
        wrong = list(self.odd)
        wrong += [f"{count} answers to {id!r} are missing" for id, count in (self.due - self.answered).items()]
        extra = self.answered - self.due
        twice = [id for id in extra if id in self.due and id != key(None)]
        wrong += [f"{id!r} has {extra[id]} answers too many" for id in twice]
        # A damaged frame is answered with its id, with what its id was changed to, without an id, or not at all.
        if sum(extra.values()) > sum(self.possible.values()):
            wrong.append(f"{sum(extra.values()):,} answers belong to {sum(self.possible.values()):,} frames")
        return wrong


def talk(store: Path, seed: int, count: int, environment: dict[str, str] | None = None) -> tuple[Tally, int, bytes]:
    """Send frames to a server over its pipes; return what came back, its exit status and its standard error."""
    errors = store.with_name(f"errors-{seed}")
    tally = Tally()
    with open(errors, "wb") as stderr:
        server = subprocess.Popen(
            [sys.executable, "-m", "memglot", "--store", str(store), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=store.parent,
            env=os.environ | (environment or {}),
        )
    assert server.stdin is not None and server.stdout is not None

    def write() -> None:
        assert server.stdin is not None
        lines = [HELLO]
        tally.sent(Frame(HELLO, ("hello",)))
        for frame in flood(seed, count):
            tally.sent(frame)
            lines.append(frame.line)
            if len(lines) >= _BATCH:
                server.stdin.write(b"\n".join([*lines, b""]))
                lines.clear()
        last = Frame(json.dumps({"jsonrpc": "2.0", "id": LAST, "method": "ping"}).encode(), (LAST,))
        tally.sent(last)
        server.stdin.write(b"\n".join([*lines, last.line, b""]))
        server.stdin.flush()

    writer = threading.Thread(target=write)
    writer.start()
    # If an answer is missing, the server waits for the next line, and so would this test.
    limit = threading.Timer(60 + count / 100, server.kill)
    limit.start()
    try:
        is_last = False
        for line in server.stdout:
            # Comparing all ids takes long, and after the last frame only a few calls of tools are unanswered.
            is_last = tally.received(line) == LAST or is_last
            if is_last and not tally.due - tally.answered:
                break
        writer.join(10)
        # Not earlier, as calls that take longer than a moment are stopped then.
        server.stdin.close()
        for line in server.stdout:
            tally.received(line)
        code = server.wait(60)
    finally:
        limit.cancel()
        server.kill()
        server.wait()
        server.stdout.close()
    return tally, code, errors.read_bytes()
