"""Many agents and command lines on one store: writers queue, readers never wait, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from mcp_agent import PATIENCE, Agent, agent, command, listening, over_http
from memglot import MemglotError, Memory, restore
from memglot.mcp import store_pool
from memglot.mcp.config import ServerConfig
from memglot.mcp.server import MemglotServer
from memglot.mcp.store_pool import StorePool
from memglot.search import semantic
from memglot.store.sqlite import connection

ROUNDS = 5


def memglot(store: Path, *arguments: str) -> str:
    """Run the command line, which must succeed."""
    command = [sys.executable, "-m", "memglot", "--store", str(store), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def locked(store: Path) -> Iterator[Callable[[], None]]:
    """Hold a write transaction that changes every memory, and roll it back at the end."""
    db = apsw.Connection(str(store))
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE records SET content = 'never said', kind = 'never'")

    def give_up() -> None:
        if db.in_transaction:
            db.execute("ROLLBACK")

    try:
        yield give_up
    finally:
        give_up()
        db.close()


def work(one: Agent, name: str) -> dict[str, str]:
    """Create, update, get and search memories as an agent; return the expected content by id."""
    kept: dict[str, str] = {}
    for number in range(ROUNDS):
        word = f"{name}x{number}"
        made = one.call("me_memory_create", content=f"draft {word}", tree=name)
        found = one.call("me_memory_search", fulltext=word)
        assert [hit["id"] for hit in found["results"]] == [made["id"]]
        one.call("me_memory_update", id=made["id"], content=f"final {word}")
        assert one.call("me_memory_get", id=made["id"])["content"] == f"final {word}"
        kept[made["id"]] = f"final {word}"
    return kept


def type_in(store: Path, name: str) -> dict[str, str]:
    """Use the command line at the same time."""
    kept = {}
    for number in range(2):
        kept[memglot(store, "add", f"typed {name}x{number}").split()[0]] = f"typed {name}x{number}"
        memglot(store, "search", f"{name}x{number}")
    return kept


def check(store: Path, everything: list[Future[dict[str, str]]]) -> None:
    """Check that the store has exactly the expected memories, and that it and its audit chain are intact."""
    kept: dict[str, str] = {}
    for done in everything:
        kept |= done.result(PATIENCE)
    with Memory.open(store, write=False) as memory:
        assert {record.id: record.content for record in memory.list()} == kept
        assert not memory.notes
    memglot(store, "doctor")
    memglot(store, "audit", "verify")


def test_servers_and_command_lines_share_a_store(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with ExitStack() as stack:
        # None of them has a store yet: they also make it at once.
        agents = [stack.enter_context(agent(command(store, cwd=tmp_path), "legacy")) for _ in range(3)]
        pool = stack.enter_context(ThreadPoolExecutor())
        done = [pool.submit(work, one, f"agent{number}") for number, one in enumerate(agents)]
        done.append(pool.submit(type_in, store, "person"))
        check(store, done)


def test_several_servers_can_create_a_store_at_once(tmp_path: Path) -> None:
    for number in range(20):
        start = threading.Barrier(6)

        def make(store: Path = tmp_path / f"{number}.db", start: threading.Barrier = start) -> dict[str, str]:
            start.wait(PATIENCE)
            with Memory.open(store) as memory:
                return {memory.add("made").id: "made"}

        with ThreadPoolExecutor(6) as pool:
            kept = [pool.submit(make) for _ in range(6)]
        with Memory.open(tmp_path / f"{number}.db", write=False) as memory:
            assert {record.id for record in memory.list()} == {id for one in kept for id in one.result()}


def test_clients_of_one_server_share_its_store(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with ExitStack() as stack:
        url, _ = stack.enter_context(listening(store, cwd=tmp_path))
        agents = [stack.enter_context(agent(over_http(url))) for _ in range(4)]
        pool = stack.enter_context(ThreadPoolExecutor())
        check(store, [pool.submit(work, one, f"agent{number}") for number, one in enumerate(agents)])


def read_all(one: Agent, id: str) -> None:
    """Call every reading tool; each would fail if it waited for a writer."""
    assert one.call("me_memory_search", query="coffee")["results"][0]["id"] == id
    assert one.call("me_memory_search", tree="tastes")["total"] == 1
    assert one.call("me_memory_get", id=id)["content"] == "Ann likes coffee"
    assert one.call("me_memory_tree")["total"] == 1
    exported = one.call("me_memory_export", format="json")
    assert exported["count"] == 1 and "Ann likes coffee" in exported["content"]


def test_writers_wait_for_each_other_and_readers_do_not(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with Memory.open(store) as memory:
        id = memory.add("Ann likes coffee", tree="tastes").id
    with agent(command(store, cwd=tmp_path)) as one, ThreadPoolExecutor() as pool:
        with locked(store):
            read_all(one, id)  # by a store that is opened now
        one.call("me_memory_update", id=id, tags=["drink"])
        with locked(store) as give_up:
            read_all(one, id)  # by one that is open
            coming = pool.submit(one.call, "me_memory_create", content="Bo likes tea")
            read_all(one, id)
            assert not coming.done()
            give_up()
            made = coming.result(PATIENCE)
        assert one.call("me_memory_get", id=made["id"])["content"] == "Bo likes tea"
        assert one.call("me_memory_search", query="tea")["results"][0]["id"] == made["id"]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[tuple[Agent, Path]]:
    """An agent of a server in this process, and its store with one memory."""
    store = tmp_path / "store.db"
    with Memory.open(store) as memory:
        memory.add("Ann likes coffee", tree="tastes")
    with agent(MemglotServer(ServerConfig(store=str(store), roots=(tmp_path,))).server()) as one:
        yield one, store


def test_a_writer_that_waits_too_long_gets_an_error(here: tuple[Agent, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "WRITER_SECONDS", 0.05)
    one, store = here
    (found,) = one.call("me_memory_search")["results"]
    calls: dict[str, dict[str, Any]] = {
        "me_memory_create": {"content": "Bo likes tea"},
        "me_memory_update": {"id": found["id"], "content": "Ann likes tea"},
        "me_memory_delete": {"id": found["id"]},
        "me_memory_mv": {"source": "tastes", "destination": "drinks", "dry_run": False},
        "me_memory_delete_tree": {"tree": "tastes", "dry_run": False},
        "me_memory_import": {"content": '{"content": "Bo likes tea"}', "format": "ndjson"},
    }
    with locked(store):
        for tool, arguments in calls.items():
            assert "is locked: another process has been writing" in one.call_error(tool, **arguments), tool
        assert one.call("me_memory_search")["results"] == [found]
    assert one.call("me_memory_search")["results"] == [found]
    one.call("me_memory_create", content="Bo likes tea")
    assert one.call("me_memory_tree")["total"] == 2


def test_a_restored_store_is_used(here: tuple[Agent, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_pool, "IDLE_SECONDS", 0.05)
    one, store = here
    backup = store.with_name("backup.db")
    with Memory.open(store, write=False) as memory:
        memory.backup(backup)
    one.call("me_memory_create", content="Bo likes tea")
    assert one.call("me_memory_tree")["total"] == 2
    # The server lets go of the store while the restore waits.
    restore(backup, str(store), force=True)
    assert one.call("me_memory_tree")["total"] == 1
    assert one.call("me_memory_search", fulltext="tea")["total"] == 0
    one.call("me_memory_create", content="Chi likes milk")
    with Memory.open(store, write=False) as memory:
        assert [record.content for record in memory.list()] == ["Ann likes coffee", "Chi likes milk"]


def wait_for_timers() -> None:
    """Wait for all timers."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(PATIENCE)


