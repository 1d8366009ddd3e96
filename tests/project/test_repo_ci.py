"""The strict check, the hook for pre-commit, and the GitHub Action, with the real programs."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import memglot
from memglot.project.check import run as checking
from repo_projects import GIT, feature, git, new_project, saved

ROOT = Path(__file__).parents[2]
SOURCE = Path(memglot.__file__).parent


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = new_project(tmp_path)
    (root / "src").mkdir()
    (root / "src/a.py").write_text("pass\n")
    saved(root, nodes=[feature("A", anchors=["src/"])])
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    return root


def run(root: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | GIT | {"HOME": str(root.parent), "MEMORY_HOME": str(root.parent / "home")} | more
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    environment["PYTHONPATH"] = str(SOURCE.parent)
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)


def check(root: Path, *options: str) -> tuple[int, dict[str, Any]]:
    done = run(root, sys.executable, "-m", "memglot", "repo", "check", "--json", *options)
    return done.returncode, json.loads(done.stdout)["data"]


def test_a_clean_project_passes_the_strict_check(root: Path) -> None:
    code, data = check(root, "--strict")
    assert (code, data["counted_warnings"]) == (0, 0)
    assert "counted_warnings" not in check(root)[1]


def dead_anchor(root: Path) -> None:
    git(root, "mv", "src", "lib")


def old_map(root: Path) -> None:
    path = root / "AGENTS.md"
    path.write_text(path.read_text().replace("It works.", "It failed."))


def edited_text(root: Path) -> None:
    (root / ".memory/memory/a.md").write_text("Edited.\n")


@pytest.mark.parametrize("change", [dead_anchor, old_map, edited_text])
def test_warnings_fail_the_strict_check_only(root: Path, change: Any) -> None:
    change(root)
    code, data = check(root)
    assert code == 0 and data["valid"] and data["warnings"]
    code, data = check(root, "--strict")
    assert code == 1 and data["valid"] and data["counted_warnings"] > 0
    done = run(root, sys.executable, "-m", "memglot", "repo", "check", "--strict")
    assert done.stdout.splitlines()[-1].startswith("The strict check failed: ")


def test_what_is_a_choice_does_not_fail_the_strict_check(root: Path) -> None:
    (root / "AGENTS.md").unlink()
    (root / "CLAUDE.md").unlink()
    code, data = check(root, "--strict")
    assert code == 0 and {issue["code"] for issue in data["warnings"]} == {"ProductMapMissing"}


def test_every_warning_is_documented_with_what_it_does_to_a_strict_check() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (SOURCE / "project/check").glob("*.py"))
    codes = set(re.findall(r'\.warn\(\s*"(\w+)"', source)) | set(re.findall(r'issue\("(ProductMap\w+)"', source))
    assert len(codes) >= 10 and checking.TOLERATED <= codes
    docs = (ROOT / "docs/repo.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(\w+)` \| .+ \| (yes|no) \|$", docs, re.MULTILINE))
    assert listed == {code: "no" if code in checking.TOLERATED else "yes" for code in codes}


# The hook.


def test_the_hook_refuses_a_commit_that_breaks_memory(root: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["id"], hook["language"], hook["pass_filenames"]) == ("memglot-repo-check", "python", False)
    words = shlex.split(hook["entry"])
    script = root / ".git/hooks/pre-commit"
    script.write_text(f"#!/bin/sh\nexec {shlex.join([sys.executable, '-m', *words])}\n")
    script.chmod(0o755)
    (root / "src/b.py").write_text("pass\n")
    run(root, "git", "add", "-A")
    assert run(root, "git", "commit", "-qm", "fine").returncode == 0
    run(root, "git", "mv", "src", "lib")
    done = run(root, "git", "commit", "-qm", "moved")
    assert done.returncode == 1 and "The anchor `src/` of `feature.a` matches no files." in done.stdout + done.stderr
    assert run(root, "git", "log", "-1", "--format=%s").stdout == "fine\n"
    run(root, sys.executable, "-m", "memglot", "repo", "edit", "feature.a", "--anchor", "lib/")
    run(root, "git", "add", "-A")
    done = run(root, "git", "commit", "-qm", "moved")
    assert done.returncode == 0, done.stdout + done.stderr


# The action.


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return found


def test_the_action_is_composite_and_names_every_input_that_it_uses(action: dict[str, Any]) -> None:
    assert action["runs"]["using"] == "composite" and action["name"] and action["description"]
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"\$\{\{ inputs\.(\w+) \}\}", text)) == set(action["inputs"])
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        # Values of inputs never become part of a script, where they could be commands.
        assert "${{" not in step["run"]
        assert subprocess.run(["bash", "-n", "-c", step["run"]]).returncode == 0
        used = set(re.findall(r"\$(?:\{)?([A-Z_]+)", step["run"])) - {"RUNNER_TEMP", "GITHUB_ACTION_PATH"}
        assert used == set(step["env"])


def test_the_action_checks_the_project_that_it_is_given(root: Path, action: dict[str, Any]) -> None:
    """What `pip` puts into the folder is the source here; `scripts/check_wheel.py` runs the installation, too."""
    script = action["runs"]["steps"][-1]["run"]
    runner = root.parent / "runner"
    runner.mkdir()
    (runner / "memglot").symlink_to(SOURCE.parent)

    def act(strict: str) -> int:
        values = {"PYTHON": sys.executable, "STRICT": strict, "PROJECT": root.name, "RUNNER_TEMP": str(runner)}
        return run(root.parent, "bash", "-e", "-o", "pipefail", "-c", script, **values).returncode

    assert act("true") == act("false") == 0
    dead_anchor(root)
    assert (act("true"), act("false")) == (1, 0)
    (root / ".memory/memory/a.json").write_text("{")
    assert (act("true"), act("false")) == (1, 1)
