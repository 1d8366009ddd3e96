"""Run git for project memory; paths are NUL-terminated, so that every name is read correctly."""

from __future__ import annotations

import os
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from memglot.project.storage.errors import ProjectError
from memglot.project.storage.git_output import FileChange, read_files, read_raw, read_status
from memglot.project.storage.paths import FOLDER
from memglot.settings import git_environment

__all__ = ["NO_GIT", "FileChange", "Git", "Tree"]

_MAX_PATHS = 200
"""Maximum number of paths on a command line."""
_OUTSIDE = ("--", ".", f":(exclude){FOLDER}")
_RENAMES = ("-M", "-l1000", "--no-ext-diff", "--no-textconv", "--no-color", "--no-abbrev")
_NOT_DIRTY = (f"{FOLDER}/index/", f"{FOLDER}/context/", f"{FOLDER}/exports/", f"{FOLDER}/recovery/", f"{FOLDER}/.lock")


class Tree(NamedTuple):
    """The files of a repository."""

    paths: list[str]
    opaque: list[str]
    """Those of the paths that are folders git does not look into: submodules that are not checked out, and unknown
    repositories within this one."""


class Git:
    """A git repository."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def find(cls, folder: Path) -> Git | None:
        """Return the repository of a folder; None if there is none, or git is not installed."""
        found = _run(["rev-parse", "--show-toplevel"], folder)
        if found is None or found.returncode or not found.stdout:
            return None
        return cls(Path(found.stdout.decode(errors="surrogateescape").rstrip("\n")))

    def run(self, *arguments: str) -> bytes:
        """Return the output of a git command. Raise `ProjectError` if it fails."""
        found = _run(list(arguments), self.root)
        if found is None:
            raise _git_failed(arguments[0], "git is not installed")
        if found.returncode:
            raise _git_failed(arguments[0], found.stderr.decode(errors="replace").strip() or f"exit {found.returncode}")
        return found.stdout

    def ask(self, *arguments: str) -> bytes | None:
        """Return the output of a git command, or None if it fails, which may mean no."""
        found = _run(list(arguments), self.root)
        return None if found is None or found.returncode else found.stdout

    def dirty(self, paths: list[str]) -> list[str]:
        """Return those of these files that are tracked and differ from the last commit."""
        asked = paths if len(paths) <= _MAX_PATHS else [FOLDER]
        wanted = set(paths)
        found = self.run("status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames", "--", *asked)
        entries = found.decode(errors="surrogateescape").split("\0")
        # A file that was only staged is not in any commit, and has no other copy.
        return sorted(entry[3:] for entry in entries if entry[3:] in wanted)

    def state(self) -> dict[str, Any]:
        """Return the branch, the commit, and whether `.memory` differs from it."""
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
                state["dirty"] = state["dirty"] or not _path_of(entry).startswith(_NOT_DIRTY)
        return state

    def head(self) -> str | None:
        """Return the commit that is checked out; None if there is no commit yet."""
        return _line(self.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))

    def is_ancestor(self, commit: str, other: str = "HEAD") -> bool:
        """Return True if a commit is an ancestor of another; False also if this clone does not have it."""
        return self.ask("merge-base", "--is-ancestor", commit, other) is not None

    def merge_base(self, commit: str, other: str = "HEAD") -> str | None:
        """Return the last common commit of two commits."""
        return _line(self.ask("merge-base", commit, other))

    def show(self, commit: str, path: str) -> bytes | None:
        """Return a file as it was in a commit; None if it was not there."""
        return self.ask("cat-file", "blob", f"{commit}:{path}")

    @cached_property
    def tree(self) -> Tree:
        """The files, including those of submodules: tracked and not deleted, or untracked and not ignored."""
        arguments = ("ls-files", "-z", "-t", "--stage", "--deleted", "--others", "--exclude-standard", *_OUTSIDE)
        found = read_files(_text(self.run(*arguments)))
        paths, opaque = [], []
        for path in found.submodules:
            below = self._below(path)
            paths += [f"{path}/{name}" for name in below.paths]
            opaque += [f"{path}/{name}" for name in below.opaque]
            # A submodule without files exists nevertheless.
            opaque += [] if below.paths else [path]
        return Tree([*found.paths, *paths, *opaque, *found.nested], [*opaque, *found.nested])

    def _below(self, path: str) -> Tree:
        """Return the files of a submodule; none if it is not checked out, or broken."""
        inner = self.root / path
        # Without its own `.git`, git would use the outer repository.
        if not os.path.lexists(inner / ".git"):
            return Tree([], [])
        try:
            return Git(inner).tree
        except ProjectError:
            return Tree([], [])

    def files(self) -> list[str]:
        """Return the paths of all files; a submodule that is not checked out is one path."""
        return sorted(set(self.tree.paths))

    def changes(self, base: str) -> list[FileChange]:
        """Return the changes between a commit and the one that is checked out, with renames."""
        return read_raw(_text(self.run("diff-tree", "-r", "-z", *_RENAMES, base, "HEAD", *_OUTSIDE)))

    def past_renames(self, commits: int) -> list[FileChange]:
        """Return the renames in the last commits, newest first."""
        listed = ("log", f"-{commits}", "--format=", "--no-show-signature", "--raw", "-z", "--diff-filter=R")
        return read_raw(_text(self.ask(*listed, *_RENAMES, "HEAD", *_OUTSIDE) or b""))

    def working(self) -> list[FileChange]:
        """Return the changes of the working tree since the last commit, staged or not; untracked files are `?`."""
        arguments = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--renames", "--ignored=no", *_OUTSIDE)
        return read_status(_text(self.run(*arguments)))


NO_GIT: dict[str, Any] = {"available": False, "branch": None, "commit": None, "dirty": None}
"""The state of git outside of a repository."""


def _path_of(entry: str) -> str:
    """Return the path in an entry of `git status --porcelain=v2`."""
    fields = {"1": 8, "u": 10}.get(entry[0], 1)
    return entry.split(" ", fields)[-1]


def _text(output: bytes) -> str:
    return output.decode(errors="surrogateescape")


def _line(output: bytes | None) -> str | None:
    return output.decode().split("\n")[0] or None if output else None


def _run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[bytes] | None:
    try:
        # Git must not ask the user, lock or fetch anything, or quote names.
        command = ["git", "--no-optional-locks", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false", *arguments]
        return subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, env=git_environment(), check=False
        )
    except OSError:
        return None


def _git_failed(command: str, reason: str) -> ProjectError:
    """Return the error for a git command that failed."""
    details = {"command": command, "message": reason}
    return ProjectError("MemoryGitOperationFailed", f"`git {command}` failed: {reason}", details)
