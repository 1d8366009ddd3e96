"""What `memglot repo` tells people and programs: it is true, it names a way on, and the exit status goes with it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from memglot.cli.face import Face
from memglot.cli.main import run
from repo_projects import git, new_project
from repo_stores import put, write_config


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
        face = Face()
        face.json = "--json" in arguments
        code = run(face, ["repo", *arguments])
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
    assert told.code == 0 and told.out.startswith("Memory is back from") and told.err == ""
    assert registered(tmp_path) == []
