"""Parse NUL-terminated output of git. Bytes in names that are not UTF-8 become surrogates."""

from __future__ import annotations

from typing import NamedTuple

_GITLINK = "160000"


class FileChange(NamedTuple):
    """A change of one file."""

    status: str
    """Git's letter: `A`, `M`, `D`, `R`, `C`, `T`, `U`, or `?` for untracked files."""
    path: str
    old_path: str | None = None
    """The former path, if the file was renamed or copied."""
    is_submodule: bool = False
    blob: str | None = None
    """The hash of the content of a file that was deleted since the last commit."""


class Listing(NamedTuple):
    """Output of `git ls-files`."""

    paths: list[str]
    submodules: list[str]
    nested: list[str]
    """Unknown repositories within this one."""


def read_files(output: str) -> Listing:
    """Parse the output of `git ls-files -z -t --stage --deleted --others`."""
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
    # A submodule without a folder was deleted, like a file; one with an empty folder is not checked out.
    there = {path: mode for path, mode in tracked.items() if path not in deleted}
    files = [path for path, mode in there.items() if mode != _GITLINK]
    return Listing([*files, *others], [path for path, mode in there.items() if mode == _GITLINK], nested)


def read_raw(output: str) -> list[FileChange]:
    """Parse the output of `git diff-tree -z` or `git log --raw -z`."""
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


def split_status(output: str) -> list[str]:
    """Return the entries of `git status --porcelain=v2 -z`; a rename keeps its former path after a NUL."""
    found = []
    parts = iter(output.split("\0"))
    for part in parts:
        if part:
            found.append(f"{part}\0{next(parts, '')}" if part.startswith("2 ") else part)
    return found


def modified_blobs(entries: list[str]) -> dict[str, str]:
    """Return the hashes in the index of those files whose content in the working tree is another."""
    found = {}
    for entry in entries:
        if entry[0] in "12" and entry[3] == "M":
            fields = entry.split(" ", 9 if entry[0] == "2" else 8)
            if fields[4] == fields[5]:
                found[fields[-1].partition("\0")[0]] = fields[7]
    return found


def without_changes(entries: list[str], same: set[str]) -> list[str]:
    """Return the entries without the changes of content in the working tree of some files."""
    found = []
    for entry in entries:
        if entry[0] in "12" and entry[3] == "M":
            path = entry.split(" ", 9 if entry[0] == "2" else 8)[-1].partition("\0")[0]
            if path in same:
                if entry[2] == ".":
                    continue
                entry = f"{entry[:3]}.{entry[4:]}"
        found.append(entry)
    return found


def read_settings(output: str) -> list[tuple[str, str]]:
    """Parse the output of `git config --list -z`: names and values."""
    found = []
    for entry in output.split("\0"):
        name, _, value = entry.partition("\n")
        if name:
            found.append((name, value))
    return found


def ignored_submodules(modules: list[tuple[str, str]], settings: list[tuple[str, str]]) -> dict[str, str]:
    """Return what git should ignore in submodules (`all`, `dirty`, `untracked` or `none`), by path."""
    usual = dict(settings).get("diff.ignoresubmodules", "")
    paths, ignored = {}, {}
    for name, value in (*modules, *settings):
        if name.startswith("submodule.") and name.endswith(".ignore"):
            ignored[name.removesuffix(".ignore")] = value
    for name, value in modules:
        if name.startswith("submodule.") and name.endswith(".path"):
            paths[value] = ignored.get(name.removesuffix(".path"), usual)
    return paths


def read_status(entries: list[str]) -> list[FileChange]:
    """Parse entries of `git status --porcelain=v2`."""
    found: list[FileChange] = []
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
            _, states, submodule, *_, paths = entry.split(" ", 9)
            path, _, old = paths.partition("\0")
            found += _renamed(states, path, old, submodule != "N...")
        elif kind == "u":
            _, _, submodule, *_, path = entry.split(" ", 10)
            found.append(FileChange("U", path, None, submodule != "N..."))
    return found


def _renamed(states: str, path: str, old: str, is_submodule: bool) -> list[FileChange]:
    if states[1] == "D":
        # Renamed and then deleted: neither file exists.
        return [FileChange("D", old, None, is_submodule), FileChange("D", path, None, is_submodule)]
    return [FileChange("C" if "C" in states else "R", path, old, is_submodule)]
