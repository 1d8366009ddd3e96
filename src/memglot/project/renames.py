"""Find where the files of a dead anchor were moved, from the renames that git reports."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha1, sha256
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from memglot.project.storage.anchors import Files
from memglot.project.storage.git import FileChange
from memglot.project.storage.globs import compile_glob, is_glob, literal_prefix

_MAX_READ = 5_000
_MAX_BYTES = 8 * 1024 * 1024
_MAX_NAMED = 8
_SPECIAL = re.compile(r"[][*?{}(),!+@\\]")


class _Vote(NamedTuple):
    """Where one file suggests its folder was moved."""

    target: str
    """Present path of the file."""
    folder: str
    """New path of the folder; empty for the root."""
    kept: bool
    """True if the file has the same path in the folder as before."""
    steps: int


class Moves:
    """Renames, from old paths to new ones. Files that were renamed several times are followed to the end."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._moves: dict[str, str] = {}
        self._submodules: set[str] = set()
        self._old: Files | None = None
        self.doubtful: set[str] = set()
        """Anchors whose files have other paths in the suggested folder; smaller steps may give a better answer."""

    def add(self, changes: Iterable[FileChange]) -> None:
        """Add renames; the first one of a path is kept."""
        for change in changes:
            if change.old_path is not None and change.status == "R":
                self._moves.setdefault(change.old_path, change.path)
                if change.is_submodule:
                    self._submodules |= {change.old_path, change.path}
        self._old = None

    def target(self, path: str) -> str | None:
        """Return the present path of a file or submodule; None if it is gone."""
        last = self._names(path)[-1]
        return last if self._exists(last) else None

    def suggest(self, anchor: str) -> str | None:
        """Return the new anchor for moved files; None if they were not moved, or not together."""
        plain = anchor.strip().removeprefix("./").rstrip("/")
        slash = "/" if anchor.rstrip().endswith("/") else ""
        if plain in self._moves:
            target = self.target(plain)
            return target + slash if target is not None else None
        if self._old is None:
            self._old = Files(self._moves)
        folder, rest = plain, ""
        if is_glob(plain) and plain not in self._old.folders:
            folder = literal_prefix(plain).rstrip("/")
            rest = plain[len(folder) :]
        if not folder:
            return None
        inner = self._in_submodule(folder)
        found = f"{inner}{rest}{slash}" if inner else self._by_votes(anchor, folder, rest, slash)
        return found if found is not None and self._files.any(found) else None

    def _names(self, path: str) -> list[str]:
        """Return the names of a file, from this one to the last."""
        names = {path: None}
        while path in self._moves and not self._exists(path):
            path = self._moves[path]
            if path in names:
                break
            names[path] = None
        return list(names)

    def _exists(self, path: str) -> bool:
        # A submodule that is checked out is a folder with files.
        return path in self._files or (path in self._submodules and path in self._files.folders)

    def _in_submodule(self, path: str) -> str | None:
        """Return the present path of a path in a moved submodule."""
        outer = path
        while outer:
            target = self.target(outer) if outer in self._submodules else None
            if target is not None and target != outer:
                return target + path[len(outer) :]
            outer = _parent(outer)
        return None

    def _by_votes(self, anchor: str, folder: str, rest: str, slash: str) -> str | None:
        votes = self._votes(anchor, folder, rest)
        winner = _winner(votes)
        if winner is None:
            return None
        if not any(vote.kept for vote in votes if vote.folder == winner):
            self.doubtful.add(anchor)
        if winner:
            return f"{winner}{rest}{slash}"
        if rest.strip("/") not in ("", "**"):
            return rest.strip("/")
        there = (vote.target for vote in votes if not vote.folder)
        return _at_root(path + "/" if path in self._submodules else path for path in there)

    def _votes(self, anchor: str, folder: str, rest: str) -> list[_Vote]:
        """Return a vote for each file that the anchor matched; of several names of a file, the last one counts."""
        old = self._old or Files(())
        found: dict[str, _Vote] = {}
        inside = (path for path in old.below(folder) if path in self._submodules)
        for path in dict.fromkeys((*old.matches(anchor), *inside)):
            vote = self._vote(path, folder, rest) if path.startswith(folder + "/") else None
            if vote is not None and (vote.target not in found or vote.steps < found[vote.target].steps):
                found[vote.target] = vote
        return list(found.values())

    def _vote(self, path: str, folder: str, rest: str) -> _Vote | None:
        names = self._names(path)
        kept = True
        for before, after in pairwise(names):
            # If the anchor still matches after a step, the file did not leave its folder.
            if not _matches(folder, rest, after):
                inner = before[len(folder) + 1 :] if folder else before
                moved = _folder_after(inner, after)
                if moved is None:
                    return None
                kept = kept and _parent(after) == _parent(f"{moved}/{inner}".lstrip("/"))
                folder = moved
        return _Vote(names[-1], folder, kept, len(names)) if self._exists(names[-1]) else None


