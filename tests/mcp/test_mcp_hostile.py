"""What a second hostile reading of the server found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import mcp_types as types
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage

from mcp_agent import PATIENCE, Agent, reached, text_of
from memglot import Memory
from memglot.errors import UsageError
from memglot.mcp import stdio
from memglot.mcp.results import MAX_LISTED, fit_lists
from memglot.mcp.roots import Roots
from memglot.settings import MAX_ANSWER_BYTES
from repo_projects import new_project

SECRET = "0194a000-0001-7000-8000-000000000001"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Agent]:
    with reached("here-auto", tmp_path / "store.db", cwd=tmp_path) as found:
        yield found


@pytest.mark.parametrize("last", ["answered", "cancelled"])
def test_a_server_waits_for_no_answer_that_was_given(monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    """Many clients count their requests from 0, and what is cancelled is never answered."""
    monkeypatch.setattr(stdio, "_GRACE_SECONDS", 10 * PATIENCE)
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
                    tasks.start_soon(pipes.forward_requests, incoming, asked)
                    tasks.start_soon(pipes.forward_answers, given)
                    tasks.start_soon(serve)

    anyio.run(talk)


def test_a_folder_is_imported_without_the_store_that_lies_in_it(tmp_path: Path) -> None:
    """It was read as a file among others, and data how many memories are hidden."""
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
    monkeypatch.setattr("memglot.store.own_files.data_folder", lambda: tmp_path / "data" / "memglot")
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


def test_what_was_done_is_told_however_much_there_is_to_tell(here: Agent, tmp_path: Path) -> None:
    """An import of many bad lines landed, and was data as an error; so was a change of a large memory."""
    count = MAX_LISTED + 2_000
    (tmp_path / "bad.ndjson").write_text('{"content": "good"}\n' + '{"content": ""}\n' * count)
    result = here.ask("me_memory_import", {"path": "bad.ndjson"})
    found = result.structured_content
    assert found is not None and not result.is_error
    assert (found["imported"], found["failed"], len(found["ids"])) == (1, count, 1)
    assert 1_000 < len(found["errors"]) < count and "the counts include everything" in text_of(result)
    assert [error["chunkIndex"] for error in found["errors"][:2]] == [1, 2]
    (tmp_path / "bad.ndjson").write_text('{"content": ""}\n' * count)
    assert here.refuses("me_memory_import", path="bad.ndjson").startswith(f"all {count:,} chunks failed")

    with Memory.open(tmp_path / "store.db") as memory:
        large = memory.add("l" * 2_000_000).id
    assert here.gives("me_memory_update", id=large, tags=["t"])["tags"] == ["t"]
    made = here.ask("me_memory_create", {"content": "m", "meta": {"k": "v" * 1_500_000}})
    assert not made.is_error and "this result leaves it out" in text_of(made)
    assert made.structured_content is not None
    with Memory.open(tmp_path / "store.db") as memory:
        assert len(memory.get(made.structured_content["id"]).meta["k"]) == 1_500_000


@given(st.dictionaries(st.sampled_from(["errors", "ids", "skippedIds"]), st.lists(st.integers(0, 1 << 20), max_size=9)))
def test_lists_fit_an_answer_and_lose_only_their_ends(sizes: dict[str, list[int]]) -> None:
    lists = {name: ["x" * size for size in inner] for name, inner in sizes.items()}
    found = fit_lists(lists)
    assert len(msgspec.json.encode(found)) < MAX_ANSWER_BYTES
    for name, inner in lists.items():
        assert found[name] == inner[: len(found[name])]
    if len(msgspec.json.encode(lists)) < MAX_ANSWER_BYTES // (2 * max(len(lists), 1)):
        assert found == lists


def test_the_store_by_another_name_is_still_the_store(tmp_path: Path) -> None:
    """As where the system does not tell capitals apart, or by a hard link."""
    (tmp_path / "own").mkdir()
    Memory.open(tmp_path / "own" / "store.db").close()
    os.link(tmp_path / "own" / "store.db", tmp_path / "alias.db")
    roots = Roots([tmp_path], [tmp_path / "own" / "store.db", tmp_path / "none"])
    with pytest.raises(UsageError, match="belongs to memglot itself"):
        roots.resolve("alias.db")
    for name in ("other.db", "own", "own/other.db", "nowhere/x.json"):
        assert roots.resolve(name) == Path(os.path.realpath(tmp_path)) / name


def test_names_of_formats_in_capitals_get_a_hint(here: Agent) -> None:
    for name in ("JSON", "Yaml", "MD"):
        assert f"did you mean `{name.lower()}`?" in here.refuses("me_memory_export", format=name)


def test_an_agent_is_not_told_which_scopes_are_sensitive(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "store.db") as memory:
        memory.add("the salary", id=SECRET, scope="finance")
        memory.mark_sensitive("finance")
    with reached("here-auto", tmp_path / "store.db", cwd=tmp_path) as one:
        said = one.refuses("memory_sync_export", path="m.json")
        assert "finance" not in said and "plaintext" not in said and "--passphrase-file" in said
        assert one.gives("memory_sync_export", path="m.json", scope="user")["count"] == 0
        assert "--allow-sensitive" in one.refuses("memory_sync_export", path="m.json", plaintext=True)


def test_what_no_answer_could_tell_is_refused_first_or_told_without(here: Agent, tmp_path: Path) -> None:
    for labels in ({"title": "t" * 1_200_000}, {"tags": ["t" * 1_200_000]}):
        assert "put long text in `content`" in here.refuses("me_memory_create", content="x", **labels)
    assert here.gives("me_memory_search")["total"] == 0
    new_project(tmp_path, "acme")
    nodes = [{"kind": "gotcha", "title": f"Large {number}", "body": "b " * 300_000} for number in range(2)]
    saved = here.gives("save_memory", task="t", nodes=nodes, project_root="acme")
    assert saved["data"]["memory_created"] == ["gotcha.large-0", "gotcha.large-1"]
    assert "patch" not in saved["data"] and "everything was saved" in saved["warnings"][-1]


def test_a_merge_can_be_tried_first(here: Agent, tmp_path: Path) -> None:
    """It failed for every server whose sensitive scopes are closed."""
    with Memory.open(":memory:") as other:
        other.add("of another machine", id=SECRET)
        other.sync_export(tmp_path / "m.json")
    tried = here.gives("memory_sync_import", path="m.json", dry_run=True)
    assert (tried["imported"], tried["failed"], tried["dryRun"]) == (1, 0, True)
    assert here.gives("me_memory_search")["total"] == 0
    assert here.gives("memory_sync_import", path="m.json")["ids"] == [SECRET]


def test_half_a_sign_is_no_text(here: Agent, tmp_path: Path) -> None:
    new_project(tmp_path, "acme")
    for tool, arguments in (
        ("me_memory_create", {"content": "x", "title": "\ud800"}),
        ("me_memory_create", {"content": "x", "tags": ["\ud800"]}),
        ("me_memory_create", {"content": "x", "meta": {"k": "\ud800"}}),
        ("me_memory_search", {"query": "\ud800"}),
        ("memory_sync_export", {"path": "m.json", "scope": "\ud800"}),
        ("save_memory", {"task": "\ud800", "nodes": [], "project_root": "acme"}),
    ):
        said = here.ask(tool, arguments)
        assert not said.is_error or "failed:" not in text_of(said), (tool, arguments, text_of(said))
    assert here.gives("me_memory_search")["total"] == 0
