"""The output and exit codes of `memglot repo`."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from memglot.cli.main import run
from memglot.cli.session import Session
from repo_projects import feature, git, new_project, saved
from repo_stores import put, write_config, write_store


class Output(NamedTuple):
    """The exit code and output of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Output]


@pytest.fixture
def repo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run a command of `memglot repo` in a folder; the registry is this test's own."""
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path / "home"))

    def run_repo(folder: Path, *arguments: str, stdin: bytes = b"") -> Output:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        session = Session()
        session.json = "--json" in arguments
        code = run(session, ["repo", *arguments])
        return Output(code, *capsys.readouterr())

    return run_repo


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_project(tmp_path)


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "state")


def registered(tmp_path: Path) -> list[str]:
    path = tmp_path / "home/projects.json"
    return [row["project_root"] for row in json.loads(path.read_bytes())["projects"]] if path.exists() else []


def test_a_check_of_a_broken_config_returns_its_findings(root: Path, repo: Run) -> None:
    put(root, "config.json", "{")
    output = repo(root, "check", "--json")
    envelope = json.loads(output.out)
    assert output.code == 1 and envelope["ok"] and not envelope["data"]["valid"]
    assert envelope["data"]["errors"][0]["path"] == ".memory/config.json"


def test_storage_of_another_version_is_compared_cleared_and_restored(root: Path, repo: Run, tmp_path: Path) -> None:
    commit(root)
    write_config(root, version=4)
    output = repo(root, "diff")
    assert output.code == 0 and '"version": 4' in output.out and output.err == ""
    assert repo(root, "reset").code == 0
    output = repo(root, "restore")
    assert output.code == 0 and output.out.startswith("Memory was restored from") and output.err == ""
    assert registered(tmp_path) == []


def test_reset_all_reports_failures_and_exits_with_1(tmp_path: Path, repo: Run) -> None:
    for name in ("bad", "good"):
        (tmp_path / name).mkdir()
        write_store(tmp_path / name)
        write_config(tmp_path / name, project={"id": f"project.{name}", "name": name})
        assert repo(tmp_path / name, "status").code == 0
    put(tmp_path / "bad", ".backup", "no folder")
    planned = repo(tmp_path, "reset", "--all", "--destroy", "--dry-run")
    assert planned.code == 0 and planned.out.count("would be removed with its backups") == 2
    assert "were removed" not in planned.out
    output = repo(tmp_path, "reset", "--all")
    assert output.code == 1
    assert output.out.startswith("good: Memory was cleared. Backup: ")
    assert output.err.startswith("error: bad: No backup of `.memory` could be created")
    output = repo(tmp_path, "reset", "--all", "-q")
    assert (output.code, output.out) == (1, "") and output.err.startswith("error: bad: ")
    output = repo(tmp_path, "reset", "--all", "--json")
    envelope = json.loads(output.out)
    assert output.code == 1 and envelope["ok"] and output.err == ""
    assert envelope["data"]["projects_failed"][0]["error"]["code"] == "MemoryInternalError"


def test_a_dry_run_of_reset_lists_what_would_be_removed(root: Path, repo: Run) -> None:
    output = repo(root, "reset", "--dry-run")
    assert output.out.startswith("Nothing was removed.\nWould be removed after a backup:\n- config.json\n")
    output = repo(root, "reset", "--destroy", "--dry-run")
    assert output.out.startswith("Nothing was removed.\nWould be removed without a backup:\n- config.json\n")
    assert json.loads(repo(root, "reset", "--dry-run", "--json").out)["data"]["dry_run"] is True
    assert (root / ".memory/config.json").exists()


