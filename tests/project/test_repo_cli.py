"""What `memglot repo` tells people and programs: it is true, it names a way on, and the exit status goes with it."""

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


class Told(NamedTuple):
    """What a command said."""

    code: int
    out: str
    err: str


Tell = Callable[..., Told]


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Tell:
    """Run a command of `memglot repo` in a folder; the registry is this test's own."""
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path / "home"))

    def told(folder: Path, *arguments: str, stdin: bytes = b"") -> Told:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        session = Session()
        session.json = "--json" in arguments
        code = run(session, ["repo", *arguments])
        return Told(code, *capsys.readouterr())

    return told


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return new_project(tmp_path)


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "state")


def registered(tmp_path: Path) -> list[str]:
    path = tmp_path / "home/projects.json"
    return [row["project_root"] for row in json.loads(path.read_bytes())["projects"]] if path.exists() else []


def test_a_check_of_a_broken_config_answers_with_its_findings(root: Path, tell: Tell) -> None:
    put(root, "config.json", "{")
    told = tell(root, "check", "--json")
    envelope = json.loads(told.out)
    assert told.code == 1 and envelope["ok"] and not envelope["data"]["valid"]
    assert envelope["data"]["errors"][0]["path"] == ".memory/config.json"


def test_storage_of_another_version_is_compared_cleared_and_brought_back(
    root: Path, tell: Tell, tmp_path: Path
) -> None:
    commit(root)
    write_config(root, version=4)
    told = tell(root, "diff")
    assert told.code == 0 and '"version": 4' in told.out and told.err == ""
    assert tell(root, "reset").code == 0
    told = tell(root, "restore")
    assert told.code == 0 and told.out.startswith("Memory was restored from") and told.err == ""
    assert registered(tmp_path) == []


def test_reset_all_tells_of_what_failed_and_its_status_does_too(tmp_path: Path, tell: Tell) -> None:
    for name in ("bad", "good"):
        (tmp_path / name).mkdir()
        write_store(tmp_path / name)
        write_config(tmp_path / name, project={"id": f"project.{name}", "name": name})
        assert tell(tmp_path / name, "status").code == 0
    put(tmp_path / "bad", ".backup", "no folder")
    planned = tell(tmp_path, "reset", "--all", "--destroy", "--dry-run")
    assert planned.code == 0 and planned.out.count("would be removed with its backups") == 2
    assert "were removed" not in planned.out
    told = tell(tmp_path, "reset", "--all")
    assert told.code == 1
    assert told.out.startswith("good: Memory was cleared. Backup: ")
    assert told.err.startswith("error: bad: No backup of `.memory` could be created")
    told = tell(tmp_path, "reset", "--all", "-q")
    assert (told.code, told.out) == (1, "") and told.err.startswith("error: bad: ")
    told = tell(tmp_path, "reset", "--all", "--json")
    envelope = json.loads(told.out)
    assert told.code == 1 and envelope["ok"] and told.err == ""
    assert envelope["data"]["projects_failed"][0]["error"]["code"] == "MemoryInternalError"


def test_a_dry_run_of_a_reset_tells_what_would_go(root: Path, tell: Tell) -> None:
    told = tell(root, "reset", "--dry-run")
    assert told.out.startswith("Nothing was removed.\nWould be removed after a backup:\n- config.json\n")
    told = tell(root, "reset", "--destroy", "--dry-run")
    assert told.out.startswith("Nothing was removed.\nWould be removed without a backup:\n- config.json\n")
    assert json.loads(tell(root, "reset", "--dry-run", "--json").out)["data"]["dry_run"] is True
    assert (root / ".memory/config.json").exists()


