"""Stores that the original tool made: we keep its layout, its bytes, and each sidecar's own hash rule."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from conftest import SHARED
from memglot.project.check.run import check_project
from memglot.project.init import init
from memglot.project.reset import reset, restore
from memglot.project.status import status
from memglot.project.sync import sync
from repo_projects import copied_store, do, events, feature, files_of, git, new_project, saved, sidecar
from repo_stores import write_node

FIXTURES = SHARED / "fixtures" / "repo"
needs_fixtures = pytest.mark.skipif(not FIXTURES.exists(), reason="the shared fixtures are not here")


def stable(value: Any) -> bytes:
    """Return the bytes of the original tool by its own rule, independent of our code."""
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode()


def tool_hash(fields: dict[str, Any], body: bytes | None) -> str:
    bare = {key: value for key, value in fields.items() if key != "content_hash"}
    canonical = json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if body is None:
        return "sha256:" + sha256(canonical.encode()).hexdigest()
    text = body.decode().removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return "sha256:" + sha256(f"{canonical}\n{text}".encode()).hexdigest()


def page_hash(body: bytes) -> str:
    return "sha256:" + sha256(body).hexdigest()


def tool_store(root: Path) -> None:
    """Make a store look as the original tool would have made it."""
    folder = root / ".memory"
    (old,) = (folder / "memory").glob("*.json")
    fields = json.loads(old.read_bytes()) | {"body_path": "memory/project.md"}
    body = old.with_suffix(".md").read_bytes()
    old.with_suffix(".md").rename(folder / "memory/project.md")
    old.unlink()
    (folder / "memory/project.json").write_bytes(stable(fields | {"content_hash": tool_hash(fields, body)}))
    for name in ("features", "decisions", "gotchas", "questions"):
        (folder / "memory" / name).mkdir()


def assert_tool_agrees(root: Path) -> None:
    """Assert that the original tool's check would find no problem."""
    folder = root / ".memory"
    for path in sorted((folder / "memory").rglob("*.json")):
        fields = json.loads(path.read_bytes())
        assert path.read_bytes() == stable(fields)
        assert fields["content_hash"] == tool_hash(fields, (folder / fields["body_path"]).read_bytes()), path
        assert Path(fields["body_path"]).stem == path.stem
    for path in sorted((folder / "relations").rglob("*.json")):
        fields = json.loads(path.read_bytes())
        assert path.read_bytes() == stable(fields)
        assert fields["content_hash"] == tool_hash(fields, None), path
    for line in (folder / "events.jsonl").read_text("utf-8").splitlines():
        assert line == json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def test_a_store_of_the_original_tool_keeps_its_conventions(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    tool_store(root)
    link = {"predicate": "related_to", "to": "decision.use-it"}
    data = saved(
        root,
        task="größer",
        nodes=[
            feature("Éditeur", "Zwei Wörter.", related=[link]),
            {"kind": "decision", "title": "Use it", "body": "Yes."},
            {"kind": "gotcha", "title": "Trap", "body": "No."},
            {"kind": "question", "title": "Why?", "body": "Why."},
            {"id": "project.acme-render", "body": "What it is."},
        ],
    )
    places = ["decisions/use-it", "features/editeur", "gotchas/trap", "questions/why", "project"]
    for place in places:
        assert f".memory/memory/{place}.json" in data["files_changed"]
    saved(
        root,
        stale=[{"id": "gotcha.trap", "reason": "gone"}],
        supersede=[{"id": "feature.editeur", "superseded_by": "decision.use-it", "reason": "x"}],
        delete=[{"id": "question.why", "reason": "answered"}],
    )
    assert_tool_agrees(root)
    assert do(root, check_project)["data"] == {"valid": True, "errors": [], "warnings": []}


@needs_fixtures
def test_store_a_is_read_saved_to_and_read_back(tmp_path: Path) -> None:
    root = copied_store(FIXTURES / "store-a", tmp_path)
    before = files_of(root)
    assert_tool_agrees(root)
    (root / "services/billing/src/webhooks").mkdir(parents=True)
    (root / "services/billing/src/webhooks/retry.ts").write_text("x")
    (root / "apps/editor").mkdir(parents=True)
    (root / "apps/editor/a.ts").write_text("x")
    maps = (root / "AGENTS.md").read_bytes(), (root / "CLAUDE.md").read_bytes()
    told = do(root, sync, dry_run=False)["data"]
    assert told["full_verification"]
    assert [entry["id"] for entry in told["orphaned"]] == ["feature.fax-gateway"]
    # Its own map, made by the original tool, is what we make of the same nodes.
    assert ((root / "AGENTS.md").read_bytes(), (root / "CLAUDE.md").read_bytes()) == maps
    again = saved(root, nodes=[{"id": "feature.billing-worker", "stage": "shipped"}])
    assert again["files_changed"] == []
    assert {path: text for path, text in files_of(root).items() if path != "sync-state.json"} == before
    data = saved(
        root,
        nodes=[
            {"id": "feature.ai-layouts", "stage": "building", "tags": ["ai"]},
            feature("Quiet hours", related=[{"predicate": "depends_on", "to": "feature.billing-worker"}]),
        ],
        delete=[{"id": "decision.inline-retries", "reason": "old"}],
    )
    assert data["memory_created"] == ["feature.quiet-hours"]
    assert_tool_agrees(root)
    after = files_of(root)
    touched = {path.removeprefix(".memory/") for path in data["files_changed"]} | {"sync-state.json"}
    for path, text in before.items():
        assert path in touched or after[path] == text
    assert after["events.jsonl"].startswith(before["events.jsonl"])
    assert "memory/features/quiet-hours.json" in after
    assert len(list((root / ".memory/schema").glob("*.json"))) == 5


@needs_fixtures
def test_the_flat_store_keeps_each_sidecars_rule(tmp_path: Path) -> None:
    root = copied_store(FIXTURES / "store-flat-layout", tmp_path)
    before = files_of(root)
    saved(
        root,
        nodes=[
            {"id": "feature.alpha", "title": "Alpha 3"},
            {"id": "question.q1", "status": "closed"},
            {"kind": "gotcha", "title": "Newer", "body": "n"},
            {"id": "project.page-literal", "title": "Literally"},
        ],
    )
    alpha, body = sidecar(root, "memory/alpha.json"), (root / ".memory/memory/alpha.md").read_bytes()
    assert alpha["content_hash"] == tool_hash(alpha, body)
    assert alpha["origin"]["locator"] == "https://e.x"
    # The tool has put a node into `gotchas/`; the store is flat nevertheless.
    for path in ("memory/q1", "memory/project-page-literal", "memory/newer"):
        assert sidecar(root, path + ".json")["content_hash"] == page_hash((root / f".memory/{path}.md").read_bytes())
    after = files_of(root)
    for path in ("memory/alpha.md", "memory/q1.md", "relations/r1.json", "config.json", "memory/gotchas/new-one.json"):
        assert after[path] == before[path]
    assert events(root)[1]["payload"] == {"a": 1}
    assert do(root, check_project)["data"]["errors"] == []


@pytest.mark.parametrize("project", [True, False])
def test_a_flat_store_stays_flat_after_a_save_of_the_tool(project: bool, tmp_path: Path) -> None:
    """The tool's own saves go to a folder of their kind and have its hash, and update the project node in place."""
    root = new_project(tmp_path)
    saved(root, nodes=[feature("Flat")])
    write_node(root, "gotcha.theirs", place="memory/gotchas/theirs", tool=True)
    if project:
        write_node(root, "project.acme-render", place="memory/acme-render", tool=True)
    else:
        for end in ("json", "md"):
            (root / f".memory/memory/acme-render.{end}").unlink()
    saved(root, nodes=[{"kind": "gotcha", "title": "Ours", "body": "n"}, {"id": "gotcha.theirs", "title": "Still"}])
    assert sidecar(root, "memory/ours.json")["content_hash"] == page_hash(b"n")
    theirs = sidecar(root, "memory/gotchas/theirs.json")
    assert theirs["content_hash"] == tool_hash(theirs, b"Text.")
    assert do(root, check_project)["data"]["errors"] == []


def test_dirty_files_are_backed_up_before_they_are_overwritten(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    saved(root, nodes=[feature("A", "one"), feature("B", "two")])
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    (root / ".memory/memory/a.md").write_text("by hand")
    (root / ".memory/memory/b.md").write_text("by hand too")
    data = saved(root, nodes=[{"id": "feature.a", "body": "new"}], delete=[{"id": "feature.b", "reason": "x"}])
    assert [(item["path"], item["reason"]) for item in data["recovery_files"]] == [
        (".memory/memory/a.md", "dirty_overwrite"),
        (".memory/memory/b.md", "dirty_delete"),
    ]
    kept = [(root / item["recovery_path"]).read_text() for item in data["recovery_files"]]
    assert kept == ["by hand", "by hand too"]
    assert git(root, "status", "--porcelain", "--", ".memory/recovery") == ""


def test_a_deleted_memory_is_restored_from_the_last_commit(tmp_path: Path) -> None:
    import shutil

    root = new_project(tmp_path)
    saved(root, nodes=[feature("A", "one")])
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    shutil.rmtree(root / ".memory")
    assert do(root, init)["error"]["code"] == "MemoryDirtyMemory"
    data = saved(root, nodes=[feature("B", "two")])
    assert data["memory_created"] == ["feature.b"]
    assert sidecar(root, "memory/a.json")["title"] == "A"


def test_after_a_reset_init_starts_again(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    saved(root, nodes=[feature("A", "one")])
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    assert do(root, reset)["ok"]
    refused = do(root, status)["error"]
    assert (refused["code"], "restore" in refused["message"]) == ("MemoryNotInitialized", True)
    assert do(root, init)["data"]["created"]
    assert do(root, restore)["ok"]
    assert sidecar(root, "memory/a.json")["title"] == "A"


def test_a_conflict_in_the_map_is_resolved_by_the_next_save(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    text = (root / "AGENTS.md").read_text()
    start, end = "<!-- memory:map:start -->\n", "<!-- memory:map:end -->\n"
    head, _, rest = text.partition(start)
    inner = rest.partition(end)[0]
    (root / "AGENTS.md").write_text(f"{head}{start}<<<<<<< HEAD\n{inner}=======\n{inner}>>>>>>> side\n{end}")
    saved(root, nodes=[feature("Shown", stage="building")])
    after = (root / "AGENTS.md").read_text()
    assert "<<<<<<<" not in after and "**Building:** shown" in after and after.startswith(head)


def test_two_branches_that_save_merge_without_a_conflict(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "begin")
    git(root, "checkout", "-qb", "side")
    for branch, title in (("side", "Theirs"), ("main", "Ours")):
        git(root, "checkout", "-q", branch)
        saved(root, nodes=[feature(title, f"Text of {title}.")])
        git(root, "add", ".memory")
        git(root, "commit", "-qm", title)
        git(root, "checkout", "-q", "--", ".")
    git(root, "merge", "-q", "-m", "both", "side")
    assert sorted(event["id"] for event in events(root)) == ["feature.ours", "feature.theirs"]
    saved(root, nodes=[feature("After")])
    assert do(root, check_project)["data"] == {"valid": True, "errors": [], "warnings": []}


def test_files_that_were_deleted_by_hand_have_no_copy_to_keep(tmp_path: Path) -> None:
    import shutil

    root = new_project(tmp_path)
    saved(root, nodes=[feature("A", "one"), feature("B", "two")])
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    (root / ".memory/memory/a.md").unlink()
    (root / ".memory/memory/b.md").unlink()
    shutil.rmtree(root / ".memory/schema")
    data = saved(root, nodes=[{"id": "feature.a", "body": "new"}], delete=[{"id": "feature.b", "reason": "x"}])
    assert data["recovery_files"] == []
    assert (root / ".memory/memory/a.md").read_text() == "new\n"
    assert do(root, check_project)["data"] == {"valid": True, "errors": [], "warnings": []}
