"""No command runs a program that a repository's configuration names."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from armed_repositories import ArmedRepository
from mcp_agent import agent
from memglot.cli.main import run as run_command
from memglot.cli.session import Session
from memglot.mcp.config import ServerConfig
from memglot.mcp.server import MemglotServer
from memglot.project.diff import diff
from memglot.project.storage.git import Git
from memglot.project.sync import sync
from repo_projects import do, feature, git, new_project, save, saved

# One of each command that reads; the ids exist in the project below.
READING = [
    ["status"],
    ["check"],
    ["diff"],
    ["query", "how does alpha work"],
    ["inspect", "feature.alpha"],
    ["sync", "--dry-run"],
    ["sync"],
    ["projects"],
    ["view"],
]
WRITING = [["rebuild"], ["init"], ["sync"], ["save", "--stdin"], ["reset"], ["init"], ["reset"], ["restore"]]


@pytest.fixture
def armed(tmp_path: Path) -> ArmedRepository:
    """A project with anchored nodes and a submodule; it is not armed yet."""
    root = new_project(tmp_path)
    inner = ArmedRepository(tmp_path / "inner", tmp_path / "outside")
    inner.root.mkdir()
    git(inner.root, "init", "-q", "-b", "main")
    (inner.root / "part.md").write_text("part\n")
    git(inner.root, "add", "-A")
    git(inner.root, "commit", "-q", "-m", "inner")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "vendor/inner")
    for name in ("a.py", "b.md", "c.json"):
        (root / "src" / name).parent.mkdir(exist_ok=True)
        (root / "src" / name).write_text(f"{name}\n" * 20)
    nodes = [feature("Alpha", anchors=["src/", "vendor/inner/"]), feature("Beta", anchors=["gone/"])]
    saved(root, nodes=nodes)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "project")
    return ArmedRepository(root, tmp_path / "outside")


def touch(root: Path) -> None:
    """Give every file another time, so that git compares contents, and change some."""
    for path in root.rglob("*"):
        if path.is_file() and ".git" not in path.relative_to(root).parts:
            os.utime(path, (1_700_000_000, 1_700_000_000))
    (root / "src/a.py").write_text("changed\n")
    (root / "src/b.md").rename(root / "src/moved.md")
    with open(root / ".memory/memory/alpha.md", "a") as file:
        file.write("\nMore.\n")


def command(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str, stdin: bytes = b"") -> int:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    return run_command(Session(), [*arguments])


def request_of(title: str) -> bytes:
    return json.dumps({"task": "t", "nodes": [feature(title, anchors=["src/"])]}).encode()


def run_all(armed: ArmedRepository, monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, list[str]]:
    """Run every command and tool on an armed project; return the programs that ran, by command."""
    found: dict[str, list[str]] = {}

    def record(name: str) -> None:
        if ran := armed.ran():
            found[name] = ran

    store = str(folder / "store.db")
    for number, arguments in enumerate([*READING, *WRITING]):
        touch(armed.root) if (armed.root / "src/b.md").exists() else None
        command(armed.root, monkeypatch, "repo", *arguments, stdin=request_of(f"From {number}"))
        record(" ".join(arguments))
    command(armed.root, monkeypatch, "--store", store, "import", str(armed.root), "--format", "repo")
    record("import")
    command(armed.root, monkeypatch, "--store", store, "add", "text", "--tree", "a")
    command(armed.root, monkeypatch, "--store", store, "export", str(armed.root), "--format", "repo", "--force")
    record("export")
    server = MemglotServer(ServerConfig(store=store, roots=(armed.root,))).server()
    with agent(server) as one:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("status_memory", {}),
            ("query_memory", {"question": "alpha"}),
            ("inspect_memory", {"id": "feature.alpha"}),
            ("save_memory", {"task": "t", "nodes": [feature("By tool", anchors=["src/"])]}),
            ("me_memory_import", {"path": str(armed.root), "format": "repo"}),
            ("me_memory_export", {"path": str(armed.root), "format": "repo", "force": True}),
        ]
        for tool, values in calls:
            one.call_raw(tool, values)
            record(tool)
    shutil.rmtree(armed.root / ".memory")
    save(armed.root, nodes=[feature("After deletion")])
    record("save after a deletion")
    return found


@pytest.mark.parametrize("filter", ["clean", "process"])
def test_no_command_runs_a_program_of_the_repository(
    armed: ArmedRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, filter: str
) -> None:
    ArmedRepository(armed.root / "vendor/inner", tmp_path / "outside").arm(filter=filter)
    armed.arm(filter=filter)
    touch(armed.root)
    plain = ["git", "-c", "alias.status=", "status"]
    subprocess.run(plain, cwd=armed.root, capture_output=True, check=False)
    ran = armed.ran()
    assert {"core-fsmonitor", f"filter--evil--{filter}"} <= set(ran), "the programs can run"
    touch_again = armed.root / "src/c.json"
    os.utime(touch_again, (1_600_000_000, 1_600_000_000))
    assert run_all(armed, monkeypatch, tmp_path) == {}


URLS: dict[str, Callable[[ArmedRepository], str]] = {
    "path": lambda armed: str(armed.root.parent / "inner"),
    "ext": lambda armed: "ext::" + armed.program("ext"),
    "ssh": lambda armed: "ssh://nowhere.invalid/a",
    "git": lambda armed: "git://nowhere.invalid/a",
}


@pytest.mark.parametrize("url", URLS)
def test_missing_objects_are_never_fetched(
    armed: ArmedRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str
) -> None:
    armed.arm()
    armed.promise(URLS[url](armed))
    armed.lose("HEAD:src/a.py", "HEAD:src/b.md", "HEAD:.memory/memory/alpha.md", "HEAD:.memory/memory/alpha.json")
    touch(armed.root)
    subprocess.run(["git", "cat-file", "blob", "HEAD:src/a.py"], cwd=armed.root, capture_output=True, check=False)
    assert armed.ran(), "the programs can run"
    assert run_all(armed, monkeypatch, tmp_path) == {}


def filtered(tmp_path: Path, *, clean: str, smudge: str) -> Path:
    """A project whose texts in `data/` go through a filter; its programs run for the user, as usual."""
    root = new_project(tmp_path)
    (root / ".gitattributes").write_text("data/** filter=mine -text\n")
    git(root, "config", "filter.mine.clean", clean)
    git(root, "config", "filter.mine.smudge", smudge)
    git(root, "config", "filter.mine.required", "true")
    (root / "data").mkdir()
    (root / "data/one.bin").write_text("abc\n")
    (root / "data/two.bin").write_text("xyz\n")
    saved(root, nodes=[feature("One", anchors=["data/one.bin"]), feature("Two", anchors=["data/two.bin"])])
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "project")
    assert do(root, sync)["ok"]
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "synced")
    return root


def changed_nodes(root: Path) -> list[str]:
    answer = do(root, sync, dry_run=True)
    assert answer["ok"], answer
    return [entry["id"] for entry in answer["data"]["changed"]]


def test_files_with_a_filter_are_compared_by_what_git_recorded(tmp_path: Path) -> None:
    root = filtered(tmp_path, clean="tr a-y b-z", smudge="tr b-z a-y")
    assert git(root, "show", "HEAD:data/one.bin") == "bcd\n"
    assert changed_nodes(root) == []
    (root / "data/one.bin").write_text("ab2\n")
    assert changed_nodes(root) == ["feature.one"]


def test_large_files_of_lfs_are_compared_by_their_digest(tmp_path: Path) -> None:
    program = tmp_path / "pointer.sh"
    program.write_text(
        't=$(mktemp); cat > $t; printf "version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n" '
        "$(sha256sum < $t | cut -c-64) $(wc -c < $t); rm $t"
    )
    root = filtered(tmp_path, clean=f"sh {program}", smudge="cat")
    assert git(root, "show", "HEAD:data/one.bin").startswith("version https://git-lfs")
    os.utime(root / "data/one.bin", (1_700_000_000, 1_700_000_000))
    assert changed_nodes(root) == [], "the same content with another time"
    (root / "data/one.bin").write_text("ab2\n")
    assert changed_nodes(root) == ["feature.one"]


def test_line_ends_that_git_converts_are_no_change(tmp_path: Path) -> None:
    root = new_project(tmp_path)
    git(root, "config", "core.autocrlf", "true")
    (root / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    saved(root, nodes=[feature("One", anchors=["a.txt"])])
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "project")
    assert do(root, sync)["ok"]
    for path in ("a.txt", ".memory/memory/one.md"):
        os.utime(root / path, (1_700_000_000, 1_700_000_000))
    assert changed_nodes(root) == []
    assert do(root, diff)["data"]["changed_files"] == [".memory/sync-state.json"]


def test_changes_in_a_submodule_are_seen(tmp_path: Path, armed: ArmedRepository) -> None:
    root = armed.root
    assert do(root, sync)["ok"] and changed_nodes(root) == []
    (root / "vendor/inner/part.md").write_text("changed\n")
    assert changed_nodes(root) == ["feature.alpha"]
    git(root, "-C", "vendor/inner", "checkout", "-q", ".")
    (root / "vendor/inner/new.md").write_text("new\n")
    assert changed_nodes(root) == ["feature.alpha"]


def test_deleted_memory_with_a_filter_is_not_restored_unfiltered(tmp_path: Path) -> None:
    root = filtered(tmp_path, clean="tr a-y b-z", smudge="tr b-z a-y")
    (root / ".gitattributes").write_text(".memory/** filter=mine\n")
    git(root, "add", "--renormalize", "-A")
    git(root, "commit", "-q", "-m", "filtered")
    shutil.rmtree(root / ".memory")
    answer = save(root, nodes=[feature("Three")])
    assert not answer["ok"] and "git restore" in answer["error"]["message"]
    assert not (root / ".memory").exists()


def test_renames_are_found_without_objects_to_compare(tmp_path: Path, armed: ArmedRepository) -> None:
    root = armed.root
    base = git(root, "rev-parse", "HEAD").strip()
    git(root, "mv", "src/b.md", "src/moved.md")
    git(root, "commit", "-q", "-m", "moved")
    armed.promise(str(root.parent / "nowhere"))
    armed.lose(f"{base}:src/b.md")
    found = Git(root).changes(base)
    assert [(change.status, change.path, change.old_path) for change in found] == [("R", "src/moved.md", "src/b.md")]


def test_links_in_place_of_submodules_are_not_followed(armed: ArmedRepository) -> None:
    root = armed.root
    commit = git(root, "rev-parse", "HEAD").strip()
    for name in ("one", "two"):
        git(root, "update-index", "--add", "--cacheinfo", f"160000,{commit},{name}")
        (root / name).symlink_to(".")
    assert Git(root).tree.opaque == ["one", "two"]