def test_a_forced_init_reports_the_memory_it_clears(root: Path, repo: Run) -> None:
    saved(root, nodes=[feature("A")])
    output = repo(root, "init", "--force", "--dry-run")
    assert output.out.startswith("The existing memory would be cleared after a backup:\n- config.json\n")
    assert "Memory would be created" in output.out and "- .memory/schema/object.schema.json" in output.out
    assert (root / ".memory/memory/a.json").exists()
    output = repo(root, "init", "--force")
    assert output.out.startswith("The existing memory was cleared. Backup: .memory/.backup/memory-")
    assert "already" not in output.err and not (root / ".memory/memory/a.json").exists()
    assert json.loads(repo(root, "init", "--json").out)["data"]["cleared"] is None


def test_a_forced_init_works_without_a_store(root: Path, tmp_path: Path, repo: Run) -> None:
    (tmp_path / "empty/.memory").mkdir(parents=True)
    for folder in (root, tmp_path / "empty"):
        if folder == root:
            assert repo(root, "reset").code == 0
        output = repo(folder, "init", "--force")
        assert output.code == 0 and output.out.startswith("Memory is ready."), output
        assert (folder / ".memory/config.json").exists()


def test_files_of_a_partial_store_are_not_overwritten(tmp_path: Path, repo: Run) -> None:
    put(tmp_path, "events.jsonl", "mine")
    output = repo(tmp_path, "init")
    assert output.code == 3 and "init --force" in output.err and ".memory/events.jsonl" in output.err
    assert repo(tmp_path, "init", "--force").code == 0
    assert (tmp_path / ".memory/events.jsonl").read_bytes() == b""
    assert [path.suffix for path in (tmp_path / ".memory/.backup").iterdir()] == [".gz"]


def test_after_destroy_the_commands_it_suggests_for_git_work(root: Path, repo: Run) -> None:
    commit(root)
    output = repo(root, "reset", "--destroy")
    assert "git restore --staged --worktree .memory" in output.out and "commit the deletion" in output.out
    output = repo(root, "init")
    assert output.code == 3 and "git restore --staged --worktree .memory" in output.err
    git(root, "restore", "--staged", "--worktree", ".memory")
    assert repo(root, "status").code == 0
    assert repo(root, "reset", "--destroy").code == 0
    git(root, "rm", "-q", "-r", "--cached", ".memory")
    git(root, "commit", "-q", "-m", "gone")
    assert repo(root, "init").code == 0
    output = repo(root, "reset", "--destroy")
    assert output.out == "Memory and its backups were removed.\n"


def test_status_all_shows_broken_and_deleted_projects(root: Path, tmp_path: Path, repo: Run) -> None:
    saved(root, nodes=[feature("Of the parent", stage="shipped")])
    nested = root / "nested"
    nested.mkdir()
    for name in ("gone", "broken", "nested"):
        folder = root / name if name == "nested" else tmp_path / name
        folder.mkdir(exist_ok=True)
        git(folder, "init", "-q", "-b", "main")
        assert repo(folder, "init").code == 0
    assert repo(root, "status").code == 0
    assert "prune" not in repo(root, "status", "--all").out
    shutil.rmtree(tmp_path / "gone")
    put(tmp_path / "broken", "config.json", "{")
    shutil.rmtree(nested / ".memory")
    shutil.rmtree(nested / ".git")
    output = repo(root, "status", "--all")
    lines = {line.partition(":")[0]: line for line in output.out.splitlines()}
    assert lines["Gone"].startswith("Gone: The folder does not exist. (")
    assert lines["Broken"].startswith("Broken: `.memory/config.json` contains invalid JSON")
    assert lines["Nested"].startswith("Nested: Memory is not initialized in this project.")
    assert "shipped 1" in lines["Acme Render"]
    assert "`memglot repo projects prune`" in output.out.splitlines()[-1]
    assert repo(root, "projects", "prune").code == 0
    assert repo(root, "status", "--all").out == lines["Acme Render"] + "\n"


def request(**more: object) -> bytes:
    return json.dumps({"task": "test", **more}).encode()