@pytest.mark.parametrize("write", [True, False])
def test_an_idle_store_is_closed(store_path: str, write: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_pool, "IDLE_SECONDS", 0.0)
    pool = StorePool(ServerConfig(store=store_path))
    for _ in range(2):
        with pool.acquire(write=write) as memory:
            assert memory.count() == 0
            kept = memory
        wait_for_timers()
        with pytest.raises(MemglotError, match="closed"):
            kept.count()
    pool.close()


def test_an_in_memory_store_is_never_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_pool, "IDLE_SECONDS", 0.0)
    pool = StorePool(ServerConfig(store=":memory:"))
    with pool.acquire(write=True) as memory:
        memory.add("Ann likes coffee")
    wait_for_timers()
    with pool.acquire(write=False) as memory:
        assert memory.count() == 1
    pool.close()


def test_others_write_between_the_batches_of_embed(store_path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "BATCH_SIZE", 2)
    monkeypatch.setattr(connection, "WRITER_SECONDS", 0.05)
    lines = b"\n".join(b'{"content": "note %d"}' % number for number in range(5))
    with Memory.open(store_path) as memory, Memory.open(store_path) as other:
        memory.import_from(lines, format="ndjson", embed=False)
        missing: list[int] = []

        def write_elsewhere() -> None:
            # This would be refused, were the lock held.
            other.update(next(other.list()).id, tags=[f"seen {len(missing)} times"])
            missing.append(memory.store.vectors.state().missing)

        monkeypatch.setattr(memory.store, "give_way", write_elsewhere)
        assert memory.embed().total == 5
        assert missing == [3, 1, 0] and next(memory.list()).tags == ["seen 2 times"]
