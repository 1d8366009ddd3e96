"""What git's NUL-terminated answers say. Names are text in which bytes that are no UTF-8 survive as surrogates."""

from __future__ import annotations

import re
from typing import NamedTuple

_GITLINK = "160000"
_WEB_USER = re.compile(r"^(https?://)[^/]*@", re.IGNORECASE)
_PASSWORD = re.compile(r"^([a-z][a-z0-9+.-]*://[^/:@]*):[^/]*@", re.IGNORECASE)


class FileChange(NamedTuple):
    """One difference."""

    status: str
    """A letter of git's: `A`, `M`, `D`, `R`, `C`, `T`, `U`, and `?` for what is untracked."""
    path: str
    old_path: str | None = None
    """What it was called before, where it was renamed or copied."""
    is_submodule: bool = False
    blob: str | None = None
    """The hash of what is gone, where a file was deleted since the last commit."""


class Listing(NamedTuple):
    """What `git ls-files` lists."""

    paths: list[str]
    submodules: list[str]
    nested: list[str]
    """Repositories within this one that it knows nothing of."""


def read_files(output: str) -> Listing:
    """The answer of `git ls-files -z -t --stage --deleted --others`."""
    tracked: dict[str, str] = {}
    deleted: set[str] = set()
    others: list[str] = []
    nested: list[str] = []
    for entry in output.split("\0"):
        tag, _, rest = entry.partition(" ")
        if tag == "?":
            (nested if rest.endswith("/") else others).append(rest.rstrip("/"))
        elif tag:
            about, _, path = rest.partition("\t")
            tracked[path] = about.partition(" ")[0]
            if tag == "R":
                deleted.add(path)
    # A submodule whose folder is gone is deleted like a file; one whose folder is empty is not checked out.
    there = {path: mode for path, mode in tracked.items() if path not in deleted}
    files = [path for path, mode in there.items() if mode != _GITLINK]
    return Listing([*files, *others], [path for path, mode in there.items() if mode == _GITLINK], nested)


def read_raw(output: str) -> list[FileChange]:
    """The answer of `git diff-tree -z`, or of `git log --raw -z`."""
    found = []
    entries = iter(output.split("\0"))
    for entry in entries:
        about = entry.lstrip("\n")
        if not about.startswith(":"):
            continue
        before, after, _, _, status = about[1:].split(" ")
        path = next(entries, "")
        old, path = (path, next(entries, "")) if status[0] in "RC" else (None, path)
        found.append(FileChange(status[0], path, old, _GITLINK in (before, after)))
    return found


def read_status(output: str) -> list[FileChange]:
    """The answer of `git status --porcelain=v2 -z`."""
    found: list[FileChange] = []
    entries = iter(output.split("\0"))
    for entry in entries:
        kind = entry[:1]
        if kind == "?":
            found.append(FileChange("?", entry[2:].rstrip("/"), is_submodule=entry.endswith("/")))
        elif kind == "1":
            _, states, submodule, _, _, _, committed, staged, path = entry.split(" ", 8)
            status = states[1] if states[1] != "." else states[0]
            blob = (staged if states[1] == "D" else committed) if status == "D" else None
            found.append(FileChange(status, path, None, submodule != "N...", blob))
        elif kind == "2":
            _, states, submodule, *_, path = entry.split(" ", 9)
            found += _renamed(states, path, next(entries, ""), submodule != "N...")
        elif kind == "u":
            _, _, submodule, *_, path = entry.split(" ", 10)
            found.append(FileChange("U", path, None, submodule != "N..."))
    return found


def _renamed(states: str, path: str, old: str, is_submodule: bool) -> list[FileChange]:
    if states[1] == "D":
        # Renamed, and then deleted: neither name is left.
        return [FileChange("D", old, None, is_submodule), FileChange("D", path, None, is_submodule)]
    return [FileChange("C" if "C" in states else "R", path, old, is_submodule)]


def without_password(address: str) -> str:
    """The address of a remote without the password that may be in it; on the web, the user may be one too."""
    return _PASSWORD.sub(r"\1@", _WEB_USER.sub(r"\1", address.strip()))
