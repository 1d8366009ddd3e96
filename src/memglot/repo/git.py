"""Git, as project memory asks it: paths come NUL-terminated, so that every name survives."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from memglot.errors.repo import git_failed
from memglot.formats._repo.words import FOLDER
from memglot.settings import git_environment

_MAX_PATHS = 200
"""How many paths are asked for one by one; a command line ends somewhere."""
_UNTOLD = (f"{FOLDER}/index/", f"{FOLDER}/context/", f"{FOLDER}/exports/", f"{FOLDER}/recovery/", f"{FOLDER}/.lock")


class Git:
    """The repository that a folder lies in."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def find(cls, folder: Path) -> Git | None:
        """The repository around a folder; `None` where there is none, or no git."""
        found = _run(["rev-parse", "--show-toplevel"], folder)
        if found is None or found.returncode or not found.stdout:
            return None
        return cls(Path(found.stdout.decode(errors="surrogateescape").rstrip("\n")))

    def run(self, *arguments: str) -> bytes:
        """What a git command says. Raises `ProjectError` when it fails."""
        found = _run(list(arguments), self.root)
        if found is None:
            raise git_failed(arguments[0], "git is not there")
        if found.returncode:
            raise git_failed(arguments[0], found.stderr.decode(errors="replace").strip() or f"exit {found.returncode}")
        return found.stdout

    def ask(self, *arguments: str) -> bytes | None:
        """What a git command says, or `None` where it fails: for questions whose answer may be no."""
        found = _run(list(arguments), self.root)
        return None if found is None or found.returncode else found.stdout

    def dirty(self, paths: list[str]) -> list[str]:
        """Which of these files are tracked, and differ from what is committed."""
        asked = paths if len(paths) <= _MAX_PATHS else [FOLDER]
        wanted = set(paths)
        found = self.run("status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames", "--", *asked)
        entries = found.decode(errors="surrogateescape").split("\0")
        # A file that was only ever staged is not in any commit, and its old text nowhere but here.
        return sorted(entry[3:] for entry in entries if entry[3:] in wanted)

    def state(self) -> dict[str, Any]:
        """Branch, commit, and whether `.memory` differs from what is committed, in one call."""
        state: dict[str, Any] = {"available": True, "branch": None, "commit": None, "dirty": False}
        arguments = ("status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--", FOLDER)
        for entry in self.run(*arguments).decode(errors="surrogateescape").split("\0"):
            if entry.startswith("# branch.oid "):
                commit = entry.removeprefix("# branch.oid ")
                state["commit"] = None if commit == "(initial)" else commit
            elif entry.startswith("# branch.head "):
                branch = entry.removeprefix("# branch.head ")
                state["branch"] = None if branch == "(detached)" else branch
            elif entry and not entry.startswith("#"):
                state["dirty"] = state["dirty"] or not _path_of(entry).startswith(_UNTOLD)
        return state


NO_GIT: dict[str, Any] = {"available": False, "branch": None, "commit": None, "dirty": None}
"""The state of git outside of a repository."""


def _path_of(entry: str) -> str:
    """The path in an entry of `git status --porcelain=v2`."""
    fields = {"1": 8, "u": 10}.get(entry[0], 1)
    return entry.split(" ", fields)[-1]


def _run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[bytes] | None:
    try:
        # Nothing is asked of the user, nothing is locked or fetched, and a name is never rewritten.
        command = ["git", "--no-optional-locks", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false", *arguments]
        return subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, env=git_environment(), check=False
        )
    except OSError:
        return None