def test_a_save_that_changes_nothing_reports_it(root: Path, repo: Run) -> None:
    node = request(nodes=[feature("A")])
    assert repo(root, "save", "--stdin", stdin=node).out.startswith("Saved: 1 created.")
    node = request(nodes=[{"id": "feature.a", "title": "A"}])
    assert repo(root, "save", "--stdin", stdin=node).out == "Nothing changed: all of this is already stored.\n"
    output = repo(root, "save", "--stdin", "--dry-run", stdin=node)
    assert output.out == "Nothing would change: all of this is already stored.\n"
    data = json.loads(repo(root, "save", "--stdin", "--json", stdin=node).out)["data"]
    assert data["index_updated"] is False and data["files_changed"] == []


def test_an_unknown_id_is_shown_in_text_output(root: Path, repo: Run) -> None:
    link = {"predicate": "affects", "to": "feature.no"}
    output = repo(root, "save", "--stdin", stdin=request(nodes=[feature("A", related=[link])]))
    assert output.code == 1 and output.err.splitlines()[-1] == "  at /changes/1/to: `feature.no`"


def test_outside_of_git_only_commands_that_need_git_mention_it(tmp_path: Path, repo: Run) -> None:
    output = repo(tmp_path, "init")
    assert output.code == 0 and not any(word in output.out.lower() for word in ("gitignore", "commit"))
    for name in ("sync", "diff"):
        output = repo(tmp_path, name)
        assert output.code == 3 and "`git init`" in output.err


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_quiet_prints_errors_and_query_results(root: Path, repo: Run, option: str) -> None:
    (root / "a.txt").write_text("a")
    commit(root)
    node = request(nodes=[feature("Alpha", anchors=["a.txt"])])
    silent = [
        ("init",), ("init", "--force"), ("save", "--stdin"), ("sync",), ("rebuild",), ("reset",), ("restore",),
        ("projects", "add"), ("projects", "prune"), ("projects", "remove", str(root)), ("reset", "--all"),
    ]  # fmt: skip
    for command in silent:
        assert repo(root, *command, option, stdin=node) == Output(0, "", ""), command
    asked = [
        ("query", "alpha"), ("status",), ("status", "--all"), ("check",), ("inspect", "feature.alpha"), ("diff",),
        ("projects",), ("projects", "list"), ("init", "--brief"),
    ]  # fmt: skip
    for command in asked:
        output = repo(root, *command, option)
        assert output.code == 0 and output.out and not output.err, command
    output = repo(root, "inspect", "feature.no", option)
    assert output.code == 1 and output.err.startswith("error: MemoryObjectNotFound")


def test_names_never_break_a_line(root: Path, repo: Run) -> None:
    commit(root)
    assert repo(root, "sync").code == 0
    for name in ("two\nlines.txt", "folder\n/other\x1b[31m.txt", "right\u202eleft"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x")
    output = repo(root, "sync")
    gaps = [line for line in output.out.splitlines() if "no node" in line]
    assert len(gaps) == 2 and not any(character in output.out for character in ("\x1b", "\u202e"))
    assert any("two\\nlines.txt" in line and "right\\u202eleft" in line for line in gaps)
    assert any("folder\\n: 1 changed file, folder\\n/other\\x1b[31m.txt" in line for line in gaps)


def test_a_dry_run_of_init_reports_plans_only(tmp_path: Path, repo: Run) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "CLAUDE.md").write_text("Mine.\n")
    output = repo(tmp_path, "init", "--dry-run")
    assert ".gitignore: would be updated.\nAGENTS.md: would be created.\nCLAUDE.md: would be updated." in output.out
    assert not (tmp_path / ".gitignore").exists()
    output = repo(tmp_path, "init")
    assert ".gitignore: updated.\nAGENTS.md: created.\nCLAUDE.md: updated." in output.out
    assert ".gitignore: unchanged.\nAGENTS.md: unchanged." in repo(tmp_path, "init", "--dry-run").out
