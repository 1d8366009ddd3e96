"""One `Memory` in several threads, and after `close()`."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memglot import MemglotError, Memory

PLACES = [":memory:", "store.db"]
ID = "0194a000-0001-7000-8000-000000000001"


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store in memory, or in a file."""
    return ":memory:" if request.param == ":memory:" else str(tmp_path / request.param)


def test_coroutines_share_one_object(place: str) -> None:
    async def main(memory: Memory) -> None:
        added = await asyncio.gather(*(asyncio.to_thread(memory.add, f"apple number {n}") for n in range(8)))
        found = await asyncio.gather(*(asyncio.to_thread(memory.search, "apple") for _ in range(8)))
        assert len({record.id for record in added}) == 8
        assert [results.total for results in found] == [8] * 8

    with Memory.open(place) as memory:
        asyncio.run(main(memory))


def test_many_threads_read_and_write(place: str) -> None:
    start = threading.Barrier(8)

    def work(number: int) -> int:
        start.wait()
        for turn in range(15):
            record = memory.add(f"pear {number} {turn}", tree=f"t{number}")
            memory.update(record.id, content=f"fig {number} {turn}")
            assert memory.get(record.id).content == f"fig {number} {turn}"
            assert len(list(memory.list(tree=f"t{number}"))) == turn + 1
            assert memory.search("fig", tree=f"t{number}", mode="fulltext").total == turn + 1
        return memory.count(tree=f"t{number}")

    with Memory.open(place) as memory:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == [15] * 8
        assert memory.count() == 120
        assert memory.doctor().ok


def test_an_iteration_goes_on_while_others_write(place: str) -> None:
    with Memory.open(place) as memory:
        memory.import_from(b"".join(b'{"content":"%d"}\n' % n for n in range(3_000)), format="ndjson")
        records = memory.list()
        seen = [next(records).content]
        with ThreadPoolExecutor(4) as pool:
            for _ in pool.map(lambda n: memory.add(f"new {n}"), range(20)):
                seen.append(next(records).content)
        seen += [record.content for record in records]
        assert [content for content in seen if not content.startswith("new")] == [str(n) for n in range(3_000)]


def _arguments(method: Callable[..., Any]) -> list[Any]:
    """Return a value for each positional argument without a default."""
    known = {"content": "text", "inputs": b"{}", "name": "n", "type": "person", "names": "user", "ids": ID}
    wanted = []
    for parameter in list(inspect.signature(method).parameters.values()):
        if parameter.kind is parameter.VAR_POSITIONAL:
            wanted.append(known.get(parameter.name, ID))
        elif parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            wanted.append(known.get(parameter.name, ID))
    return wanted


METHODS = [
    name
    for name, method in inspect.getmembers(Memory, inspect.isfunction)
    if not name.startswith("_") and name not in {"close", "remember_export"}
]


@pytest.mark.parametrize("name", METHODS)
def test_after_close_every_method_raises_a_clear_error(name: str, place: str) -> None:
    memory = Memory.open(place)
    memory.add("text", id=ID)
    memory.close()
    memory.close()
    method = getattr(memory, name)
    with pytest.raises(MemglotError, match="is closed") as raised:
        result = method(*_arguments(method))
        if hasattr(result, "__next__"):
            next(result)
    assert raised.value.hint


def test_an_iteration_ends_with_a_clear_error_when_the_store_is_closed(place: str) -> None:
    memory = Memory.open(place)
    memory.import_from(b"".join(b'{"content":"%d"}\n' % n for n in range(3_000)), format="ndjson")
    records = memory.list()
    next(records)
    memory.close()
    with pytest.raises(MemglotError, match="is closed"):
        list(records)


def test_threads_that_load_the_embedder_may_end() -> None:
    """The tokenizer is loaded by the first thread that needs it; others use it after that thread has ended."""
    code = """
from concurrent.futures import ThreadPoolExecutor
from memglot import Memory
for _ in range(5):
    with Memory.open(":memory:") as memory, ThreadPoolExecutor(8) as pool:
        list(pool.map(memory.add, [f"apple number {number}" for number in range(8)]))
        assert {len(found) for found in pool.map(memory.search, ["apple"] * 8)} == {8}
"""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
