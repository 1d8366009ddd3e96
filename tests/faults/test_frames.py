"""Random frames: every id is answered exactly once, no frame ends the server, and little is logged."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import frame_flood
import httpx2
from frame_flood import Frame, Tally, flood, key

from mcp_agent import PATIENCE, TOKEN, listening
from memglot import Memory

SERVERS = 2
MOST = 100_000
"""Maximum number of frames for one server."""
HEADERS = {
    "Authorization": f"Bearer {TOKEN}",
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}


def test_every_id_is_answered_over_pipes(tmp_path: Path, count: int, seed: int, figures: Counter[str]) -> None:
    frames = max(3_000, count)
    parts = max(SERVERS, -(-frames // MOST))
    store = tmp_path / "s.db"
    Memory.open(store).close()
    with ThreadPoolExecutor(SERVERS) as pool:
        runs = list(pool.map(lambda part: frame_flood.talk(store, seed * 100 + part, frames // parts), range(parts)))
    total = sum(tally.frames for tally, _, _ in runs)
    figures["frames"] += total
    figures["answers to frames"] += sum(sum(tally.answered.values()) for tally, _, _ in runs)
    for tally, code, errors in runs:
        assert not tally.wrong(), "\n".join(tally.wrong()[:10])
        assert code == 0 and len(errors) < 100_000, errors[-2_000:]
    assert total >= frames


def test_every_id_is_answered_over_http(tmp_path: Path, count: int, seed: int, figures: Counter[str]) -> None:
    tally = Tally()
    with listening(tmp_path / "s.db", cwd=tmp_path) as (url, server), httpx2.Client(timeout=PATIENCE) as client:
        hello = client.post(url, content=frame_flood.HELLO, headers=HEADERS)
        session = {"mcp-session-id": hello.headers["mcp-session-id"], "mcp-protocol-version": "2025-06-18"}
        for frame in flood(seed, max(300, count // 100)):
            line = frame.line.partition(b"\n")[0]
            tally.sent(Frame(line, frame.ids, frame.is_open))
            answer = client.post(url, content=line, headers=HEADERS | session)
            assert answer.status_code in (200, 202, 400), (line, answer.status_code, answer.text)
            for found in answers(answer):
                tally.received(found)
        assert client.post(url, content=frame_flood.HELLO, headers=HEADERS).status_code == 200
        server.terminate()
        server.wait(PATIENCE)
        assert server.stderr is not None and len(server.stderr.read()) < 100_000
    # Over HTTP, an empty body is answered without an id, too.
    tally.answered[key(None)] = min(tally.answered[key(None)], tally.due[key(None)])
    figures["frames"] += tally.frames
    assert not tally.wrong(), "\n".join(tally.wrong()[:10])


def answers(answer: httpx2.Response) -> list[bytes]:
    """Return the messages of an HTTP response: events, or one body."""
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        return [line[6:].encode() for line in answer.text.splitlines() if line.startswith("data: {")]
    return [answer.content] if answer.content else []


def test_a_missing_and_a_second_answer_would_be_found() -> None:
    tally = Tally()
    tally.sent(Frame(b"", (1,)))
    assert tally.wrong() == ["1 answers to 'int 1' are missing"]
    for _ in range(2):
        tally.received(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}).encode())
    assert tally.wrong() == ["'int 1' has 1 answers too many", "1 answers belong to 0 frames"]
