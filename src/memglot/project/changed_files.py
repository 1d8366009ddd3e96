"""What changed in a repository since a commit, the working tree included, without what project memory did itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from memglot.project.anchors import Files
from memglot.project.git import Change, Git
from memglot.project.map import TARGETS
from memglot.project.markers import strip_entries, strip_sections
from memglot.project.storage.paths import FOLDER

IGNORED_FOLDERS = (
    FOLDER,
    ".cache",
    ".next",
    ".svelte-kit",
    ".turbo",
    ".vite",
    "build",
    "coverage",
    "dist",
    "dist-types",
    "node_modules",
    "out",
    "target",
    "temp",
    "tmp",
)
"""Folders at the root whose changes are nobody's work; the real tool passes over the same ones."""
_IGNORED = tuple(f"{name}/" for name in IGNORED_FOLDERS)


def changed_files(git: Git, base: str, changes: Iterable[Change]) -> Files:
    """The paths that differ, gone ones and former names included; a submodule that moved stands for all in it."""
    paths: set[str] = set()
    submodules: set[str] = set()
    for change in changes:
        for path in (change.path, change.old_path):
            if path is not None and not path.startswith(_IGNORED):
                paths.add(path)
                if change.is_submodule:
                    submodules.add(path)
    ours = _ours(git.root)
    paths -= {name for name in paths & ours.keys() if _is_only_ours(git, base, name, ours[name])}
    return Files(paths, submodules)


def _ours(root: Path) -> dict[str, Callable[[str], str]]:
    """The files that project memory writes to, each with what takes its part out; where a link leads is one too."""
    found: dict[str, Callable[[str], str]] = {".gitignore": strip_entries}
    inside = os.path.realpath(root)
    for name in TARGETS:
        found[name] = found[os.path.relpath(os.path.realpath(root / name), inside)] = strip_sections
    return found


def _is_only_ours(git: Git, base: str, name: str, strip: Callable[[str], str]) -> bool:
    """Tell whether a file says what it said before, but for the sections that project memory writes."""
    before, now = git.show(base, name), _content(git.root / name)
    return strip(_text(before)) == strip(_text(now))


def _content(path: Path) -> bytes | None:
    try:
        return os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
    except OSError:
        return None


def _text(content: bytes | None) -> str:
    return (content or b"").decode(errors="surrogateescape")