def test_a_forced_init_tells_of_the_memory_that_goes(root: Path, tell: Tell) -> None:
    saved(root, nodes=[feature("A")])
    told = tell(root, "init", "--force", "--dry-run")
    assert told.out.startswith("The existing memory would be cleared after a backup:\n- config.json\n")
    assert "Memory would be created" in told.out and "- .memory/schema/object.schema.json" in told.out
    assert (root / ".memory/memory/a.json").exists()
    told = tell(root, "init", "--force")
    assert told.out.startswith("The existing memory was cleared. Backup: .memory/.backup/memory-")
    assert "already" not in told.err and not (root / ".memory/memory/a.json").exists()
    assert json.loads(tell(root, "init", "--json").out)["data"]["cleared"] is None


def test_a_forced_init_begins_where_there_is_no_store(root: Path, tmp_path: Path, tell: Tell) -> None:
    (tmp_path / "empty/.memory").mkdir(parents=True)
    for folder in (root, tmp_path / "empty"):
        if folder == root:
            assert tell(root, "reset").code == 0
        told = tell(folder, "init", "--force")
        assert told.code == 0 and told.out.startswith("Memory is ready."), told
        assert (folder / ".memory/config.json").exists()


def test_the_rest_of_a_memory_is_not_written_over(tmp_path: Path, tell: Tell) -> None:
    put(tmp_path, "events.jsonl", "mine")
    told = tell(tmp_path, "init")
    assert told.code == 3 and "init --force" in told.err and ".memory/events.jsonl" in told.err
    assert tell(tmp_path, "init", "--force").code == 0
    assert (tmp_path / ".memory/events.jsonl").read_bytes() == b""
    assert [path.suffix for path in (tmp_path / ".memory/.backup").iterdir()] == [".gz"]


def test_what_is_destroyed_is_still_in_git_and_what_is_said_of_it_works(root: Path, tell: Tell) -> None:
    commit(root)
    told = tell(root, "reset", "--destroy")
    assert "git restore --staged --worktree .memory" in told.out and "commit the deletion" in told.out
    told = tell(root, "init")
    assert told.code == 3 and "git restore --staged --worktree .memory" in told.err
    git(root, "restore", "--staged", "--worktree", ".memory")
    assert tell(root, "status").code == 0
    assert tell(root, "reset", "--destroy").code == 0
    git(root, "rm", "-q", "-r", "--cached", ".memory")
    git(root, "commit", "-q", "-m", "gone")
    assert tell(root, "init").code == 0
    told = tell(root, "reset", "--destroy")
    assert told.out == "Memory and its backups were removed.\n"


def test_broken_and_deleted_projects_are_shown_as_such(root: Path, tmp_path: Path, tell: Tell) -> None:
    saved(root, nodes=[feature("Of the parent", stage="shipped")])
    nested = root / "nested"
    nested.mkdir()
    for name in ("gone", "broken", "nested"):
        folder = root / name if name == "nested" else tmp_path / name
        folder.mkdir(exist_ok=True)
        git(folder, "init", "-q", "-b", "main")
        assert tell(folder, "init").code == 0
    assert tell(root, "status").code == 0
    assert "prune" not in tell(root, "status", "--all").out
    shutil.rmtree(tmp_path / "gone")
    put(tmp_path / "broken", "config.json", "{")
    shutil.rmtree(nested / ".memory")
    shutil.rmtree(nested / ".git")
    told = tell(root, "status", "--all")
    lines = {line.partition(":")[0]: line for line in told.out.splitlines()}
    assert lines["Gone"].startswith("Gone: The folder does not exist. (")
    assert lines["Broken"].startswith("Broken: `.memory/config.json` contains invalid JSON")
    assert lines["Nested"].startswith("Nested: Memory is not initialized in this project.")
    assert "shipped 1" in lines["Acme Render"]
    assert "`memglot repo projects prune`" in told.out.splitlines()[-1]
    assert tell(root, "projects", "prune").code == 0
    assert tell(root, "status", "--all").out == lines["Acme Render"] + "\n"


def intent(**more: object) -> bytes:
    return json.dumps({"task": "test", **more}).encode()


