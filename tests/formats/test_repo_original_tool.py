"""Exported stores work in the original tool at once: its rules are applied here to every file that it reads."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from conftest import SHARED
from memglot import Memory
from memglot.project.check.run import check_project
from memglot.project.query import query
from memglot.project.storage.hashes import follows_tool
from repo_projects import copied_store, do, feature, git, new_project, saved
from repo_stores import write_config, write_node, write_store

NAMES = ("config", "object", "relation", "event", "patch")
MARKER = re.compile(r"<<<<<<< .+|=======|>>>>>>> .+|\|\|\|\|\|\|\| .+")
STORE_A = SHARED / "fixtures/repo/store-a"


def refusals(root: Path) -> Iterator[str]:
    """Yield what the original tool refuses in a store: it then fails `check`, and `query` builds no index."""
    folder = root / ".memory"
    yield from (name for name in ("config.json", "events.jsonl") if not (folder / name).is_file())
    yield from (name for name in ("memory", "relations", "schema") if not (folder / name).is_dir())
    schemas = {name: folder / f"schema/{name}.schema.json" for name in NAMES}
    if missing := [name for name, path in schemas.items() if not path.is_file()]:
        yield f"schemas {missing}"
        return
    rules: dict[str, Any] = {name: json.loads(path.read_bytes()) for name, path in schemas.items()}
    for rule in rules.values():
        Draft202012Validator.check_schema(rule)
    checked = [("config", json.loads((folder / "config.json").read_bytes()))]
    checked += [("event", json.loads(line)) for line in (folder / "events.jsonl").read_text("utf-8").splitlines()]
    checked += [("relation", json.loads(path.read_bytes())) for path in (folder / "relations").rglob("*.json")]
    for path in (folder / "memory").rglob("*.json"):
        sidecar = json.loads(path.read_bytes())
        checked.append(("object", sidecar))
        body = (folder / sidecar["body_path"]).read_bytes().decode().removeprefix("\ufeff")
        lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if lines[0] == "---" and {"---", "..."} & set(lines[1:]):
            yield f"front matter in {path.name}"
    for name, value in checked:
        yield from (f"{name}: {error.message}" for error in Draft202012Validator(rules[name]).iter_errors(value))
    for path in (*folder.rglob("*.md"), *folder.rglob("*.json"), *folder.rglob("*.jsonl")):
        yield from (f"marker in {path.name}" for line in path.read_text("utf-8").splitlines() if MARKER.fullmatch(line))


def map_in(root: Path, name: str = "AGENTS.md") -> str:
    found = re.search(
        "<!-- memory:map:start -->\n(.*)\n<!-- memory:map:end -->", (root / name).read_text("utf-8"), re.S
    )
    assert found is not None
    return found[1]


def checked(root: Path) -> tuple[list[str], list[str]]:
    """The codes of our own errors and warnings."""
    found = do(root, check_project)["data"]
    return [issue["code"] for issue in found["errors"]], [issue["code"] for issue in found["warnings"]]


def test_a_new_store_has_everything_that_the_tool_needs(tmp_path: Path, memory: Memory) -> None:
    memory.add("Tea at four.")
    memory.add("Retries run in a worker. Always.", title="Retries", kind="feature")
    result = memory.export(tmp_path / "out", format="repo")
    assert list(refusals(tmp_path / "out")) == []
    assert checked(tmp_path / "out") == ([], ["ProjectNodeMissing"])
    assert "**Idea:** retries — Retries run in a worker." in map_in(tmp_path / "out")
    assert map_in(tmp_path / "out", "CLAUDE.md") == map_in(tmp_path / "out")
    assert result.notes == ["2 files for agents got the product map: AGENTS.md, CLAUDE.md"]
    assert memory.export(tmp_path / "out", format="repo").notes == []
    saved(tmp_path / "out", nodes=[feature("Later")])
    assert list(refusals(tmp_path / "out")) == []


@pytest.mark.parametrize("name", ["config.json", "schema"])
def test_an_export_repairs_what_the_tool_would_refuse(name: str, tmp_path: Path, memory: Memory) -> None:
    write_store(tmp_path / "one")
    if name == "schema":
        shutil.rmtree(tmp_path / "one/.memory/schema")
    else:
        write_config(tmp_path / "one", colour="red")
    memory.import_from(tmp_path / "one")
    memory.export(tmp_path / "out", format="repo")
    assert list(refusals(tmp_path / "out")) == []
    with Memory.open(":memory:") as other:
        assert other.import_from(tmp_path / "out").failed == 0
        again = other.import_from(tmp_path / "one")
        assert (again.imported, again.merged, again.conflicts) == (0, 0, 0)


def test_an_export_into_a_store_is_found_there(tmp_path: Path, memory: Memory) -> None:
    root = new_project(tmp_path)
    saved(root, nodes=[feature("Old", anchors=["gone/"])])
    for name in ("memory.sqlite", "memory.sqlite-journal"):
        (root / ".memory/index" / name).write_bytes(b"of the original tool")
    schema = root / ".memory/schema/object.schema.json"
    schema.write_bytes(b"true\n")
    memory.add("It glows.", title="Lamp", kind="feature")
    memory.export(root, format="repo", force=True)
    assert not list((root / ".memory/index").glob("memory.sqlite*"))
    assert schema.read_bytes() == b"true\n"
    assert "lamp — It glows." in map_in(root)
    assert "**Stale:** feature.old — anchor gone/ matches no files" in map_in(root)
    assert checked(root) == ([], ["AnchorOrphaned"])
    assert do(root, query, "lamp")["data"]["included_ids"] == ["feature.lamp"]
    assert list(refusals(root)) == []


def test_files_for_agents_are_not_added_to_an_existing_store(tmp_path: Path, memory: Memory) -> None:
    write_store(tmp_path)
    (tmp_path / "AGENTS.md").write_text("Mine.\n")
    memory.add("It glows.", title="Lamp", kind="feature")
    notes = memory.export(tmp_path, format="repo", force=True).notes
    assert notes == [
        "AGENTS.md was not refreshed because Memory map markers are missing or ambiguous. "
        "Run `memglot repo init` to install them."
    ]
    assert (tmp_path / "AGENTS.md").read_text() == "Mine.\n"
    assert not (tmp_path / "CLAUDE.md").exists()


def test_the_map_is_kept_while_a_node_cannot_be_read(tmp_path: Path, memory: Memory) -> None:
    root = new_project(tmp_path)
    before = map_in(root)
    (root / ".memory/memory/torn.json").write_bytes(b"{")
    memory.add("It glows.", title="Lamp", kind="feature")
    notes = memory.export(root, format="repo", force=True).notes
    assert notes == ["1 node file cannot be read, so the product map was kept: .memory/memory/torn.json"]
    assert map_in(root) == before


@pytest.mark.skipif(not STORE_A.is_dir(), reason="the shared fixtures are not here")
def test_a_store_of_the_tool_keeps_its_map_and_gets_its_schemas(tmp_path: Path, memory: Memory) -> None:
    root = copied_store(STORE_A, tmp_path)
    for path in ("services/billing/src/webhooks/a.ts", "apps/editor/a.ts"):
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text("x")
    git(root, "add", "-A")
    before = map_in(root)
    memory.import_from(root)
    memory.export(root, format="repo", force=True)
    assert map_in(root) == before
    memory.add("It glows.", title="Lamp", kind="feature")
    memory.export(root, format="repo")
    assert "lamp — It glows." in map_in(root)
    assert list(refusals(root)) == []
    errors, warnings = checked(root)
    assert (errors, set(warnings)) == ([], {"AnchorOrphaned"})


REFUSED = {
    "front matter": "---\nx: y\n---\nText",
    "front matter with dots": "\ufeff---\r\nx: y\r\n...\r\nText",
    "conflict": "<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> other",
    "underlined heading": "Heading\n=======\nText",
    "markers after other line ends": "a\r=======\r\n||||||| base\r\n",
    "both": "---\n<<<<<<< HEAD\n---\n=======\n",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=list(REFUSED))
def test_a_text_that_the_tool_refuses_is_kept_in_full(
    text: str, tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_store(tmp_path)
    one = memory.add(text, title="Notes", kind="decision")
    assert memory.export(tmp_path, format="repo", force=True).notes == []
    assert list(refusals(tmp_path)) == []
    assert checked(tmp_path)[0] == []
    with Memory.open(":memory:") as other:
        other.import_from(tmp_path)
        assert other.get(one.id) == memory.get(one.id)
        other.export(tmp_path / "again", format="repo")
        # Reading and writing it again changes nothing, on any machine.
        again = memory.import_from(tmp_path / "again")
        assert (again.imported, again.merged, again.conflicts, again.skipped) == (4, 0, 0, 1)
        before = (tmp_path / ".memory/memory/notes.md").read_bytes()
        assert (tmp_path / "again/.memory/memory/notes.md").read_bytes() == before
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "4000000000")
    # Another title, given there, does not change the text.
    saved(tmp_path, nodes=[{"id": "decision.notes", "title": "Better notes"}])
    assert memory.import_from(tmp_path).conflicts == 0
    found = memory.get(one.id)
    assert found is not None and (found.title, found.content) == ("Better notes", text)
    # Another text does.
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "4000000001")
    saved(tmp_path, nodes=[{"id": "decision.notes", "body": "Short."}])
    memory.import_from(tmp_path)
    found = memory.get(one.id)
    assert found is not None and found.content == "Short.\n"


def test_a_plain_export_reports_texts_that_it_changed(tmp_path: Path, memory: Memory) -> None:
    one = memory.add(REFUSED["front matter"], title="Notes")
    (note, *_) = memory.export(tmp_path / "out", format="repo", plain=True).notes
    assert note.startswith("1 memory has front matter or conflict markers") and one.id in note
    assert list(refusals(tmp_path / "out")) == []


def test_a_text_in_a_store_is_not_changed_only_because_it_is_refused(tmp_path: Path, memory: Memory) -> None:
    write_store(tmp_path / "one")
    write_node(tmp_path / "one", "gotcha.odd", REFUSED["front matter"])
    memory.import_from(tmp_path / "one")
    notes = memory.export(tmp_path / "out", format="repo").notes
    assert (tmp_path / "out/.memory/memory/odd.md").read_text() == REFUSED["front matter"]
    assert any("run `memglot repo check`" in note for note in notes)


def hash_rules(root: Path) -> dict[str, bool | None]:
    """True for each node with the hash of the original tool, False for one with the documented hash, by path."""
    folder = root / ".memory"
    found = {}
    for path in (folder / "memory").rglob("*.json"):
        fields = json.loads(path.read_bytes())
        found[path.relative_to(folder / "memory").as_posix()] = follows_tool(
            fields, (folder / fields["body_path"]).read_bytes()
        )
    return found


def test_an_export_follows_the_style_of_the_store(tmp_path: Path, memory: Memory) -> None:
    tool, flat = tmp_path / "tool", tmp_path / "flat"
    for root, place in ((tool, "memory/project"), (flat, "memory/demo")):
        write_config(root, project={"id": f"project.{root.name}", "name": root.name})
        write_node(root, f"project.{root.name}", place=place, tool=root is tool)
    write_node(tool, "feature.alpha", place="memory/features/alpha", tool=True)
    write_node(flat, "feature.beta")
    # The original tool saved these two.
    write_node(flat, "gotcha.theirs", place="memory/gotchas/theirs", tool=True)
    write_node(flat, "project.flat", place="memory/demo", tool=True)
    memory.import_from(tool)
    memory.import_from(flat)
    memory.add("New.", title="New", kind="gotcha")
    memory.export(tool, format="repo", force=True)
    memory.export(flat, format="repo", force=True)
    assert hash_rules(tool) == {
        "project.json": True,
        "features/alpha.json": True,
        "features/beta.json": True,
        "gotchas/new.json": True,
        "gotchas/theirs.json": True,
        "gotchas/flat.json": True,
    }
    assert hash_rules(flat) == {
        "demo.json": True,
        "alpha.json": False,
        "beta.json": False,
        "new.json": False,
        "gotchas/theirs.json": True,
        "tool.json": False,
    }
    for root in (tool, flat):
        assert list(refusals(root)) == []
        assert (memory.import_from(root).merged, memory.export(root, format="repo").notes) == (0, [])


FLAT = SHARED / "fixtures/repo/store-flat-layout"


@pytest.mark.skipif(not FLAT.is_dir(), reason="the shared fixtures are not here")
def test_the_flat_store_stays_flat(tmp_path: Path, memory: Memory) -> None:
    root = copied_store(FLAT, tmp_path)
    before = hash_rules(root)
    memory.import_from(root)
    memory.add("New.", title="New", kind="gotcha")
    memory.export(root, format="repo", force=True)
    assert hash_rules(root) == before | {"new.json": False}
    assert list(refusals(root)) == []
