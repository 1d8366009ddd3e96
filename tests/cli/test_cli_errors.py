"""Command lines that fail: invalid arguments, unwritable output, a failing editor."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memglot import Memory

X, Y = (f"0194a000-000{number}-7000-8000-000000000000" for number in (1, 2))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["search", "x", "--limit", "99999999999999999999"], 2),
        (["get", b"01a1\xff"], 2),
        (["import", "-", "-"], 2),
        (["relations", "nope", "--json"], 2),
        ([], 0),
    ],
)
def test_invalid_arguments_are_a_clear_error(store_path: str, arguments: list[Any], code: int) -> None:
    import json

    with Memory.open(store_path) as memory:
        memory.add("x")
    environment = {**os.environ, "MEMGLOT_STORE": store_path}
    done = subprocess.run(
        [sys.executable, "-m", "memglot", *arguments], capture_output=True, env=environment, stdin=subprocess.DEVNULL
    )
    assert done.returncode == code, done.stderr
    assert b"internal" not in done.stderr
    if "--json" in arguments:
        assert json.loads(done.stdout)["error"]["code"] == "not_found"


def test_output_that_cannot_be_written(store_path: str) -> None:
    with Memory.open(store_path) as memory:
        memory.add("x")
    for command, code in (("list --json > /dev/full", 3), ("list | head -n 0", 0), ("list >&-", 0)):
        shell = f"{sys.executable} -m memglot --store {store_path} {command}; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), (command, done.stderr)


def test_an_editor_that_fails_keeps_the_text(store_path: str, tmp_path: Path) -> None:
    with Memory.open(store_path) as memory:
        memory.add("x", id=X)
    script = tmp_path / "editor"
    script.write_text('echo more >> "$1"; exit 1\n')
    environment = {**os.environ, "EDITOR": f"bash {script}", "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "memglot", "--store", store_path, "edit", X]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 3 and "your text is kept in" in done.stderr
    (kept,) = tmp_path.glob(f"memglot-*/{X}.md")
    assert kept.read_text().endswith("more\n")
