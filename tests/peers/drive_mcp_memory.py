"""mcp-memory-service and memglot exchange the service's JSON export, for several versions of the service.

`make test-peers` installs the versions and runs this; `make test` does not collect it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loops import HERE, INSTALLED, REWRITTEN, Loop, LoopTests, Peer, View, Visible, run

from memglot import Memory

VERSIONS = ["8.24.0", "9.0.0", "10.59.0", "12.4.0"]
VERSIONED = ["10.59.0", "12.4.0"]  # Releases that can replace the text of a memory.
SETTINGS = {
    "HOSTNAME": "workshop",
    "MCP_MEMORY_ALLOW_HASH_EMBEDDINGS": "1",  # No model can be downloaded here.
    "MCP_OAUTH_ENABLED": "false",
    "MCP_SEMANTIC_DEDUP_ENABLED": "false",  # Before 12.1.0, imports drop texts similar to another of the same day.
}


class Service(Peer):
    """mcp-memory-service. An import needs a new database, since the service never updates a memory that it has."""

    format = "mcp-memory-v5"
    kinds = ("decision", "learning", "pattern")
    can = frozenset({"retag", "retype", "forget"})
    reports_deletions = False

    def __init__(self, folder: Path, version: str) -> None:
        folder.mkdir(exist_ok=True)
        self.database, self.version = folder / "memory.db", version
        super().__init__(folder)

    def operate(self, *operations: tuple[str, dict[str, Any]]) -> Any:
        """Run operations and return their results."""
        python, package = INSTALLED / "python/bin/python", INSTALLED / "mcp-memory-service" / self.version
        home = {"HOME": str(self.folder), "MCP_MEMORY_SQLITE_PATH": str(self.database)}
        script = [python, HERE / "mcp_memory_operations.py", package, self.database]
        return run(script, operations, environment=SETTINGS | home)

    def give(self) -> Path:
        path = self.new_folder() / "export.json"
        self.operate(("export", {"path": str(path)}))
        return path

    def target(self) -> Path:
        return self.new_folder() / "export.json"

    def take(self, path: Path) -> None:
        self.database = self.new_folder() / "memory.db"
        (result,) = self.operate(("load", {"path": str(path)}))
        wanted = len(json.loads(path.read_text(encoding="utf-8"))["memories"])
        assert (result["imported"], result["errors"]) == (wanted, 0)

    def rows(self) -> list[dict[str, Any]]:
        """Return the memories of an export."""
        found: list[dict[str, Any]] = json.loads(self.give().read_text(encoding="utf-8"))["memories"]
        return found

    def view(self) -> View:
        rows = self.rows()
        found = {row["content"]: Visible(tuple(row["tags"]), row["memory_type"]) for row in rows}
        assert len(found) == len(rows)
        return found

    def hash(self, content: str) -> str:
        """Return the hash that the service knows a memory by."""
        (found,) = (row["content_hash"] for row in self.rows() if row["content"] == content)
        return str(found)

    def remember(self, *contents: str, tags: list[str], kind: str) -> None:
        options = {"tags": tags, "memory_type": kind, "metadata": {"origin": "chat"}}
        self.operate(*(("store", {"content": content, **options}) for content in contents))

    def retag(self, content: str, tags: list[str]) -> None:
        self.operate(("update", {"content_hash": self.hash(content), "tags": tags}))

    def retype(self, content: str, kind: str) -> None:
        self.operate(("update", {"content_hash": self.hash(content), "memory_type": kind}))

    def forget(self, content: str) -> None:
        self.operate(("delete", {"content_hash": self.hash(content)}))

    def use(self) -> None:
        assert self.operate(("recall", {"query": "office"}))

    def adds_tag(self, tag: str) -> bool:
        return tag.startswith("source:")

    def without_bookkeeping(self, value: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(json.dumps(value))
        for place in ("meta", "extra"):
            _remove(found.get(place), "import_info")
        found.get("clocks", {}).pop("meta.import_info", None)
        if not found.get("meta"):
            # The clock of an object with one key is that of the object.
            found.get("clocks", {}).pop("meta", None)
        return found


def _remove(value: Any, key: str) -> None:
    """Remove a key from an object and from the objects in it."""
    if isinstance(value, dict):
        value.pop(key, None)
        for content in value.values():
            _remove(content, key)


@pytest.fixture(params=VERSIONS)
def loop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Loop]:
    with Memory.open(tmp_path / "store.db") as memory:
        yield Loop(Service(tmp_path / "peer", request.param), memory)


class TestLoop(LoopTests):
    """mcp-memory-service in the loop."""


@pytest.mark.parametrize("version", VERSIONED)
def test_a_new_version_of_a_memory_arrives(version: str, tmp_path: Path) -> None:
    """The service stores a new text as another memory with the metadata of the old one, our carry slot included."""
    service = Service(tmp_path / "peer", version)
    with Memory.open(tmp_path / "store.db") as memory:
        loop = Loop(service, memory)
        loop.receive()
        loop.send()
        done = service.operate(
            ("rewrite", {"content_hash": service.hash(REWRITTEN), "content": "The build takes five minutes."})
        )
        assert done[0][0], done
        loop.receive()
        assert "The build takes five minutes." in {record.content for record in memory.list()}
        loop.send()
        assert "The build takes five minutes." in service.view()
        loop.assert_fixed_point()


@pytest.mark.parametrize("version", VERSIONS)
def test_equal_texts_are_all_kept(version: str, tmp_path: Path) -> None:
    """The service keeps one memory per hash, so our export must not give equal texts the same one."""
    service = Service(tmp_path / "peer", version)
    with Memory.open(tmp_path / "store.db") as memory:
        for scope in ("user", "team:1", "team:2"):
            memory.add("The key is under the mat.", scope=scope, kind="decision")
        memory.add("the key is under the MAT.", kind="decision")
        before = len(list(memory.list()))
        path = service.target()
        memory.export(path, format="mcp-memory-v5")
        service.take(path)
        assert len(service.rows()) == before
        memory.import_from(service.give(), format="mcp-memory-v5")
        assert len(list(memory.list())) == before
        assert not memory.conflicts()
