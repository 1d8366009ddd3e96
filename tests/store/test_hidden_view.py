"""A view without sensitive scopes reveals nothing of them: every method of `Memory`, and every MCP tool."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp.shared.exceptions import MCPError

from mcp_agent import reached, text_of
from memglot import MemglotError, Memory
from memglot.errors import AlreadyThere, NotFound, UsageError
from memglot.mcp.tools import all_tools
from memglot.model import Blob, Conflict, Embedding, Entity, Thing, to_builtins
from memglot.results import ExportResult, ImportResult

# Every text of a hidden memory contains this, and nothing else does.
MARK = "zq"
SCOPE = "zqfinance"
IDS = [f"0194a000-000{number}-7000-8000-00000000000{number}" for number in range(1, 9)]
OPEN, OTHER, SECRET, SECOND, GONE, IMPORTED, TWIN, UNKNOWN = IDS
HIDDEN = (SECRET, SECOND, GONE, IMPORTED, TWIN)
ENTITY = "entity:zqtype:zq_bank"


def fill_visible(memory: Memory) -> None:
    memory.add("the office is in Lisbon", id=OPEN, tags=["place"], tree="work")
    memory.add("the garden has a pond", id=OTHER, tree="work")
    memory.link(OPEN, "related_to", OTHER)
    memory.add_entity("Lisbon", "place")
    memory.set_identity("a gardener")


def fill_hidden(memory: Memory, folder: Path) -> None:
    """Add one item of every kind for hidden memories."""
    fields: dict[str, Any] = {"title": "zq payslip", "tags": ["zqtag"], "tree": "work.zqpay", "kind": "zqkind"}
    memory.add("zq salary", id=SECRET, scope=SCOPE, meta={"zq": "zq"}, source={"tool": "zqtool"}, **fields)
    memory.update(SECRET, content="zq salary of the office in Lisbon")
    for id in (SECOND, TWIN):
        memory.add("zq twice", id=id, scope=SCOPE, strength=0.9)
    memory.add("zq deleted", id=GONE, scope=SCOPE)
    memory.delete(GONE, reason="zq reason")
    memory.add_entity("Zq Bank", "zqtype", scope=SCOPE)
    memory.link(OPEN, "related_to", SECRET)
    memory.link(SECRET, "zqpredicate", SECOND)
    memory.link(OPEN, "mentions", ENTITY)
    memory.supersede(SECOND, SECRET, reason="zq because")
    memory.supersede(OTHER, SECRET, reason="zq across scopes")
    memory.set_identity("zq identity", SCOPE)
    with Memory.open(":memory:") as other:
        other.add("zq import", id=IMPORTED, scope=SCOPE)
        other.export(folder / "zq-import.json")
    memory.import_from(folder / "zq-import.json")
    memory.import_from(b'[{"content": "x", "tree": "a zq tree"}]', format="json")
    things: list[Thing] = [
        Conflict(record=SECRET, field="title", clock=1, values=["zq payslip", "zq other"]),
        Embedding(record=SECRET, model="zqmodel", dimensions=1, vector=b"zq00"),
        Blob(tool="zqtool", table="zqtable", key="1", owner=SECRET, row={"zq": 1}),
        Blob(tool="memglot", table="audit", key="2", owner="", row={"scope": SCOPE, "target": SECRET}),
    ]
    with memory.store.writing():
        memory.store.things.put(things)
    memory.search("zq", touch=True)
    memory.mark_sensitive(SCOPE)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A store with hidden memories, and one that never had any."""
    folder = tmp_path_factory.mktemp("stores")
    for name in ("secret", "plain"):
        with Memory.open(folder / f"{name}.db") as memory:
            fill_visible(memory)
            if name == "secret":
                fill_hidden(memory, folder)
    return {name: folder / f"{name}.db" for name in ("secret", "plain")}


@pytest.fixture
def folder(stores: dict[str, Path], tmp_path: Path) -> Path:
    """A folder with copies of both stores and files for imports, without other traces of hidden memories."""
    for name, path in stores.items():
        (tmp_path / name).mkdir()
        shutil.copy(path, tmp_path / name / "store.db")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "new.json").write_text('[{"content": "of an agent", "scope": "user"}]')
    with Memory.open(":memory:") as other:
        other.add("guessed", id=SECRET)
        other.add("guessed too", id=GONE)
        other.sync_export(tmp_path / "in" / "memories.json")
    return tmp_path


