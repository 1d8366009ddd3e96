"""What a second hostile reading of the server found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from mcp_agent import PATIENCE, Agent, reached
from memglot.mcp import stdio


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
