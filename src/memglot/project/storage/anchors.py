"""Anchors: paths, folders and globs that tie a node to code in the repository."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property

from memglot.project.storage.errors import ProjectError, issue
from memglot.project.storage.glob_syntax import MAX_CHARACTERS
from memglot.project.storage.globs import Glob, compile_glob, is_glob, literal_prefix
from memglot.project.storage.paths import FOLDER

_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE = re.compile(r"[A-Za-z]:")


def normalize_anchor(text: str) -> str:
    """Return an anchor as it is stored: trimmed, without a leading `./`. Raise `ValueError` if it is not valid."""
    anchor = text.strip()
    for bad, reason in (
        (not anchor, "Anchor must be a non-empty repo-relative glob."),
        (_CONTROLS.search(anchor), "Anchor must not contain control characters."),
        ("\\" in anchor, "Anchor must use forward slashes, not backslashes."),
        ("://" in anchor, "Anchor must be a repo-relative glob, not a URL."),
    ):
        if bad:
            raise ValueError(reason)
    anchor = anchor.removeprefix("./")
    is_storage = anchor == FOLDER or anchor.startswith(FOLDER + "/")
    is_too_large = len(anchor) > MAX_CHARACTERS or (is_glob(anchor) and compile_glob(anchor) is None)
    for bad, reason in (
        (anchor.startswith("/") or _DRIVE.match(anchor), "Anchor must be repo-relative, not an absolute path."),
        (anchor in ("", "."), "Anchor must reference a path inside the repository."),
        (".." in anchor.split("/"), "Anchor must not contain `..` segments."),
        (is_storage, "Anchor must not reference Memory storage under .memory/."),
        (is_too_large, "Anchor must be at most 1,000 characters and expand to at most 1,000 patterns."),
    ):
        if bad:
            raise ValueError(reason)
    return anchor


def check_anchors(anchors: Sequence[str], field: str) -> list[str]:
    """Return the anchors of a node as they are stored, each once. Raise `ProjectError` with an issue per invalid one.

    `field` is their place in the input, as a JSON pointer: `/changes/0/anchors`.
    """
    kept: dict[str, None] = {}
    bad: list[tuple[int, str]] = []
    for number, anchor in enumerate(anchors):
        try:
            kept[normalize_anchor(anchor)] = None
        except ValueError as error:
            bad.append((number, str(error)))
    if bad:
        raise _bad_anchors(field, bad)
    return list(kept)


class Files:
    """The files of a repository, and which of them match an anchor.

    `opaque` are paths that are folders with unknown files: submodules that are not checked out. An anchor that begins
    with one of them matches that path.
    """

    def __init__(self, paths: Iterable[str], opaque: Iterable[str] = ()) -> None:
        self.paths = sorted(set(paths))
        self._opaque = frozenset(opaque)
        self._all = frozenset(self.paths)
        self._found: dict[str, list[str]] = {}
        self._any: dict[str, bool] = {}

    def __contains__(self, path: object) -> bool:
        return path in self._all

    def __len__(self) -> int:
        return len(self.paths)

    def matches(self, anchor: str) -> list[str]:
        """Return the files that match an anchor, sorted."""
        if anchor not in self._found:
            self._found[anchor] = self._match(_plain(anchor))
        return self._found[anchor]

    def any(self, anchor: str) -> bool:
        """Return True if any file matches an anchor; this is faster than `matches`."""
        if anchor not in self._any:
            self._any[anchor] = self._has_match(_plain(anchor))
        return self._any[anchor]

    @cached_property
    def folders(self) -> frozenset[str]:
        """All folders that contain files, at every depth."""
        found: set[str] = set()
        for path in self.paths:
            folder = path.rpartition("/")[0]
            while folder and folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)

    def below(self, folder: str) -> list[str]:
        """Return the files in a folder, at every depth."""
        return self.paths[self._first(folder + "/") : self._first(folder + "0")]

    def _match(self, anchor: str) -> list[str]:
        found = [anchor] if anchor in self._all else []
        if anchor in self.folders:
            found += self.below(anchor)
        glob = _glob_of(anchor)
        if glob is not None:
            found += [path for path in self._candidates(glob) if glob.matches(path)]
        return sorted({*found, *self._opaque_parents(anchor)})

    def _has_match(self, anchor: str) -> bool:
        if anchor in self._all or anchor in self.folders or self._opaque_parents(anchor):
            return True
        glob = _glob_of(anchor)
        return glob is not None and any(map(glob.matches, self._candidates(glob)))

    def _candidates(self, glob: Glob) -> Sequence[str]:
        prefix = glob.prefix
        if glob.names is not None:
            found = [path for name in glob.names for path in self._by_name.get(name, ())]
            return [path for path in found if path.startswith(prefix)] if prefix else found
        if prefix:
            # `src/**` also matches a file `src`.
            whole = [prefix[:-1]] if prefix[:-1] in self._all else []
            return whole + self.below(prefix[:-1])
        return self.paths

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.paths:
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    def _opaque_parents(self, anchor: str) -> list[str]:
        if not self._opaque:
            return []
        folder = literal_prefix(anchor).rstrip("/") if is_glob(anchor) else anchor
        found = []
        while folder:
            if folder in self._opaque:
                found.append(folder)
            folder = folder.rpartition("/")[0]
        return found

    def _first(self, prefix: str) -> int:
        return bisect_left(self.paths, prefix)


def _plain(anchor: str) -> str:
    return anchor.strip().removeprefix("./").rstrip("/")


def _glob_of(anchor: str) -> Glob | None:
    return compile_glob(anchor) if is_glob(anchor) else None


def _bad_anchors(field: str, reasons: Sequence[tuple[int, str]]) -> ProjectError:
    """Return the error for invalid anchors; `reasons` has the number of each and what is wrong with it."""
    issues = [issue("AnchorInvalid", reason, "<patch>", f"{field}/{number}") for number, reason in reasons]
    message = "Anchors must be repo-relative glob strings."
    return ProjectError("MemoryValidationFailed", message, {"field": field, "issues": issues})