def hidden_state(path: Path) -> Any:
    """Return everything about the hidden memories from a store with all rights."""
    with Memory.open(path, write=False) as memory:
        store = memory.store
        kinds = (Conflict, Embedding, Blob, Entity)
        return (
            [to_builtins(record) for record in memory.list(scope=SCOPE)],
            [[to_builtins(version) for version in memory.history(id)[0]] for id in HIDDEN],
            [to_builtins(thing) for kind in kinds for thing in store.things.select(kind) if MARK in str(thing).lower()],
            [to_builtins(found) for id in (SECRET, SECOND) for found in memory.relations(id)],
            [to_builtins(found) for found in memory.chain(SECRET) if SECRET in (found.newer, found.older)],
            [to_builtins(found) for found in memory.identity_history(SCOPE)],
            [scope.sensitive for scope in memory.scopes() if scope.scope == SCOPE],
            [to_builtins(entry) for entry in memory.imports() if not entry.closed],
        )


def shown(value: Any) -> str:
    """Return everything that a caller can see of a result, as text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (ImportResult, ExportResult)):
        parts = [value.value(), value.notes, getattr(value, "content", None)]
        errors = [str(error) for error in value.errors] if isinstance(value, ImportResult) else []
        return shown([*parts, errors])
    if isinstance(value, msgspec.Struct):
        return shown(to_builtins(value))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {shown(one)}" for key, one in value.items()) + "}"
    if hasattr(value, "value") and callable(value.value):
        return shown(value.value())
    if hasattr(value, "hits") or isinstance(value, Iterable) and not isinstance(value, str):
        extra = [getattr(value, name, None) for name in ("total", "notes", "block")]
        return "[" + ", ".join(shown(one) for one in value) + f"] {shown(extra) if any(extra) else ''}"
    if hasattr(value, "__dict__"):
        return shown({name: one for name, one in vars(value).items() if not name.startswith("_")})
    return str(value)


Case = Callable[[Memory, Path], Any]
CASES: dict[str, list[Case]] = {
    "add": [lambda view, _: view.add("x"), lambda view, _: view.add("x", id=UNKNOWN)],
    "add_entity": [lambda view, _: view.add_entity("Porto", "place", aliases=["Oporto"])],
    "audit_imported": [lambda view, _: view.audit_imported()],
    "audit_log": [lambda view, _: view.audit_log(), lambda view, _: view.audit_log(limit=3)],
    "audit_verify": [lambda view, _: view.audit_verify()],
    "backup": [lambda view, out: view.backup(out / "copy.db")],
    "chain": [lambda view, _: view.chain(), lambda view, _: view.chain(OTHER)],
    "close": [lambda view, _: view.close()],
    "conflicts": [lambda view, _: view.conflicts()],
    "consolidate": [lambda view, _: view.consolidate(), lambda view, _: view.consolidate(dry_run=True)],
    "copy": [lambda view, _: view.copy("work", "play"), lambda view, _: view.copy("work", "play", dry_run=True)],
    "count": [lambda view, _: view.count(), lambda view, _: view.count(scope=SCOPE)],
    "delete": [lambda view, _: view.delete(OPEN)],
    "delete_tree": [lambda view, _: view.delete_tree(""), lambda view, _: view.delete_tree("work", dry_run=True)],
    "diff_with_remote": [lambda view, out: view.diff_with_remote(out.parent / "in" / "memories.json")],
    "doctor": [lambda view, _: view.doctor(), lambda view, _: view.doctor(fix=True)],
    "embed": [lambda view, _: view.embed(), lambda view, _: view.embed(again=True)],
    "entities": [lambda view, _: view.entities(), lambda view, _: view.entities("bank")],
    "export": [
        *(
            lambda view, out, format=format: view.export(out / "export", format=format)
            for format in ("sqlite", "agentos-sqlite", "json", "yaml", "obsidian", "markdown", "csv", "mcp-graph")
        ),
        lambda view, _: view.export(format="json", include_embeddings=True),
        lambda view, _: view.export(format="json", scope=SCOPE),
        lambda view, out: view.export(out / "export", format="sqlite", tree="work"),
    ],
    "remember_export": [lambda view, _: view.remember_export(view.export(format="agentos-json"))],
    "get": [
        lambda view, _: view.get(OPEN),
        lambda view, _: view.get("0194a000-0003"),
        lambda view, _: view.get("0194"),
    ],
    "hides": [lambda view, _: None],
    "history": [lambda view, _: view.history(OPEN)],
    "identity": [lambda view, _: view.identity(), lambda view, _: view.identity(SCOPE)],
    "identity_history": [lambda view, _: view.identity_history(), lambda view, _: view.identity_history(SCOPE)],
    "import_from": [
        lambda view, out: view.import_from(out.parent / "in" / "new.json"),
        lambda view, out: view.import_from(out.parent / "in" / "memories.json", dry_run=True),
    ],
    "import_report": [lambda view, _: view.import_report()],
    "imports": [lambda view, _: view.imports()],
    "link": [lambda view, _: view.link(OTHER, "related_to", OPEN)],
    "list": [
        lambda view, _: view.list(),
        lambda view, _: view.list(scope=SCOPE),
        lambda view, _: view.list(tree="work"),
    ],
    "mark_normal": [lambda view, _: view.mark_normal(SCOPE), lambda view, _: view.mark_normal("user")],
    "mark_sensitive": [lambda view, _: view.mark_sensitive("user")],
    "meaning": [lambda view, _: view.meaning.is_stale()],
    "mirror_conflicts": [lambda view, _: view.mirror_conflicts()],
    "move": [lambda view, _: view.move("work", "play"), lambda view, _: view.move("work", "play", dry_run=True)],
    "notes": [lambda view, _: view.notes],
    "compact": [lambda view, _: view.compact()],
    "embed_imported": [
        lambda view, out: view.embed_imported(view.import_from(out.parent / "in" / "new.json", embed=False))
    ],
    "open": [lambda view, _: None],
    "open_for_dry_run": [lambda view, _: None],
    "operations": [
        lambda view, _: view.operations(),
        lambda view, _: (view.move("work", "play"), view.delete(OPEN), view.operations()),
    ],
    "relations": [lambda view, _: view.relations(), lambda view, _: view.relations(OPEN)],
    "resolve": [lambda view, _: view.resolve(OPEN, take=1)],
    "scopes": [lambda view, _: view.scopes()],
    "search": [
        *(
            lambda view, _, mode=mode: view.search("salary of the office", mode=mode, context=3, budget=500, touch=True)
            for mode in ("hybrid", "fulltext", "semantic")
        ),
        lambda view, _: view.search(f"scope:{SCOPE}"),
        lambda view, _: view.search("tree:work", grep="o"),
    ],
    "set_identity": [lambda view, _: view.set_identity("a cook")],
    "stats": [lambda view, _: view.stats()],
    "store": [lambda view, _: [view.store.settings(), view.store.records.select(), view.store.things.select(Entity)]],
    "supersede": [lambda view, _: view.supersede(OTHER, OPEN)],
    "sync": [lambda view, out: view.sync(out / "memories.json")],
    "sync_export": [
        lambda view, out: view.sync_export(out / "out.json"),
        lambda view, out: view.sync_export(out / "out.json", plaintext=True),
        lambda view, out: view.sync_export(out / "out.json", v5=True),
        lambda view, out: view.sync_export(out / "out.json", scope="user", include_audit_chain=True),
        lambda view, out: view.sync_export(out / "out.json", plaintext=True, include_audit_chain=True),
    ],
    "sync_import": [lambda view, out: view.sync_import(out.parent / "in" / "memories.json")],
    "to_arrow": [lambda view, _: view.to_arrow()],
    "to_pandas": [lambda view, _: view.to_pandas()],
    "tree": [lambda view, _: view.tree()],
    "tags": [lambda view, _: view.tags()],
    "rename_tag": [lambda view, _: (view.update(OPEN, add_tags=["mine"]), view.rename_tag("mine", "z"))],
    "update_many": [
        lambda view, _: view.update_many(changes={"status": "stale"}),
        lambda view, _: view.update_many(where="tree:work", add_tags=["x"], dry_run=True),
    ],
    "deleted": [lambda view, _: view.deleted(), lambda view, _: view.deleted(tree="work", limit=1)],
    "undelete_many": [lambda view, _: (view.delete(OPEN), view.undelete_many(since="2000"))],
    "undelete": [lambda view, _: (view.delete(OPEN), view.undelete(OPEN))],
    "undo": [
        lambda view, _: view.undo("last"),
        lambda view, _: view.undo(),
        lambda view, _: view.undo(force=True),
        *(
            lambda view, _, change=change: (change(view), view.undo(), list(view.operations()))
            for change in (
                lambda view: view.add("x"),
                lambda view: view.delete_tree(""),
                lambda view: view.consolidate(),
                lambda view: view.supersede(OTHER, OPEN),
                lambda view: view.set_identity("a cook"),
            )
        ),
        lambda view, out: (view.import_from(out.parent / "in" / "new.json"), view.undo("last", force=True)),
    ],
    "unlink": [lambda view, _: view.unlink(OPEN, "related_to", OTHER)],
    "update": [lambda view, _: view.update(OPEN, content="the office is in Porto")],
}
# Calls that name a hidden memory. They answer as if it did not exist.
BY_ID: dict[str, Callable[[Memory, str], Any]] = {
    "chain": lambda view, id: view.chain(id),
    "conflicts": lambda view, id: view.conflicts(id),
    "delete": lambda view, id: view.delete(id),
    "delete several": lambda view, id: view.delete(OPEN, id),
    "get": lambda view, id: view.get(id),
    "history": lambda view, id: view.history(id),
    "link to": lambda view, id: view.link(OPEN, "related_to", id),
    "link from": lambda view, id: view.link(id, "related_to", OPEN),
    "relations": lambda view, id: view.relations(id),
    "resolve": lambda view, id: view.resolve(id, take=1),
    "supersede": lambda view, id: view.supersede(OPEN, id),
    "superseded": lambda view, id: view.supersede(id, OPEN),
    "audit_log": lambda view, id: view.audit_log(target=id),
    "undelete": lambda view, id: view.undelete(id),
    "undelete_many": lambda view, id: view.undelete_many(id),
    "unlink": lambda view, id: view.unlink(OPEN, "related_to", id),
    "update": lambda view, id: view.update(id, content="mine"),
    "update_many": lambda view, id: view.update_many(OPEN, id, add_tags=["mine"]),
    "mirror_conflicts": lambda view, id: view.mirror_conflicts(id),
}


def call_with(name: str, id: str, view: Memory) -> Any:
    return BY_ID[name](view, id)


def outcome(path: Path, call: Callable[[Memory], Any]) -> str:
    """The answer to a call, or its error, as a caller without the hidden scopes sees it."""
    with Memory.open(path, sensitive=False) as view:
        try:
            found = shown(call(view))
        except MemglotError as error:
            found = f"{type(error).__name__}: {error} ({error.hint})"
        return found + shown(view.notes)


def reveals(text: str) -> list[str]:
    return [word for word in (MARK, *HIDDEN) if word in text.lower()]


def assert_files_reveal_nothing(folder: Path) -> None:
    for path in folder.rglob("*"):
        assert not reveals(path.name)
        if path.is_file() and not path.name.startswith("store.db"):
            assert not reveals(path.read_bytes().decode("utf-8", "replace")), path


def test_every_method_has_a_case() -> None:
    assert set(CASES) == {name for name in dir(Memory) if not name.startswith("_")}


@pytest.mark.parametrize(("name", "number"), [(name, number) for name in CASES for number in range(len(CASES[name]))])
def test_no_method_reveals_or_changes_a_hidden_memory(folder: Path, name: str, number: int) -> None:
    before = hidden_state(folder / "secret" / "store.db")
    (folder / "out").mkdir()
    text = outcome(folder / "secret" / "store.db", lambda view: CASES[name][number](view, folder / "out"))
    # A result may repeat the arguments of the caller.
    assert not reveals(text.replace("0194a000-0003", "").replace(SCOPE, "") if name in ("get", "search") else text)
    shutil.rmtree(folder / "in")
    assert_files_reveal_nothing(folder)
    assert hidden_state(folder / "secret" / "store.db") == before


@pytest.mark.parametrize("name", BY_ID)
def test_a_hidden_memory_looks_like_one_that_never_existed(folder: Path, name: str) -> None:
    before = hidden_state(folder / "secret" / "store.db")
    expected = outcome(folder / "secret" / "store.db", partial(call_with, name, UNKNOWN))
    for id in HIDDEN:
        found = outcome(folder / "secret" / "store.db", partial(call_with, name, id))
        assert found.replace(id, UNKNOWN) == expected
    assert hidden_state(folder / "secret" / "store.db") == before
    assert_files_reveal_nothing(folder / "secret")


COUNTED: dict[str, Callable[[Memory], Any]] = {
    "audit_log": lambda view: [(event.action, event.target) for event in view.audit_log()],
    "chain": lambda view: len(view.chain()),
    "conflicts": lambda view: len(view.conflicts()),
    "consolidate": lambda view: view.consolidate().memories,
    "count": lambda view: view.count(),
    "embed": lambda view: view.embed().total,
    "entities": lambda view: [entity.id for entity in view.entities()],
    "export": lambda view: (view.export(format="json").count, view.export(format="json").notes),
    "imports": lambda view: len(list(view.imports())),
    "relations": lambda view: [relation.id for relation in view.relations()],
    "scopes": lambda view: view.scopes(),
    "search": lambda view: [view.search(text).total for text in ("office", "salary", "tree:work")],
    "stats": lambda view: {key: value for key, value in view.stats().items() if key not in ("store", "bytes")},
    "tree": lambda view: view.tree(),
    "tags": lambda view: list(view.tags()),
}


@pytest.mark.parametrize("name", COUNTED)
def test_counts_are_those_of_a_store_without_hidden_memories(folder: Path, name: str) -> None:
    found = {}
    for store in ("secret", "plain"):
        with Memory.open(folder / store / "store.db", sensitive=False) as view:
            found[store] = shown(COUNTED[name](view))
    assert found["secret"] == found["plain"]


def test_an_id_in_use_is_refused_without_a_reason(folder: Path) -> None:
    with Memory.open(folder / "secret" / "store.db", sensitive=False) as view:
        for id in HIDDEN:
            with pytest.raises(AlreadyThere) as caught:
                view.add("mine", id=id)
            assert not reveals(f"{caught.value} {caught.value.hint}".replace(id, ""))
        with pytest.raises(AlreadyThere):
            view.add_entity("Zq Bank", "zqtype")


def test_operations_on_the_complete_file_are_refused(folder: Path) -> None:
    with Memory.open(folder / "secret" / "store.db", sensitive=False) as view:
        for call in (
            lambda: view.backup(folder / "copy.db"),
            lambda: view.mark_normal(SCOPE),
            lambda: view.sync(folder),
        ):
            with pytest.raises(UsageError, match="while sensitive scopes are hidden"):
                call()
        with pytest.raises(UsageError, match="is sensitive and hidden"):
            view.set_identity("mine", SCOPE)
        assert view.audit_verify()["ok"]
    assert not (folder / "copy.db").exists()


def test_the_chain_is_verified_with_its_hidden_rows(folder: Path) -> None:
    with Memory.open(folder / "secret" / "store.db") as complete, complete.store.writing():
        store: Any = complete.store
        store.connection.db.execute("UPDATE events SET actor = 'x' WHERE scope = ?", (SCOPE,))
    with Memory.open(folder / "secret" / "store.db", sensitive=False) as view:
        assert not view.audit_verify()["ok"]
        assert not view.doctor().ok


TOOLS: dict[str, list[dict[str, Any]]] = {
    "me_memory_create": [{"content": "x"}, {"content": "x", "id": UNKNOWN}],
    "me_memory_get": [{"id": OPEN}],
    "me_memory_update": [{"id": OPEN, "content": "x"}, {"id": OPEN, "tags": ["x"]}],
    "me_memory_delete": [{"id": OPEN}],
    "me_memory_search": [{"query": "salary of the office"}, {"query": "office", "context": 3}, {"tree": "work"}],
    "me_memory_tree": [{}],
    "me_memory_mv": [{"source": "work", "destination": "play"}],
    "me_memory_delete_tree": [{"tree": "work", "dry_run": True}, {"tree": "work", "dry_run": False}],
    "me_memory_import": [{"path": "in/new.json"}, {"path": "in/memories.json"}],
    "me_memory_export": [{"format": "json"}, {"path": "out/out.md", "format": "markdown"}],
    "memory_sync_export": [{"path": "out/m.json"}, {"path": "out/m.json", "scope": "user"}],
    "memory_sync_import": [{"path": "in/memories.json"}],
    "memory_sync_diff": [{"path": "in/memories.json"}],
}
BY_ID_TOOLS: dict[str, dict[str, Any]] = {
    "me_memory_create": {"content": "mine"},
    "me_memory_get": {},
    "me_memory_update": {"content": "mine"},
    "me_memory_delete": {},
}


def test_every_tool_has_a_case() -> None:
    """The tools of project memory never open the store."""
    assert {name for name, tool in all_tools().items() if "id" in tool.input.__struct_fields__} == {
        *BY_ID_TOOLS,
        "inspect_memory",
    }
    project = {name for name, tool in all_tools().items() if tool.run.__module__.endswith(".project")}
    assert set(TOOLS) == set(all_tools()) - project


@pytest.mark.parametrize("name", TOOLS)
def test_no_tool_reveals_or_changes_a_hidden_memory(folder: Path, name: str) -> None:
    before = hidden_state(folder / "secret" / "store.db")
    (folder / "out").mkdir()
    with reached("here-auto", folder / "secret" / "store.db", cwd=folder) as agent:
        for arguments in TOOLS[name]:
            result = agent.call_raw(name, arguments)
            assert not reveals(text_of(result) + shown(result.structured_content or {})), arguments
    shutil.rmtree(folder / "in")
    assert_files_reveal_nothing(folder)
    assert hidden_state(folder / "secret" / "store.db") == before


@pytest.mark.parametrize("name", BY_ID_TOOLS)
def test_a_tool_does_not_know_a_hidden_memory(folder: Path, name: str) -> None:
    before = hidden_state(folder / "secret" / "store.db")
    with reached("here-auto", folder / "secret" / "store.db", cwd=folder) as agent:
        answers = {id: agent.call_raw(name, {"id": id, **BY_ID_TOOLS[name]}) for id in (UNKNOWN, *HIDDEN)}
    texts = {text_of(answer).replace(id, "") for id, answer in answers.items()}
    assert len(texts) == 1 and all(answer.is_error for answer in answers.values())
    assert all(answer.structured_content is None for answer in answers.values())
    assert hidden_state(folder / "secret" / "store.db") == before


def test_the_report_of_a_hidden_import_is_unknown(folder: Path) -> None:
    """Whoever sees everything made this import, so its report may quote hidden memories."""
    with Memory.open(folder / "secret" / "store.db") as complete:
        made = complete.import_from(b'{"content": "by the user"}', format="ndjson").import_id
        answers = set()
        with reached("here-auto", folder / "secret" / "store.db", cwd=folder) as agent:
            for id in (made, UNKNOWN):
                with pytest.raises(MCPError) as caught:
                    agent.request("read_resource", f"memglot://imports/{id}")
                answers.add((caught.value.error.code, str(caught.value).replace(str(id), "")))
        assert len(answers) == 1


def test_an_operation_on_a_hidden_memory_cannot_be_undone(folder: Path) -> None:
    path = folder / "secret" / "store.db"
    with Memory.open(path) as owner:
        owner.update(HIDDEN[0], title="new")
        owner.delete(OPEN)
        owner.delete(OTHER, HIDDEN[1])
        both, alone, secret, *_ = list(owner.operations())
    with Memory.open(path, sensitive=False) as view:
        assert alone.id in {one.id for one in view.operations()}
        for hidden in (both, secret):
            assert hidden.id not in {one.id for one in view.operations()}
            with pytest.raises(NotFound) as unknown:
                view.undo(UNKNOWN)
            with pytest.raises(NotFound) as refused:
                view.undo(hidden.id)
            assert str(refused.value).replace(hidden.id, UNKNOWN) == str(unknown.value)
        assert view.undo().restored == 1 and view.get(OPEN)
    with Memory.open(path) as owner:
        assert owner.get(HIDDEN[0]).title == "new"
        assert owner.undo(both.id).restored == 2
        assert owner.undo(secret.id).reverted == 1
        assert owner.get(HIDDEN[0]).title == "zq payslip"