def test_a_save_that_changes_nothing_says_so(root: Path, tell: Tell) -> None:
    node = intent(nodes=[feature("A")])
    assert tell(root, "save", "--stdin", stdin=node).out.startswith("Saved: 1 created.")
    node = intent(nodes=[{"id": "feature.a", "title": "A"}])
    assert tell(root, "save", "--stdin", stdin=node).out == "Nothing changed: all of this is already stored.\n"
    told = tell(root, "save", "--stdin", "--dry-run", stdin=node)
    assert told.out == "Nothing would change: all of this is already stored.\n"
    data = json.loads(tell(root, "save", "--stdin", "--json", stdin=node).out)["data"]
    assert data["index_updated"] is False and data["files_changed"] == []


def test_an_unknown_id_is_named_to_a_person_too(root: Path, tell: Tell) -> None:
    link = {"predicate": "affects", "to": "feature.no"}
    told = tell(root, "save", "--stdin", stdin=intent(nodes=[feature("A", related=[link])]))
    assert told.code == 1 and told.err.splitlines()[-1] == "  at /changes/1/to: `feature.no`"


def test_outside_of_git_nothing_is_said_of_it_but_where_it_is_needed(tmp_path: Path, tell: Tell) -> None:
    told = tell(tmp_path, "init")
    assert told.code == 0 and not any(word in told.out.lower() for word in ("gitignore", "commit"))
    for name in ("sync", "diff"):
        told = tell(tmp_path, name)
        assert told.code == 3 and "`git init`" in told.err


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_quiet_shows_errors_and_what_was_asked_for(root: Path, tell: Tell, option: str) -> None:
    (root / "a.txt").write_text("a")
    commit(root)
    node = intent(nodes=[feature("Alpha", anchors=["a.txt"])])
    silent = [
        ("init",), ("init", "--force"), ("save", "--stdin"), ("sync",), ("rebuild",), ("reset",), ("restore",),
        ("projects", "add"), ("projects", "prune"), ("projects", "remove", str(root)), ("reset", "--all"),
    ]  # fmt: skip
    for command in silent:
        assert tell(root, *command, option, stdin=node) == Told(0, "", ""), command
    asked = [
        ("query", "alpha"), ("status",), ("status", "--all"), ("check",), ("inspect", "feature.alpha"), ("diff",),
        ("projects",), ("projects", "list"), ("init", "--brief"),
    ]  # fmt: skip
    for command in asked:
        told = tell(root, *command, option)
        assert told.code == 0 and told.out and not told.err, command
    told = tell(root, "inspect", "feature.no", option)
    assert told.code == 1 and told.err.startswith("error: MemoryObjectNotFound")


def test_names_never_break_a_line(root: Path, tell: Tell) -> None:
    commit(root)
    assert tell(root, "sync").code == 0
    for name in ("two\nlines.txt", "folder\n/other\x1b[31m.txt", "right\u202eleft"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x")
    told = tell(root, "sync")
    gaps = [line for line in told.out.splitlines() if "no node" in line]
    assert len(gaps) == 2 and not any(sign in told.out for sign in ("\x1b", "\u202e"))
    assert any("two\\nlines.txt" in line and "right\\u202eleft" in line for line in gaps)
    assert any("folder\\n: 1 changed file, folder\\n/other\\x1b[31m.txt" in line for line in gaps)


def test_a_dry_run_of_init_claims_nothing(tmp_path: Path, tell: Tell) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "CLAUDE.md").write_text("Mine.\n")
    told = tell(tmp_path, "init", "--dry-run")
    assert ".gitignore: would be updated.\nAGENTS.md: would be created.\nCLAUDE.md: would be updated." in told.out
    assert not (tmp_path / ".gitignore").exists()
    told = tell(tmp_path, "init")
    assert ".gitignore: updated.\nAGENTS.md: created.\nCLAUDE.md: updated." in told.out
    assert ".gitignore: unchanged.\nAGENTS.md: unchanged." in tell(tmp_path, "init", "--dry-run").out
