"""Edits by hand are adopted: hashes and log follow the files, and the files stay as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memglot.project.adopt import adopt
from memglot.project.check.run import check_project
from memglot.project.storage.hashes import follows_tool, link_hash
from memglot.project.sync import sync
from repo_projects import do, events, feature, files_of, git, new_project, saved, sidecar
from repo_stores import write_config, write_node


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = new_project(tmp_path)
    saved(root, nodes=[feature("A", related=[{"predicate": "affects", "to": "feature.b"}]), feature("B")])
    git(root, "add", "-A")
    git(root, "commit", "-qm", "memory")
    return root


def warned(root: Path) -> list[str]:
    return [issue["code"] for issue in do(root, check_project)["data"]["warnings"]]


def test_an_edited_text_is_adopted_as_it_is(root: Path) -> None:
    text = b"\xef\xbb\xbf# By hand\r\n\r\nText.\r\n\r\n"
    (root / ".memory/memory/a.md").write_bytes(text)
    assert "ObjectContentHashMismatch" in warned(root)
    before = sidecar(root, "memory/a.json")
    assert do(root, adopt)["data"] == {"dry_run": False, "nodes": ["feature.a"], "relations": [], "refused": []}
    assert (root / ".memory/memory/a.md").read_bytes() == text
    after = sidecar(root, "memory/a.json")
    assert follows_tool(after, text) is False
    changed = {"content_hash": after["content_hash"], "updated_at": after["updated_at"]}
    assert after == before | changed and after["content_hash"] != before["content_hash"]
    found = events(root)[-1]
    assert (found["actor"], found["event"], found["id"]) == ("user", "memory.updated", "feature.a")
    assert "ObjectContentHashMismatch" not in warned(root)
    unchanged = files_of(root)
    assert do(root, adopt)["data"]["nodes"] == [] and files_of(root) == unchanged


def test_a_dry_run_says_what_would_be_adopted(root: Path) -> None:
    (root / ".memory/memory/a.md").write_text("By hand.\n")
    before = files_of(root)
    data = do(root, sync, dry_run=True, adopt_edits=True)["data"]
    assert data["adopted"]["nodes"] == ["feature.a"] and data["adopted"]["dry_run"]
    assert files_of(root) == before


def test_relations_are_adopted(root: Path) -> None:
    path = root / ".memory/relations/feature-a-affects-feature-b.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"confidence": "high"}))
    assert do(root, adopt)["data"]["relations"] == ["rel.feature-a-affects-feature-b"]
    fields = json.loads(path.read_text())
    assert fields["confidence"] == "high" and fields["content_hash"] == link_hash(fields)
    assert events(root)[-1]["event"] == "relation.updated"
    assert do(root, adopt)["data"]["relations"] == []


REFUSED = {
    "secret": (b"AWS key AKIAIOSFODNN7EXAMPL9\n", "line 1"),
    "conflict": (b"One\n<<<<<<< HEAD\ntwo\n=======\nthree\n>>>>>>> other\n", "conflict markers in line 2"),
    "front matter": (b"---\na: b\n---\nText\n", "frontmatter"),
    "empty": (b" \n", "`memglot repo rm`"),
    "not UTF-8": (b"\xff\xfe", "UTF-8"),
}


@pytest.mark.parametrize("text, reason", REFUSED.values(), ids=list(REFUSED))
def test_what_a_save_would_refuse_is_not_adopted_and_the_rest_is(root: Path, text: bytes, reason: str) -> None:
    (root / ".memory/memory/a.md").write_bytes(text)
    (root / ".memory/memory/b.md").write_bytes(b"Fine.\n")
    before = sidecar(root, "memory/a.json")
    data = do(root, adopt)["data"]
    assert data["nodes"] == ["feature.b"]
    (refused,) = data["refused"]
    assert (refused["id"], refused["path"]) == ("feature.a", ".memory/memory/a.md")
    assert reason in refused["reason"] and "AKIA" not in refused["reason"]
    assert sidecar(root, "memory/a.json") == before and (root / ".memory/memory/a.md").read_bytes() == text


def test_a_node_of_the_original_tool_gets_its_kind_of_hash(tmp_path: Path) -> None:
    write_config(tmp_path)
    write_node(tmp_path, "project.demo", "# Demo\n", place="memory/project", tool=True)
    write_node(tmp_path, "feature.x", "Old", place="memory/features/x", tool=True)
    (tmp_path / ".memory/memory/features/x.md").write_text("New\n")
    (tmp_path / ".memory/events.jsonl").touch()
    assert do(tmp_path, adopt)["data"]["nodes"] == ["feature.x"]
    assert follows_tool(sidecar(tmp_path, "memory/features/x.json"), b"New\n") is True


def test_without_git_nothing_is_adopted_by_a_sync_that_fails(tmp_path: Path) -> None:
    write_config(tmp_path)
    write_node(tmp_path, "project.demo", "# Demo\n")
    (tmp_path / ".memory/memory/demo.md").write_text("New\n")
    before = files_of(tmp_path)
    assert do(tmp_path, sync, adopt_edits=True)["error"]["code"] == "MemoryGitRequired"
    assert files_of(tmp_path) == before


def test_an_edit_that_was_not_committed_needs_no_copy(root: Path) -> None:
    """Adopting writes the sidecar only; the edited text is still there."""
    (root / ".memory/memory/a.md").write_text("By hand.\n")
    do(root, adopt)
    assert not (root / ".memory/recovery").exists()
