"""Show the differences between `.memory` in the working tree and the last commit, with the ids of changed nodes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from memglot.project.project import Project
from memglot.project.storage.errors import git_required
from memglot.project.storage.git import Git
from memglot.project.storage.paths import BACKUPS, FOLDER, INDEX, LOCK, NODES, RECOVERY, RELATIONS

_LEFT_OUT = tuple(f":(exclude,top){FOLDER}/{name}" for name in (INDEX, RECOVERY, "exports", BACKUPS, LOCK))
_AT_ONCE = 500
"""Maximum number of paths in one call of git."""
_ESCAPES = {"\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r", '"': '"', "\\": "\\"}


def diff(project: Project) -> dict[str, Any]:
    """Return the diff of `.memory` against the last commit, including new files, and the ids of what changed.

    `changed_files` are all that differ; `untracked_files` are those that git does not track yet. Storage of any
    version is compared. Raise `ProjectError` outside of git.
    """
    git = project.git
    if git is None:
        raise git_required()
    base = "HEAD" if git.ask("rev-parse", "--verify", "--quiet", "HEAD") is not None else _empty_tree(git)
    within = ("--", f":(top){FOLDER}", *_LEFT_OUT)
    shape = ("--no-color", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
    differing = _names(git.run("diff", "--name-only", "-z", *shape, base, *within))
    same = git.same_despite_filter(differing)
    within = (*within, *(f":(exclude,top,literal){name}" for name in sorted(same)))
    tracked = git.run("diff", *shape, "--src-prefix=a/", "--dst-prefix=b/", base, *within)
    untracked = _names(git.run("ls-files", "--others", "--exclude-standard", "-z", *within))
    parts = [tracked.decode("utf-8", "replace"), *(_new_file(git.root, name) for name in untracked)]
    changed = sorted({*differing, *untracked} - same)
    ids = _ids(git, base, changed)
    return {
        "diff": "".join(parts),
        "changed_files": [_printable(name) for name in changed],
        "untracked_files": [_printable(name) for name in untracked],
        "changed_memory_ids": sorted({id for path, id in ids if path.startswith(f"{FOLDER}/{NODES}/")}),
        "changed_relation_ids": sorted({id for path, id in ids if path.startswith(f"{FOLDER}/{RELATIONS}/")}),
    }


def _empty_tree(git: Git) -> str:
    """Return the hash of the empty tree, to compare a repository without commits."""
    return git.run("hash-object", "-t", "tree", "--stdin").decode().strip()


def _names(listed: bytes) -> list[str]:
    return sorted(os.fsdecode(name) for name in listed.split(b"\0") if name)


def _printable(name: str) -> str:
    """Return a name that JSON can contain."""
    return os.fsencode(name).decode("utf-8", "replace")


def _new_file(root: Path, name: str) -> str:
    """Return the diff of an untracked file, as git would show it once it is added."""
    try:
        found = os.lstat(root / name)
        if stat.S_ISLNK(found.st_mode):
            mode, content = "120000", os.fsencode(os.readlink(root / name))
        else:
            mode, content = "100755" if found.st_mode & 0o100 else "100644", (root / name).read_bytes()
    except OSError:
        return ""
    head = f"diff --git {_quoted('a/' + name)} {_quoted('b/' + name)}\nnew file mode {mode}\n"
    place = _quoted("b/" + name)
    if not content:
        return head
    if b"\0" in content[:8000]:
        return f"{head}Binary files /dev/null and {place} differ\n"
    lines = content.decode("utf-8", "replace").split("\n")
    end = "" if lines[-1] == "" else "\n\\ No newline at end of file\n"
    lines = lines if end else lines[:-1]
    # Git appends a tab to a name that contains a space.
    tab = "\t" if " " in name else ""
    count = "" if len(lines) == 1 else f",{len(lines)}"
    body = "\n".join("+" + line for line in lines) + (end or "\n")
    return f"{head}--- /dev/null\n+++ {place}{tab}\n@@ -0,0 +1{count} @@\n{body}"


def _quoted(name: str) -> str:
    """Return a name as git writes it: in quotes if it contains control characters."""
    text = _printable(name)
    if not any(character in _ESCAPES or character < " " or character == "\x7f" for character in text):
        return text
    escapes = (_ESCAPES.get(each, f"{ord(each):03o}" if each < " " or each == "\x7f" else "") for each in text)
    return '"' + "".join(f"\\{escape}" if escape else each for each, escape in zip(text, escapes, strict=True)) + '"'


def _ids(git: Git, base: str, changed: list[str]) -> list[tuple[str, str]]:
    """Return the ids in the changed files, each with the path of its JSON file."""
    wanted: set[str] = set()
    for name in changed:
        if name.startswith((f"{FOLDER}/{NODES}/", f"{FOLDER}/{RELATIONS}/")):
            wanted.add(name.removesuffix(".md") + ".json" if name.endswith(".md") else name)
    here = {name: _id_in(_content(git.root, name)) for name in wanted if name.endswith(".json")}
    found = [(name, id) for name, id in here.items() if id is not None]
    lost = [name for name, id in here.items() if id is None]
    if base == "HEAD":
        found += [(name, id) for name, content in _committed(git, lost) if (id := _id_in(content))]
    known = {name for name, _ in found}
    texts = {name for name in changed if name.endswith(".md") and name.removesuffix(".md") + ".json" not in known}
    return found + (_by_body(git.root, texts) if texts else [])


def _content(root: Path, name: str) -> bytes:
    try:
        return b"" if (root / name).is_symlink() else (root / name).read_bytes()
    except OSError:
        return b""


def _id_in(content: bytes) -> str | None:
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    id = found.get("id") if isinstance(found, dict) else None
    return id if isinstance(id, str) else None


def _committed(git: Git, names: list[str]) -> Iterator[tuple[str, bytes]]:
    """Yield files of the last commit with their contents; files that it lacks are skipped."""
    for start in range(0, len(names), _AT_ONCE):
        asked = names[start : start + _AT_ONCE]
        listed = git.ask("--literal-pathspecs", "ls-tree", "-z", "HEAD", "--", *asked) or b""
        # An entry is `mode type hash<tab>name`.
        entries = [entry.partition(b"\t") for entry in listed.split(b"\0") if entry]
        there = {os.fsdecode(name): what.split()[2].decode() for what, _, name in entries if b" blob " in what}
        yield from zip(there, git.blobs(list(there.values())), strict=True)


def _by_body(root: Path, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return the nodes whose texts are not next to their sidecars, by reading all sidecars."""
    bodies = {name.removeprefix(f"{FOLDER}/") for name in texts}
    found = []
    for path in sorted((root / FOLDER / NODES).rglob("*.json")):
        name = path.relative_to(root).as_posix()
        content = _content(root, name)
        if (id := _id_in(content)) and str(msgspec.json.decode(content).get("body_path")) in bodies:
            found.append((name, id))
    return found
