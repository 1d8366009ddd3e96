"""Projects for the tests of project memory."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from memglot.project.envelope import run
from memglot.project.init import init
from memglot.project.project import Project
from memglot.project.save.run import save as save_request

GIT = {"GIT_AUTHOR_NAME": "T", "GIT_AUTHOR_EMAIL": "t@e.x", "GIT_COMMITTER_NAME": "T", "GIT_COMMITTER_EMAIL": "t@e.x"}


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder with a fixed identity."""
    command = ["git", "-c", "user.name=T", "-c", "user.email=t@e.x", "-c", "commit.gpgsign=false", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def new_project(folder: Path, name: str = "acme-render") -> Path:
    """A repository with an empty project memory."""
    root = folder / name
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    answer = run(root, lambda project: init(project), register=False)
    assert answer["ok"], answer
    return root


def copied_store(source: Path, folder: Path) -> Path:
    """A store of the shared fixtures, which are read-only, as a project of its own."""
    root = folder / "store"
    shutil.copytree(source, root, copy_function=shutil.copyfile)
    for place in (root, *root.rglob("*")):
        place.chmod(0o755 if place.is_dir() else 0o644)
    git(root, "init", "-q", "-b", "main")
    return root


def save(root: Path, *, dry_run: bool = False, **request: Any) -> dict[str, Any]:
    """Save, and return the envelope."""
    value = {"task": "test", **request}
    text = json.dumps(value).encode()
    return run(root, lambda project: save_request(project, text, dry_run=dry_run), register=False)


def saved(root: Path, **request: Any) -> dict[str, Any]:
    """Save successfully, and return the data."""
    answer = save(root, **request)
    assert answer["ok"], answer["error"]
    data: dict[str, Any] = answer["data"]
    return data


def do(root: Path, command: Any, *values: Any, **options: Any) -> dict[str, Any]:
    """Run a command, and return its envelope."""
    return run(root, lambda project: command(project, *values, **options), register=False)


def feature(title: str, body: str = "It works.", **more: Any) -> dict[str, Any]:
    """A node to save."""
    return {"kind": "feature", "title": title, "body": body, **more}


def files_of(root: Path) -> dict[str, bytes]:
    """The canonical files of a project memory."""
    folder = root / ".memory"
    left_out = ("index", "recovery", ".backup", "schema")
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in left_out
    }


def sidecar(root: Path, path: str) -> dict[str, Any]:
    """A JSON file of a project memory."""
    found: dict[str, Any] = json.loads((root / ".memory" / path).read_bytes())
    return found


def events(root: Path) -> list[dict[str, Any]]:
    """The log."""
    return [json.loads(line) for line in (root / ".memory/events.jsonl").read_text("utf-8").splitlines()]


def project_at(root: Path) -> Project:
    """The project of a folder."""
    return Project.find(root)
