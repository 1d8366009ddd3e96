"""What a second hostile reading of the server found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from mcp_agent import PATIENCE, Agent, reached, text_of
from memglot import Memory
from memglot.mcp import stdio

SECRET = "0194a000-0001-7000-8000-000000000001"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Agent]:
    with reached("here-auto", tmp_path / "store.db", cwd=tmp_path) as found:
        yield found


@pytest.mark.parametrize("last", ["answered", "cancelled"])
def test_a_server_waits_for_no_answer_that_was_given(monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    """Many clients count their requests from 0, and what is cancelled is never answered."""
    monkeypatch.setattr(stdio, "_GRACE", 10 * PATIENCE)
    request = types.JSONRPCRequest(jsonrpc="2.0", id=0, method="ping")
    cancel = types.JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params={"requestId": 0})

    async def talk() -> None:
        to_client, client = anyio.create_memory_object_stream[SessionMessage](9)
        from_client, incoming = anyio.create_memory_object_stream[SessionMessage](9)
        asked, questions = anyio.create_memory_object_stream[SessionMessage | Exception](9)
        answers, given = anyio.create_memory_object_stream[SessionMessage](9)
        pipes = stdio._Pipes(to_client)

        async def serve() -> None:
            async with questions, answers:
                async for _ in questions:
                    if last == "cancelled":
                        continue
                    await answers.send(SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=0, result={})))

        async with to_client, client, incoming, given:
            async with from_client:
                await from_client.send(SessionMessage(request))
                if last == "cancelled":
                    await from_client.send(SessionMessage(cancel))
            with anyio.fail_after(PATIENCE):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(pipes.ask, incoming, asked)
                    tasks.start_soon(pipes.give, given)
                    tasks.start_soon(serve)

    anyio.run(talk)


def test_a_folder_is_imported_without_the_store_that_lies_in_it(tmp_path: Path) -> None:
    """It was read as a file among others, and told how many memories are hidden."""
    with Memory.open(tmp_path / "store.db") as memory:
        memory.add("the salary", id=SECRET, scope="finance")
        memory.add("open")
        memory.mark_sensitive("finance")
    (tmp_path / "a.json").write_text('[{"content": "x"}]')
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "store.db.json").write_text('[{"content": "y"}]')
    with reached("here-auto", tmp_path / "store.db", cwd=tmp_path) as one:
        found = one.ask("me_memory_import", {"path": "."})
        assert found.structured_content is not None
        counts = {name: found.structured_content[name] for name in ("imported", "skipped", "failed", "errors")}
        assert counts == {"imported": 2, "skipped": 0, "failed": 0, "errors": []}
        assert "store.db-wal" not in text_of(found)


def test_a_folder_is_imported_without_what_memglot_keeps_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memglot.engine.own.data_folder", lambda: tmp_path / "data" / "memglot")
    clients = tmp_path / "data" / "memglot" / "clients"
    clients.mkdir(parents=True)
    (clients / "x.json").write_text('[{"content": "a server that was replaced, with its keys"}]')
    (tmp_path / "a.json").write_text('[{"content": "x"}]')
    with Memory.open(":memory:") as memory:
        assert memory.import_from(tmp_path).imported == 1
        assert memory.import_from(clients).imported == 1, "whoever names it means it"


def test_memories_of_closed_scopes_are_told_with_their_own_file(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store.db") as memory:
        memory.add("the salary", scope="finance")
        memory.mark_sensitive("finance")
    for name, scope in (("a", "finance"), ("b", "user"), ("c", "finance"), ("d", "user")):
        (tmp_path / "in").mkdir(exist_ok=True)
        with Memory.open(":memory:") as other:
            other.add(name, scope=scope)
            other.export(tmp_path / "in" / f"{name}.json")
    with Memory.open(tmp_path / "store.db", sensitive=False) as view:
        result = view.import_from(tmp_path / "in")
        assert [Path(fault.source).name for fault in result.errors] == ["a.json", "c.json"]
        assert (result.imported, result.failed) == (2, 2)


def test_an_update_takes_no_empty_words(here: Agent) -> None:
    here.gives("me_memory_create", id=SECRET, content="x", title="T", kind="decision", tree="a.b", meta={"k": 1})
    changed = here.gives("me_memory_update", id=SECRET, title="", kind="", tree="", meta={}, tags=[])
    assert (changed["title"], changed["kind"], changed["tree"], changed["meta"]) == (None, "decision", "", {})
    for status in ("", "deleted", "nonsense"):
        assert "`status`" in here.refuses("me_memory_update", id=SECRET, status=status)
    assert here.gives("me_memory_update", id=SECRET, status="stale")["status"] == "stale"
    assert here.gives("me_memory_search")["total"] == 1
