"""The official MCP memory server and memglot exchange the server's file.

`make test-peers` installs the server and runs this; `make test` does not collect it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loops import INSTALLED, PATIENCE, Loop, LoopTests, Peer, View, Visible

from memglot import Memory

PROGRAM = INSTALLED / "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
OWNER = "Office"


class Server(Peer):
    """The server, which rewrites its file and drops the keys it does not know.

    An observation is a memory, and its text is its identity: the server cannot edit one, only remove and add.
    """

    format = "mcp-graph"
    kinds = ("fact", "fact", "fact")
    can = frozenset({"forget"})
    reports_deletions = False
    has_tags = False

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.file = folder / "memory.jsonl"
        entity = {"name": OWNER, "entityType": "place", "observations": []}
        self.operate(("create_entities", {"entities": [entity]}), folder=folder)
        super().__init__(folder)

    def operate(self, *calls: tuple[str, dict[str, Any]], folder: Path | None = None) -> list[dict[str, Any]]:
        """Call tools of the server one after the other, each in its turn, and return their structured results."""
        process = subprocess.Popen(
            [shutil.which("node") or "node", PROGRAM],
            env={"PATH": os.environ["PATH"], "HOME": str(folder or self.folder), "MEMORY_FILE_PATH": str(self.file)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            self._ask(process, 0, "initialize", hello)
            self._write(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            results = []
            for number, (name, arguments) in enumerate(calls, 1):
                result = self._ask(process, number, "tools/call", {"name": name, "arguments": arguments})
                assert not result.get("isError"), result
                results.append(result["structuredContent"])
            process.stdin.close()  # type: ignore[union-attr]  # The server ends with its input.
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()  # type: ignore[union-attr]
        return results

    def _write(self, process: subprocess.Popen[str], message: dict[str, Any]) -> None:
        assert process.stdin
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()

    def _ask(self, process: subprocess.Popen[str], number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its result; messages that answer nothing are skipped."""
        self._write(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        assert process.stdout
        for line in process.stdout:
            message = json.loads(line)
            if message.get("id") == number:
                found: dict[str, Any] = message["result"]
                return found
        raise AssertionError("the server ended without an answer")

    def give(self) -> Path:
        return self.file

    def target(self) -> Path:
        return self.new_folder() / "memory.jsonl"

    def take(self, path: Path) -> None:
        # Any edit makes the server write the whole file again, without our keys.
        self.file = path
        entity = {"name": "Visitor", "entityType": "person", "observations": []}
        self.operate(("create_entities", {"entities": [entity]}))
        self.operate(("delete_entities", {"entityNames": ["Visitor"]}))

    def graph(self) -> dict[str, Any]:
        """Return the graph as the server reads it, in the order of names."""
        (found,) = self.operate(("read_graph", {}))
        relations = sorted(found["relations"], key=lambda one: (one["from"], one["to"], one["relationType"]))
        return {"entities": sorted(found["entities"], key=lambda one: str(one["name"])), "relations": relations}

    def view(self) -> View:
        found = [text for entity in self.graph()["entities"] for text in entity["observations"]]
        assert len(found) == len(set(found)), found
        return {text: Visible((), "fact") for text in found}

    def owner(self, content: str) -> str:
        """Return the entity of an observation."""
        (found,) = (one["name"] for one in self.graph()["entities"] if content in one["observations"])
        return str(found)

    def remember(self, *contents: str, tags: list[str], kind: str) -> None:
        self.operate(("add_observations", {"observations": [{"entityName": OWNER, "contents": list(contents)}]}))

    def forget(self, content: str) -> None:
        gone = {"entityName": self.owner(content), "observations": [content]}
        self.operate(("delete_observations", {"deletions": [gone]}))

    def use(self) -> None:
        self.operate(("search_nodes", {"query": "office"}), ("open_nodes", {"names": [OWNER]}))


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    with Memory.open(tmp_path / "store.db") as memory:
        yield Loop(Server(tmp_path / "peer"), memory)


class TestLoop(LoopTests):
    """The MCP memory server in the loop."""


def test_entities_and_relations_come_back(loop: Loop) -> None:
    server = loop.peer
    assert isinstance(server, Server)
    server.operate(
        ("create_entities", {"entities": [{"name": "Ada", "entityType": "person", "observations": ["Likes tea."]}]}),
        ("create_relations", {"relations": [{"from": "Ada", "to": OWNER, "relationType": "works in"}]}),
    )
    before = server.graph()
    loop.receive()
    loop.send()
    assert server.graph() == before
    server.operate(("create_relations", {"relations": [{"from": OWNER, "to": "Ada", "relationType": "hosts"}]}))
    after = server.graph()
    loop.receive()
    loop.send()
    assert server.graph() == after
    loop.assert_fixed_point()
