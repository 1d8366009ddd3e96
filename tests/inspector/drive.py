"""npm's MCP Inspector drives every tool of the server, over both transports and both eras of the protocol.

`make test-clients` installs the Inspector and runs this; `make test` does not collect it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cases import ABSENT, CASES, FIRST, ID, SECOND, THIRD, TOOLS, Case, holds

from inspector import DONE, NO_TOKEN, TOOL_ERROR, Inspector, over_http, over_stdio
from memglot import Memory
from repo_projects import feature, new_project, saved

WAYS = [(transport, era) for transport in ("stdio", "http") for era in ("legacy", "modern")]
HTTP = [way for way in WAYS if way[0] == "http"]
APART = [("stdio", "legacy"), ("http", "modern")]


@dataclass(frozen=True)
class World:
    """A store with two memories, a root with files and a project, and an Inspector connected to their server."""

    root: Path
    store: Path
    inspector: Inspector


@pytest.fixture(scope="session")
def optional(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The optional arguments of each tool."""
    folder = tmp_path_factory.mktemp("listed")
    answer = over_stdio(folder, folder / "store.db", folder, "legacy").ask("tools/list")
    assert answer.code == DONE, answer.told
    schemas = {tool["name"]: tool["inputSchema"] for tool in answer.result["tools"]}
    return {
        name: [one for one in schema["properties"] if one not in schema.get("required", ())]
        for name, schema in schemas.items()
    }


@pytest.fixture(params=WAYS, ids="-".join)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A separate world for each test and transport."""
    root, store, home = tmp_path / "root", tmp_path / "store.db", tmp_path / "home"
    home.mkdir()
    fill_root(root)
    fill_store(store)
    transport, era = request.param
    if transport == "stdio":
        yield World(root, store, over_stdio(home, store, root, era))
    else:
        with over_http(home, store, root, era) as inspector:
            yield World(root, store, inspector)


def fill_store(path: Path) -> None:
    """Add the memories that the cases use."""
    with Memory.open(path) as memory:
        memory.add("The API speaks JSON.", id=FIRST, tree="work.api", meta={"team": "core"})
        memory.add("Tea is in the left cupboard.", id=SECOND, tree="home")


def fill_root(root: Path) -> None:
    """Create the files that the cases use."""
    notes = root / "notes" / "deeper"
    notes.mkdir(parents=True)
    (notes / "one.json").write_text(json.dumps([{"id": THIRD, "content": "Read from a file."}]), encoding="utf-8")
    (notes.parent / "two.md").write_text(f"---\nid: {FIRST}\n---\n\nThe API speaks JSON.\n", encoding="utf-8")
    saved(new_project(root, "acme"), nodes=[{"id": "feature.retries", **feature("Retries", "Calls are tried again.")}])
    with Memory.open(":memory:") as other:
        other.add("From another machine.", id=THIRD)
        other.sync_export(root / "memories.json")


@pytest.mark.parametrize("case", CASES, ids=[f"{case.tool}-{number}" for number, case in enumerate(CASES)])
def test_every_tool_returns_and_stores_what_it_should(world: World, optional: dict[str, list[str]], case: Case) -> None:
    given = json.loads(json.dumps(case.arguments).replace("ROOT", str(world.root)))
    answer = world.inspector.call(case.tool, dict.fromkeys(optional[case.tool]) | given)
    assert holds(case.gives, answer.structured), answer.told
    with Memory.open(world.store, write=False) as memory:
        kept = {record.id: msgspec.to_builtins(record) for record in memory.list()}
    for id, wanted in case.stored.items():
        assert holds(wanted, kept.get(id)), kept
    for path in case.written:
        assert (world.root / path).exists()


def test_the_list_has_every_tool_with_its_schemas(world: World) -> None:
    answer = world.inspector.ask("tools/list", "--strict")  # Fails if a client cannot read a schema.
    tools = answer.result["tools"]
    assert sorted(tool["name"] for tool in tools) == TOOLS, answer.told
    for tool in tools:
        assert tool["description"] and tool["annotations"], tool
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
        assert all("description" in one for one in tool["inputSchema"]["properties"].values()), tool["name"]
    assert answer.code == DONE, answer.told


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("me_memory_get", {"id": ABSENT}),
        ("me_memory_get", {"id": 12}),
        ("me_memory_get", {"id": FIRST, "colour": "red"}),
        ("me_memory_get", {}),
        ("me_memory_import", {"path": "notes", "content": "[]", "format": "json"}),
        ("me_memory_import", {"path": "../outside.json"}),
        ("me_memory_export", {"format": "md"}),
    ],
    ids=["absent", "type", "unknown", "missing", "both", "outside", "inline"],
)
@pytest.mark.parametrize("world", APART, ids="-".join, indirect=True)
def test_bad_input_is_a_clear_error(world: World, tool: str, arguments: dict[str, Any]) -> None:
    answer = world.inspector.call(tool, arguments)
    assert (answer.code, answer.error.get("code")) == (TOOL_ERROR, "tool_is_error"), answer.told
    assert answer.result["isError"] is True
    assert answer.text.strip() and "Traceback" not in answer.text


@pytest.mark.parametrize("headers", [{"Authorization": "Bearer wrong"}, {"X-Nothing": "at all"}], ids=["wrong", "none"])
@pytest.mark.parametrize("world", HTTP, ids="-".join, indirect=True)
def test_requests_without_the_token_are_rejected(world: World, headers: dict[str, str]) -> None:
    answer = replace(world.inspector, headers=headers).ask("tools/list")
    assert (answer.code, answer.error.get("code")) == (NO_TOKEN, "auth_required"), answer.told
    assert not answer.result


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": True}),
        ({"a": 1}, [1]),
        ([1], [1, 2]),
        ([], None),
        (None, {}),
        (ID, "0194a000"),
        (int, "1"),
    ],
    ids=str,
)
def test_holds_rejects_different_values(wanted: Any, found: Any) -> None:
    assert not holds(wanted, found)


def test_the_lock_names_no_registry() -> None:
    packages = json.loads((Path(__file__).parent / "package-lock.json").read_bytes())["packages"]
    assert all("integrity" in package and "resolved" not in package for name, package in packages.items() if name)
