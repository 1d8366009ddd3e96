"""Completion in the shell: what bash gets from the real script, and what it must not get."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from memglot import Memory
from memglot.cli.main import cli
from memglot.cli.session import Session

ONE = "0194a000-0001-7000-8000-00000000ab01"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "store.db"
    monkeypatch.setenv("MEMGLOT_STORE", str(path))
    with Memory.open(path) as memory:
        memory.add(
            "Task queue", id=ONE, tree="work.email", tags=["infra", "queue: main"], kind="decision", scope="team"
        )
        gone = memory.add("gone", id="0194a000-0002-7000-8000-00000000ab02", tree="work")
        memory.delete(gone.id)
    return path


def completions(*words: str) -> list[str]:
    """Return what a shell would offer for the last word."""
    found = ShellComplete(cli, {"obj": Session()}, "memglot", "_MEMGLOT_COMPLETE")
    return [item.value for item in found.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["get", ""], ["0000ab01"]),
        (["get", "0000a"], ["0000ab01"]),
        (["update", "0194a"], [ONE]),
        (["link", "0000ab01", "supports", ""], ["0000ab01"]),
        (["undelete", "0194"], ["0194a000-0002-7000-8000-00000000ab02"]),
        (["list", "--tag", "in"], ["infra"]),
        (["update", "0000ab01", "--remove-tag", "q"], ["queue: main"]),
        (["tags", "rename", "i"], ["infra"]),
        (["search", "x", "--tree", "work."], ["work.email"]),
        (["tree", ""], ["work", "work.email"]),
        (["move", "work", "w"], ["work", "work.email"]),
        (["add", "x", "--scope", "t"], ["team"]),
        (["export", "out.json", "--kind", ""], ["decision"]),
        (["list", "--status", "st"], ["stale"]),
        (["config", "get", "search."], ["search.limit", "search.mode"]),
        (["export", "-f", "ym"], []),
        (["export", "-f", "ya"], ["yaml"]),
        (["list", "--format", "n"], ["ndjson"]),
        (["conf"], ["config", "conflicts"]),
        (["get", "zzz"], []),
    ],
)
def test_values_of_the_store_are_completed(store: Path, words: list[str], expected: list[str]) -> None:
    assert sorted(completions(*words)) == sorted(expected)


def test_the_store_on_the_command_line_is_used(store: Path, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "other.db") as memory:
        memory.add("x", tags=["other"])
    assert completions("--store", str(tmp_path / "other.db"), "list", "--tag", "") == ["other"]


def test_without_a_store_nothing_is_completed_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMGLOT_STORE", str(tmp_path / "none.db"))
    assert completions("get", "") == completions("list", "--tag", "") == []
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "none.db").write_bytes(b"not a store")
    monkeypatch.setenv("MEMGLOT_CONFIG", str(tmp_path / "none.db"))
    assert completions("get", "") == completions("list", "--tag", "") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_the_script(store: Path, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "memglot"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m memglot "$@"\n')
    program.chmod(0o755)
    script = """
        source <(memglot completion bash)
        COMP_WORDS=(memglot list --tag inf) COMP_CWORD=3 COMP_LINE="memglot list --tag inf" COMP_POINT=22
        _memglot_completion memglot inf --tag
        printf '%s\n' "${COMPREPLY[@]}"
    """
    environment = os.environ | {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)
    assert (done.stdout.split(), done.stderr) == (["infra"], "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    from memglot.cli.main import run

    assert run(Session(), ["completion", shell]) == 0
    assert "_MEMGLOT_COMPLETE" in capsys.readouterr().out
