"""Compare the MCP server with a bare server of the SDK and with calls in process, in the same run.

Run it with `make bench-mcp`. The stdio client is `thin_client.py`, whose own work takes little time; the HTTP clients
are those of the SDK, whose work is part of the figures.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import concurrent_clients
import search_speed
from core import Cost
from search_modes import Find, Times, timed, times
from thin_client import ThinClient

from memglot import Memory

BARE = Path(__file__).parent / "bare_server.py"
PARTS = ("start", "create", "search", "crowd")
REPEAT = 5
CREATES = 2_000
MEMORIES = 100_000


def main() -> None:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true", help="run only this part, and others that are given")
    parser.add_argument("--seconds", type=float, default=60, help="duration of the part with concurrent clients")
    options = parser.parse_args()
    parts = [part for part in PARTS if getattr(options, part)] or PARTS
    # Users have compiled modules, so ignore a developer's setting that prevents them.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "start" in parts:
            start(folder)
        if "create" in parts:
            create(folder)
        if "search" in parts:
            search(folder)
        if "crowd" in parts:
            for kind, run in {"stdio": concurrent_clients.over_stdio, "http": concurrent_clients.over_http}.items():
                print(concurrent_clients.table(kind, run(folder / f"{kind}.db", options.seconds)), flush=True)


def served(store: Path) -> ThinClient:
    """Return the command that starts our server on a store."""
    return ThinClient(sys.executable, "-m", "memglot", "--store", store, "mcp")


def bare() -> ThinClient:
    """Return the command that starts the bare server."""
    return ThinClient(sys.executable, BARE)


def start(folder: Path) -> None:
    """Measure the CPU time of start, handshake, list of tools, one call and exit; best of several alternating runs."""

    def answered(server: ThinClient, tool: str, **arguments: Any) -> Cost:
        server.begin()
        server.ask("tools/list")
        server.call(tool, **arguments)
        return server.end()

    calls: dict[str, Callable[[], Cost]] = {
        "bare echo": lambda: answered(bare(), "echo", content="hello"),
        "me_memory_create": lambda: answered(served(folder / "start.db"), "me_memory_create", content="hello"),
        "me_memory_search": lambda: answered(served(folder / "start.db"), "me_memory_search", query="hello"),
        "me_memory_tree": lambda: answered(served(folder / "start.db"), "me_memory_tree"),
    }
    for call in calls.values():
        call()
    costs = [{name: call() for name, call in calls.items()} for _ in range(REPEAT)]
    print(
        "| start, tools/list, one call | best, CPU s | worst, CPU s | times bare | peak, MiB |\n|---|---|---|---|---|"
    )
    least = min(cost["bare echo"].cpu for cost in costs)
    for name in calls:
        taken = [cost[name].cpu for cost in costs]
        peak = max(cost[name].peak for cost in costs)
        print(f"| {name} | {min(taken):.3f} | {max(taken):.3f} | {min(taken) / least:.2f} | {peak:.0f} |", flush=True)
    print()


def create(folder: Path) -> None:
    """Create many memories in sequence, alternating between stdio, calls in process and the bare tool."""
    texts = random.Random(2)
    words = search_speed.vocabulary()[:5_000]
    taken: dict[str, list[float]] = {"bare echo": [], "Memory.add": [], "me_memory_create": []}
    plain, ours = bare(), served(folder / "create.db")
    with Memory.open(folder / "add.db") as memory:
        finders: dict[str, Callable[[str], Any]] = {
            "bare echo": lambda text: plain.call("echo", content=text),
            "Memory.add": lambda text: memory.add(text),
            "me_memory_create": lambda text: ours.call("me_memory_create", content=text),
        }
        plain.begin()
        ours.begin()
        for call in finders.values():
            call("the first one, which loads what is loaded on use")
        for _ in range(CREATES):
            text = " ".join(texts.choices(words, k=texts.randint(10, 40)))
            for name, call in finders.items():
                began = time.perf_counter()
                call(text)
                taken[name].append((time.perf_counter() - began) * 1000)
    used = {"bare echo": plain.end().cpu, "me_memory_create": ours.end().cpu}
    print(f"| {CREATES:,} calls | mean, ms | p50, ms | p95, ms | longest, ms | CPU of the server, s |")
    print("|---|---|---|---|---|---|")
    for name, values in taken.items():
        cpu = f"{used[name]:.2f}" if name in used else "-"
        figures = times(values)
        print(
            f"| {name} | {figures.mean:.2f} | {figures.p50:.2f} | {figures.p95:.2f} | {max(values):.1f} | {cpu} |",
            flush=True,
        )
    print()


def search(folder: Path) -> None:
    """Run the same queries on a large store, alternating between stdio and calls in process."""
    store = filled(folder)
    plain, ours = bare(), served(store)
    plain.begin()
    ours.begin()
    print(f"| search of {MEMORIES:,} | p50, ms | p95, ms | mean, ms |\n|---|---|---|---|")
    with Memory.open(store, write=False) as memory:
        for mode, key in {"hybrid": "query", "fulltext": "fulltext"}.items():
            finders: dict[str, Find] = {
                "Memory.search": _inside(memory, mode),
                "me_memory_search": _over(ours, key),
                "bare echo": lambda query, _: [plain.call("echo", content=query)["content"]],
            }
            taken: dict[str, list[float]] = {name: [] for name in finders}
            for query in search_speed.queries(6)[:20]:
                for find in finders.values():
                    find(query, search_speed.LIMIT)
            for query in search_speed.queries():
                found = {name: timed(find, query, search_speed.LIMIT, taken[name]) for name, find in finders.items()}
                assert found["Memory.search"] == found["me_memory_search"], query
            above = [
                over - inside for over, inside in zip(taken["me_memory_search"], taken["Memory.search"], strict=True)
            ]
            rows = {name: times(values) for name, values in taken.items()} | {"above the engine": times(above)}
            for name, figures in rows.items():
                print(_row(f"{mode}: {name}", figures), flush=True)
    plain.end()
    print(f"\nThe server used {ours.end().cpu:.1f} s of CPU.\n")


def _inside(memory: Memory, mode: str) -> Find:
    return lambda query, limit: [hit.id for hit in memory.search(query, limit=limit, mode=mode)]


def _over(server: ThinClient, key: str) -> Find:
    def find(query: str, limit: int) -> list[str]:
        return [hit["id"] for hit in server.call("me_memory_search", limit=limit, **{key: query})["results"]]

    return find


def filled(folder: Path) -> Path:
    """Make a store of many memories with vectors."""
    store = folder / "filled.db"
    with Memory.open(store) as memory:
        memory.import_from(search_speed.file_of(MEMORIES), embed=False)
        memory.embed()
    return store


def _row(name: str, figures: Times) -> str:
    return f"| {name} | {figures.p50:.2f} | {figures.p95:.2f} | {figures.mean:.2f} |"


if __name__ == "__main__":
    main()