def _winner(votes: list[_Vote]) -> str | None:
    """Return the new path of a folder: where more than half of its files are."""
    kept = {vote.folder for vote in votes if vote.kept}
    counts = Counter[str]()
    for vote in votes:
        folder = vote.folder
        # A file that was also moved within the folder is still in it.
        while folder and folder not in kept:
            folder = _parent(folder)
        counts[folder or vote.folder] += 1
    if not counts:
        return None
    best, count = counts.most_common(1)[0]
    return best if count * 2 > len(votes) else None


def _matches(folder: str, rest: str, path: str) -> bool:
    """Return True if an anchor, given as a folder and the rest, matches a path."""
    if not rest:
        return bool(folder) and path.startswith(folder + "/")
    glob = compile_glob((folder + rest).lstrip("/"))
    return glob is not None and glob.matches(path)


def _at_root(paths: Iterable[str]) -> str:
    """Return an anchor for files that were moved to the root: `**` if there are too many to name."""
    names = sorted({name + "/" if slash else name for name, slash, _ in (path.partition("/") for path in paths)})
    if len(names) == 1:
        return names[0]
    if len(names) > _MAX_NAMED or any(_SPECIAL.search(name) for name in names):
        return "**"
    return "{" + ",".join(name + "**" if name.endswith("/") else name for name in names) + "}"


def working_renames(root: Path, changes: Iterable[FileChange], files: Files) -> list[FileChange]:
    """Return files that were moved without git: one is missing, and a new one has exactly its content."""
    changes = list(changes)
    gone = [change for change in changes if change.status == "D" and change.blob and change.path not in files]
    fresh = [change.path for change in changes if change.status == "?" and not change.is_submodule]
    if not gone or not fresh:
        return []
    by_content: dict[str, list[str]] = {}
    algorithm = sha256 if len(gone[0].blob or "") == 64 else sha1
    for path in fresh[:_MAX_READ]:
        for content in _contents(root / path):
            blob = algorithm(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
            by_content.setdefault(blob, []).append(path)
    found = []
    for change in gone:
        candidates = by_content.get(change.blob or "", [])
        best = max(candidates, key=lambda path: _same_end(change.path, path), default=None)
        # Many files are empty or the same licence: of several candidates, one must at least have the same name.
        if best is not None and (len(candidates) == 1 or _same_end(change.path, best)):
            found.append(FileChange("R", best, change.path))
    return found


def _contents(path: Path) -> list[bytes]:
    """Return what git may have stored for a file: its bytes, and those with the line ends of another system."""
    try:
        if path.is_symlink():
            return [os.fsencode(os.readlink(path))]
        if path.stat().st_size > _MAX_BYTES:
            return []
        content = path.read_bytes()
    except OSError:
        return []
    return [content, content.replace(b"\r\n", b"\n")] if b"\r\n" in content else [content]


def _same_end(path: str, other: str) -> int:
    count = 0
    for one, two in zip(reversed(path.split("/")), reversed(other.split("/")), strict=False):
        if one != two:
            break
        count += 1
    return count


def _folder_after(inner: str, target: str) -> str | None:
    """Return the new folder of a file, by the end that its old and new paths share."""
    same = _same_end(inner, target)
    if same == 0:
        # The file has a new name; compare the folders.
        inner, target = _parent(inner), _parent(target)
        same = _same_end(inner, target) if inner else 0
        if inner and not same:
            return None
    return target if same == 0 else "/".join(target.split("/")[:-same])


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
