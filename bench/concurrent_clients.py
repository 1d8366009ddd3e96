"""Let eight clients write and read one store at the same time, and measure throughput, waits and losses.

Over stdio each client is a `ThinClient` with its own server process. Over HTTP eight clients of the SDK share one.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from search_modes import times
from search_speed import vocabulary
from thin_client import ThinClient

from mcp import Client
from memglot import Memory

CLIENTS = 8
TOKEN = "a-token-for-the-benchmark"
PATIENCE = 60

Ask = tuple[str, dict[str, Any]]
# Load what a server loads on first use before anything is measured.
FIRST: list[Ask] = [("me_memory_create", {"content": "the first"}), ("me_memory_search", {"query": "first"})]


class Outcome:
    """The calls by tool with their times, the memories that must be stored now, and the problems."""

    def __init__(self) -> None:
        self.taken: dict[str, list[float]] = {}
        self.kept: dict[str, str] = {}
        self.errors: Counter[str] = Counter()
        self.seconds = 0.0
        self.by_client: Counter[int] = Counter()
        self.faults: list[str] = []

    def keep(self, answer: dict[str, Any] | None) -> None:
        """Record a memory that the server returned."""
        if answer is not None and "id" in answer:
            self.kept[answer["id"]] = answer["content"]

    def note(self, client: int, tool: str, began: float) -> None:
        """Record a call that was answered, with or without an error."""
        self.taken.setdefault(tool, []).append((time.perf_counter() - began) * 1000)
        self.by_client[client] += 1


@cache
def _words() -> list[str]:
    return vocabulary()[:3_000]


def calls(client: int, until: float, outcome: Outcome) -> Generator[Ask, dict[str, Any] | None, None]:
    """Yield the calls of one client; the caller sends back the structured result, or None for an error."""
    source, words = random.Random(client), _words()
    own: list[str] = []
    number = 0

    def text() -> str:
        return f"client {client} note {number}: " + " ".join(source.choices(words, k=20))

    while time.perf_counter() < until:
        number += 1
        for _ in range(2):
            content = text()
            made = yield "me_memory_create", {"content": content, "tree": f"crowd.client{client}"}
            if made is not None:
                own.append(made["id"])
                outcome.keep(made)
        yield "me_memory_search", {"query": " ".join(source.choices(words, k=2))}
        if own:
            id, content = source.choice(own), text()
            # The text is certain only once the call is answered, and is not read before.
            if (yield "me_memory_update", {"id": id, "content": content}) is not None:
                outcome.kept[id] = content
            got = yield "me_memory_get", {"id": id}
            if got is not None and got["content"] != outcome.kept[id]:
                outcome.faults.append(f"{id} was read with a wrong text")


def over_stdio(store: Path, seconds: float) -> Outcome:
    """Run eight servers, each with a thin client in a thread."""
    outcome = Outcome()
    _words()
    log = store.with_suffix(".log")
    servers = [ThinClient(sys.executable, "-m", "memglot", "--store", store, "mcp", log=log) for _ in range(CLIENTS)]
    for server in servers:
        server.begin()
        for tool, arguments in FIRST:
            outcome.keep(server.call(tool, **arguments))

    def work(client: int, server: ThinClient, until: float) -> None:
        script = calls(client, until, outcome)
        answer: dict[str, Any] | None = None
        while True:
            try:
                tool, arguments = script.send(answer)
            except StopIteration:
                return
            began = time.perf_counter()
            try:
                answer = server.call(tool, **arguments)
            except Exception as error:  # noqa: BLE001 - every failure is counted
                answer = None
                outcome.errors[str(error)] += 1
            outcome.note(client, tool, began)

    began = time.perf_counter()
    threads = [
        threading.Thread(target=work, args=(number, server, began + seconds)) for number, server in enumerate(servers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcome.seconds = time.perf_counter() - began
    for server in servers:
        server.end()
    return checked(store, outcome)


def over_http(store: Path, seconds: float) -> Outcome:
    """Run one server and eight clients of the SDK."""
    outcome = Outcome()
    server = subprocess.Popen(
        [sys.executable, "-m", "memglot", "--store", str(store), "mcp", "--transport", "http", "--port", "0"],
        env={**os.environ, "MEMGLOT_MCP_TOKEN": TOKEN},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        line = server.stderr.readline()
        url = line[line.index("http://") :].split(";")[0].strip()
        anyio.run(_crowd, url, seconds, outcome)
    finally:
        server.terminate()
        server.wait(PATIENCE)
    return checked(store, outcome)


async def _crowd(url: str, seconds: float, outcome: Outcome) -> None:
    _words()
    ready = anyio.Event()
    waiting = anyio.Semaphore(0)
    async with anyio.create_task_group() as tasks:
        for client in range(CLIENTS):
            tasks.start_soon(_client, url, client, seconds, outcome, waiting, ready)
        for _ in range(CLIENTS):
            await waiting.acquire()
        began = time.perf_counter()
        ready.set()
    outcome.seconds = time.perf_counter() - began


async def _client(
    url: str, number: int, seconds: float, outcome: Outcome, waiting: anyio.Semaphore, ready: anyio.Event
) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            for tool, arguments in FIRST:
                first = await client.call_tool(tool, arguments)
                outcome.keep(first.structured_content)
                if first.is_error:
                    outcome.errors[str(first.content)] += 1
            waiting.release()
            await ready.wait()
            script = calls(number, time.perf_counter() + seconds, outcome)
            answer: dict[str, Any] | None = None
            while True:
                try:
                    tool, arguments = script.send(answer)
                except StopIteration:
                    return
                began = time.perf_counter()
                result = await client.call_tool(tool, arguments)
                answer = None if result.is_error else result.structured_content
                if result.is_error:
                    outcome.errors[str(result.content)] += 1
                outcome.note(number, tool, began)


def checked(store: Path, outcome: Outcome) -> Outcome:
    """Check that every memory that was returned is stored, and run `doctor` and `audit verify`."""
    with Memory.open(store, write=False) as memory:
        held = {record.id: record.content for record in memory.list()}
    lost = [id for id, content in outcome.kept.items() if held.get(id) != content]
    if lost:
        outcome.faults.append(f"{len(lost)} of {len(outcome.kept)} were lost")
    if len(held) != len(outcome.kept) and not outcome.errors:
        outcome.faults.append(f"{len(held)} memories are stored, {len(outcome.kept)} were returned")
    for check in (["doctor"], ["audit", "verify"]):
        command = [sys.executable, "-m", "memglot", "--store", str(store), *check]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            outcome.faults.append(f"{' '.join(check)}: {done.stdout}{done.stderr}")
    return outcome


def table(kind: str, outcome: Outcome) -> str:
    """Return the outcome as a table."""
    calls = sum(len(values) for values in outcome.taken.values())
    rows = [
        f"| {CLIENTS} clients over {kind} | calls | per second | p50, ms | p95, ms | longest, ms |",
        "|---" * 6 + "|",
    ]
    for tool, values in outcome.taken.items():
        taken = times(values)
        rows.append(
            f"| {tool} | {len(values):,} | {len(values) / outcome.seconds:.0f} | {taken.p50:.1f} | {taken.p95:.1f} |"
            f" {max(values):.0f} |"
        )
    least, most = min(outcome.by_client.values()), max(outcome.by_client.values())
    rows.append(
        f"\n{calls:,} calls in {outcome.seconds:.0f} s, {least:,} to {most:,} by a client; "
        f"{len(outcome.kept):,} memories; {sum(outcome.errors.values())} errors; {len(outcome.faults)} faults."
    )
    rows += [f"- {count} times: {error}" for error, count in outcome.errors.most_common(5)]
    return "\n".join([*rows, *outcome.faults, ""])
