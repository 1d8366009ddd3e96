"""Where the files of a dead anchor went, by what git knows of renames."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from hashlib import sha1, sha256
from pathlib import Path

from memglot.repo.anchors import Files
from memglot.repo.git import Change
from memglot.repo.globs import is_glob, literal_prefix

_MOST_READ = 5_000
_MOST_BYTES = 8 * 1024 * 1024


class Moves:
    """What was renamed: old names with new ones. Renames of renamed files are followed to the end."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._moves: dict[str, str] = {}
        self._old: Files | None = None

    def add(self, changes: Iterable[Change]) -> None:
        """Learn of renames; what is already known of a name stays."""
        for change in changes:
            if change.old_path is not None and change.status == "R":
                self._moves.setdefault(change.old_path, change.path)
        self._old = None

    def target(self, path: str) -> str | None:
        """Where a file is now; `None` where it is nowhere."""
        seen = {path}
        while path in self._moves and path not in self._files:
            path = self._moves[path]
            if path in seen:
                return None
            seen.add(path)
        return path if path in self._files else None

    def suggest(self, anchor: str) -> str | None:
        """What an anchor should say, now that its files are elsewhere; `None` where they are not, or not together."""
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
        moved = self._folder(folder, self._old.matches(anchor)) if folder else None
        found = f"{moved}{rest}{slash}" if moved else None
        return found if found is not None and self._files.any(found) else None

    def _folder(self, folder: str, paths: Iterable[str]) -> str | None:
        """Where a folder went: where more than half of its files did."""
        votes = Counter[str]()
        for path in paths:
            target = self.target(path) if path.startswith(folder + "/") else None
            voted = _folder_after(path[len(folder) + 1 :], target) if target else ""
            if voted:
                votes[voted] += 1
        if not votes:
            return None
        best, count = votes.most_common(1)[0]
        return best if count * 2 > votes.total() else None


def working_renames(root: Path, changes: Iterable[Change], files: Files) -> list[Change]:
    """Files that were moved without telling git: one is gone, and a new one has exactly its content."""
    changes = list(changes)
    gone = [change for change in changes if change.status == "D" and change.blob and change.path not in files]
    fresh = [change.path for change in changes if change.status == "?" and not change.is_submodule]
    if not gone or not fresh:
        return []
    by_content: dict[str, list[str]] = {}
    algorithm = sha256 if len(gone[0].blob or "") == 64 else sha1
    for path in fresh[:_MOST_READ]:
        for content in _contents(root / path):
            blob = algorithm(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
            by_content.setdefault(blob, []).append(path)
    found = []
    for change in gone:
        candidates = by_content.get(change.blob or "", [])
        best = max(candidates, key=lambda path: _same_end(change.path, path), default=None)
        # Many files are empty, or the same licence: of several, one must at least have the same name.
        if best is not None and (len(candidates) == 1 or _same_end(change.path, best)):
            found.append(Change("R", best, change.path))
    return found


def _contents(path: Path) -> list[bytes]:
    """What git may have kept of a file: its bytes, or those with the line ends that a checkout turned round."""
    try:
        if path.is_symlink():
            return [os.fsencode(os.readlink(path))]
        if path.stat().st_size > _MOST_BYTES:
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


def _folder_after(inner: str, target: str) -> str:
    """The folder that holds a file under the path that it had within its former folder, or what of that is left."""
    same = _same_end(inner, target)
    if same == 0:
        # The file has a new name; its folder tells.
        inner, target = inner.rpartition("/")[0], target.rpartition("/")[0]
        same = _same_end(inner, target) if inner else 0
        if inner and not same:
            return ""
    return target if same == 0 else "/".join(target.split("/")[:-same])
