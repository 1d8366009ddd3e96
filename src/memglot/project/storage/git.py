"""Run git for project memory; paths are NUL-terminated, so that every name is read correctly."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, NamedTuple

from memglot.project.storage.errors import ProjectError
from memglot.project.storage.git_command import filter_settings, run_git
from memglot.project.storage.git_filters import as_recorded, drivers_of, is_same_large_file, paths_with_filter
from memglot.project.storage.git_output import (
    FileChange,
    Listing,
    ignored_submodules,
    modified_blobs,
    read_files,
    read_raw,
    read_settings,
    read_status,
    split_status,
    without_changes,
)
from memglot.project.storage.paths import FOLDER

__all__ = ["NO_GIT", "FileChange", "Git", "Tree"]

_MAX_PATHS = 200
"""Maximum number of paths on a command line."""
_OUTSIDE = ("--", ".", f":(exclude){FOLDER}")
_RENAMES = ("-l1000", "--no-ext-diff", "--no-textconv", "--no-color", "--no-abbrev")
_SIMILAR = ("-M", "-M100%")
"""How to find renames; the second way needs no contents, which a partial clone may lack."""
_COMPARES = frozenset({"status", "diff", "restore"})
"""Commands that would run the filters of files."""
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
        found = run_git(["rev-parse", "--show-toplevel"], folder)
        if found is None or found.returncode or not found.stdout:
            return None
        return cls(Path(found.stdout.decode(errors="surrogateescape").rstrip("\n")))

    def run(self, *arguments: str) -> bytes:
        """Return the output of a git command. Raise `ProjectError` if it fails."""
        found = self._call(*arguments)
        if found is None:
            raise _git_failed(arguments[0], "git is not installed")
        if found.returncode:
            raise _git_failed(arguments[0], found.stderr.decode(errors="replace").strip() or f"exit {found.returncode}")
        return found.stdout

    def ask(self, *arguments: str) -> bytes | None:
        """Return the output of a git command, or None if it fails, which may mean no."""
        found = self._call(*arguments)
        return None if found is None or found.returncode else found.stdout

    def _call(self, *arguments: str) -> CompletedProcess[bytes] | None:
        return run_git(arguments, self.root, empty=self._filters if arguments[0] in _COMPARES else ())

    @cached_property
    def _filters(self) -> list[str]:
        """The settings of filters, which would be programs to run."""
        return filter_settings(name for name, _ in self._settings)

    @cached_property
    def _settings(self) -> list[tuple[str, str]]:
        return read_settings(_text(self.run("config", "--list", "-z")))

    def dirty(self, paths: list[str]) -> list[str]:
        """Return those of these files that are tracked and differ from the last commit."""
        asked = paths if len(paths) <= _MAX_PATHS else [FOLDER]
        wanted = set(paths)
        # A file that was only staged is not in any commit, and has no other copy.
        entries = self._status("--untracked-files=no", "--no-renames", "--", *asked)
        return sorted(change.path for change in read_status(entries) if change.path in wanted)

    def state(self) -> dict[str, Any]:
        """Return the branch, the commit, and whether `.memory` differs from it."""
        state: dict[str, Any] = {"available": True, "branch": None, "commit": None, "dirty": False}
        entries = self._status("--branch", "--no-renames", "--", FOLDER)
        for entry in entries:
            if entry.startswith("# branch.oid "):
                commit = entry.removeprefix("# branch.oid ")
                state["commit"] = None if commit == "(initial)" else commit
            elif entry.startswith("# branch.head "):
                branch = entry.removeprefix("# branch.head ")
                state["branch"] = None if branch == "(detached)" else branch
            elif entry and not entry.startswith("#"):
                state["dirty"] = state["dirty"] or not _path_of(entry).startswith(_NOT_DIRTY)
        return state

    def _status(self, *arguments: str) -> list[str]:
        """Return the entries of `git status`, without those that differ only because no filter is run."""
        # Git would look into submodules with their own configuration.
        listed = self.run("status", "--porcelain=v2", "-z", "--ignore-submodules=dirty", *arguments)
        entries = split_status(_text(listed))
        return without_changes(entries, self._unchanged(modified_blobs(entries))) if self._filters else entries

    def same_despite_filter(self, paths: list[str]) -> set[str]:
        """Return those of these files that only look different from the last commit because no filter is run."""
        return set(paths) - set(self.dirty(paths)) if self._filters and paths else set()

    def _unchanged(self, blobs: dict[str, str]) -> set[str]:
        """Return those of the files that have a filter and were not changed; `blobs` are their hashes in the index."""
        filtered = self._with_filter(blobs)
        same, unknown = set(), []
        for path, blob in zip(filtered, self.blobs([blobs[path] for path in filtered]), strict=True):
            is_same = is_same_large_file(self.root / path, blob)
            if is_same is None:
                unknown.append(path)
            elif is_same:
                same.add(path)
        for start in range(0, len(unknown), _MAX_PATHS):
            some = unknown[start : start + _MAX_PATHS]
            listed = self.ask("--literal-pathspecs", "ls-files", "--debug", "-z", "--", *some)
            same |= as_recorded(self.root, _text(listed or b""))
        return same

    def blobs(self, hashes: list[str]) -> Iterator[bytes]:
        """Yield the contents of blobs in order; a blob that a partial clone lacks is empty."""
        asked = "".join(f"{hash}\n" for hash in hashes).encode()
        done = run_git(["cat-file", "--batch"], self.root, input=asked) if hashes else None
        output = io.BytesIO(done.stdout if done else b"")
        for _ in hashes:
            # `hash type size`, the content, and a line end; or `hash missing`.
            head = output.readline().split()
            yield output.read(int(head[2]) + 1)[:-1] if len(head) == 3 else b""

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

    def restore(self, folder: str) -> None:
        """Restore a folder from the last commit. Raise `ProjectError` if its files have a filter, which is not run."""
        listed = _text(self.run("ls-tree", "-r", "-z", "--name-only", "HEAD", "--", folder))
        if self._with_filter(listed.split("\0")[:-1]):
            raise _git_failed("restore", f"its files have a filter; run `git restore --source HEAD -- {folder}`")
        self.run("restore", "--source", "HEAD", "--", folder)

    def _with_filter(self, paths: Iterable[str]) -> list[str]:
        """Return those of these files that have a filter."""
        names = "".join(f"{path}\0" for path in paths) if self._filters else ""
        found = (
            run_git(["check-attr", "-z", "--stdin", "filter"], self.root, input=os.fsencode(names)) if names else None
        )
        return list(paths_with_filter(_text(found.stdout), drivers_of(self._filters))) if found else []

    @cached_property
    def _listing(self) -> Listing:
        arguments = ("ls-files", "-z", "-t", "--stage", "--deleted", "--others", "--exclude-standard", *_OUTSIDE)
        return read_files(_text(self.run(*arguments)))

    @cached_property
    def tree(self) -> Tree:
        """The files, including those of submodules: tracked and not deleted, or untracked and not ignored."""
        found = self._listing
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
        inner = self._submodule(path)
        try:
            return inner.tree if inner is not None else Tree([], [])
        except ProjectError:
            return Tree([], [])

    def _submodule(self, path: str) -> Git | None:
        """Return a submodule; None if it is not checked out."""
        inner = self.root / path
        # Without its own `.git`, git would use the outer repository. A link could lead back to it, without end.
        is_inside = os.path.realpath(inner) == os.path.join(os.path.realpath(self.root), path)
        return Git(inner) if is_inside and os.path.lexists(inner / ".git") else None

    def files(self) -> list[str]:
        """Return the paths of all files; a submodule that is not checked out is one path."""
        return sorted(set(self.tree.paths))

    def changes(self, base: str) -> list[FileChange]:
        """Return the changes between a commit and the one that is checked out, with renames."""
        return read_raw(self._compare("diff-tree", "-r", "-z", base, "HEAD"))

    def past_renames(self, commits: int) -> list[FileChange]:
        """Return the renames in the last commits, newest first."""
        listed = ("log", f"-{commits}", "--format=", "--no-show-signature", "--raw", "-z", "--diff-filter=R", "HEAD")
        try:
            return read_raw(self._compare(*listed))
        except ProjectError:
            return []

    def _compare(self, *arguments: str) -> str:
        """Return the output of a command that finds renames."""
        for similar in _SIMILAR:
            found = self.ask(*arguments[:1], similar, *_RENAMES, *arguments[1:], *_OUTSIDE)
            if found is not None:
                return _text(found)
        return _text(self.run(*arguments[:1], *_RENAMES, *arguments[1:], *_OUTSIDE))

    def working(self) -> list[FileChange]:
        """Return the changes of the working tree since the last commit, staged or not; untracked files are `?`."""
        arguments = ("--untracked-files=all", "--ignored=no", *_OUTSIDE)
        try:
            changes = read_status(self._status("--renames", *arguments))
        except ProjectError:
            changes = read_status(self._status("--find-renames=100%", *arguments))
        ignored = self._ignored_submodules() if self._listing.submodules else {}
        changes = [change for change in changes if not change.is_submodule or ignored.get(change.path) != "all"]
        known = {change.path for change in changes}
        for path in self._listing.submodules:
            if path not in known and self._is_changed(path, ignored.get(path, "")):
                changes.append(FileChange("M", path, None, True))
        return changes

    def _ignored_submodules(self) -> dict[str, str]:
        """Return what git should ignore in submodules, by path."""
        modules = self.ask("config", "--file", ".gitmodules", "--list", "-z")
        return ignored_submodules(read_settings(_text(modules or b"")), self._settings)

    def _is_changed(self, path: str, ignored: str) -> bool:
        """Return True if files of a submodule were changed since its last commit."""
        inner = self._submodule(path) if ignored not in ("all", "dirty") else None
        try:
            changes = inner.working() if inner is not None else []
        except ProjectError:
            return False
        return any(change.status != "?" or ignored != "untracked" for change in changes)


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


def _git_failed(command: str, reason: str) -> ProjectError:
    """Return the error for a git command that failed."""
    details = {"command": command, "message": reason}
    return ProjectError("MemoryGitOperationFailed", f"`git {command}` failed: {reason}", details)
