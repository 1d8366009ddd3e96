"""Compare project memory with changes in the repository: which nodes' files changed, moved or are gone."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memglot.display import first_few, one_line
from memglot.project.adopt import adopt
from memglot.project.map import unreadable_nodes, update_map
from memglot.project.project import Project
from memglot.project.renames import Moves, working_renames
from memglot.project.snapshot import snapshot_of
from memglot.project.storage.anchors import Files, normalize_anchor
from memglot.project.storage.errors import cannot_write, git_required, unsafe_path
from memglot.project.storage.files import write_file
from memglot.project.storage.git import FileChange, Git
from memglot.project.storage.hashes import local_time
from memglot.project.storage.markers import AGENT_FILES, strip_entries, strip_sections
from memglot.project.storage.node import Node
from memglot.project.storage.paths import FOLDER, SYNC_MARKER
from memglot.project.storage.product_map import repository_files
from memglot.project.storage.readme_map import README, without_map
from memglot.project.storage.vocabulary import COMMIT
from memglot.settings import export_time

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
"""Folders at the root with generated files; the original tool ignores the same."""
_IGNORED = tuple(f"{name}/" for name in IGNORED_FOLDERS)
_TASK = "sync reconciliation"
_MAX_FOLDERS = 10
_MAX_EXAMPLES = 3
_PAST_COMMITS = 100
_COMMIT = re.compile(COMMIT)


class Marker(NamedTuple):
    """The commit of the last sync."""

    commit: str
    at: str | None
    """Time of the sync; older versions did not write it."""


def read_marker(folder: Path) -> Marker | None:
    """Read the marker in a `.memory` folder; None if there is no usable one."""
    path = folder / SYNC_MARKER
    try:
        found = None if path.is_symlink() else json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or isinstance(found.get("version"), bool) or found.get("version") != 1:
        return None
    commit, at = found.get("last_sync_commit"), found.get("last_sync_at")
    if not isinstance(commit, str) or _COMMIT.fullmatch(commit) is None:
        return None
    return Marker(commit, at if isinstance(at, str) else None)


def write_marker(folder: Path, marker: Marker) -> None:
    """Write the marker in a `.memory` folder atomically."""
    fields = {"version": 1, "last_sync_commit": marker.commit, "last_sync_at": marker.at}
    path = folder / SYNC_MARKER
    if folder.is_symlink() or path.is_symlink():
        raise unsafe_path(f"{FOLDER}/{SYNC_MARKER}")
    try:
        write_file(path, (json.dumps(fields, indent=2) + "\n").encode())
    except OSError as error:
        raise cannot_write(f"{FOLDER}/{SYNC_MARKER}", error.strerror or str(error)) from None


def sync(project: Project, *, dry_run: bool = False, adopt_edits: bool = False) -> dict[str, Any]:
    """Compare all anchors with the repository, and advance the sync marker and the product map.

    With `adopt_edits`, adopt what was edited by hand first. Raise `ProjectError` outside of a git repository.
    """
    if project.git is None:
        raise git_required()
    adopted = adopt(project, dry_run=dry_run) if adopt_edits else None
    with snapshot_of(project) as snapshot:
        unreadable = unreadable_nodes(snapshot)
        found = compare(project, snapshot.nodes(), dry_run, local_time(export_time()), unreadable)
        if not dry_run and not unreadable:
            update_map(snapshot)
        return found if adopted is None else found | {"adopted": adopted}


def compare(
    project: Project, nodes: Sequence[Node], dry_run: bool, now: str, unreadable: Sequence[str] = ()
) -> dict[str, Any]:
    """Compare the anchors of all nodes with the changes since the last sync and with the present files.

    Without a usable marker, all anchors are checked and no changes are reported. Writes the marker, and nothing else,
    unless `dry_run` is set or there are `unreadable` node files, whose changes could not be reported.
    """
    git = project.git
    if git is None:
        raise git_required()
    head = git.head()
    base = _base_commit(git, read_marker(project.folder), head, project.warnings)
    files = repository_files(git)
    committed = git.changes(base) if base is not None else []
    working = git.working() if base is not None else None
    changed = changed_files(git, base, [*committed, *(working or ())]) if base is not None else Files(())
    found = _Comparison([node for node in sorted(nodes, key=lambda node: node.id) if node.is_live], files, changed)
    renamed = _find_renamed(git, committed, working, files, found.orphaned) if found.orphaned else {}
    found.cover(renamed.values())
    if unreadable:
        listed = first_few([one_line(path) for path in unreadable])
        project.warnings.append(
            "The sync marker and the product map were not updated because these node files cannot be read: "
            f"{listed}. Repair them, then run `memglot repo sync` again."
        )
    advance = not dry_run and not unreadable and head is not None
    if advance and head is not None:
        write_marker(project.folder, Marker(head, now))
    return {
        "base_commit": base,
        "head_commit": head,
        "full_verification": base is None,
        "changed_files_count": len(changed),
        "fresh": [node.id for node in found.fresh],
        "changed": found.changed_entries(),
        "orphaned": [_orphaned_entry(node, dead, renamed) for node, dead in found.orphaned],
        "unanchored": [node.id for node in found.unanchored],
        "coverage_gaps": found.gaps(),
        "save_skeleton": found.skeleton(renamed),
        "marker_advanced": advance,
        "titles": {node.id: node.title for node in found.listed()},
    }


def _base_commit(git: Git, marker: Marker | None, head: str | None, warnings: list[str]) -> str | None:
    if head is None:
        warnings.append(
            "The repository has no commits yet: all anchors were checked against the present files, and the sync "
            "marker was not advanced. Run `memglot repo sync` again after the first commit."
        )
    if head is None or marker is None:
        return None
    if git.is_ancestor(marker.commit):
        return marker.commit
    base = git.merge_base(marker.commit)
    if base is None:
        warnings.append(
            f"The commit {marker.commit} of the last sync is not in this clone, or not related to this branch: "
            "all anchors were checked instead of the changes since."
        )
    return base


def changed_files(git: Git, base: str, changes: Iterable[FileChange]) -> Files:
    """Return the changed paths, including removed files and former names; a changed submodule counts as a folder."""
    paths: set[str] = set()
    submodules: set[str] = set()
    for change in changes:
        for path in (change.path, change.old_path):
            if path is not None and not path.startswith(_IGNORED):
                paths.add(path)
                if change.is_submodule:
                    submodules.add(path)
    ours = _our_files(git.root)
    paths -= {name for name in paths & ours.keys() if _has_only_our_changes(git, base, name, ours[name])}
    return Files(paths, submodules)


def _our_files(root: Path) -> dict[str, Callable[[str], str]]:
    """Return the files that project memory writes to, or links to, each with the function that removes our part."""
    found: dict[str, Callable[[str], str]] = {".gitignore": strip_entries}
    inside = os.path.realpath(root)
    for name in AGENT_FILES:
        found[name] = found[os.path.relpath(os.path.realpath(root / name), inside)] = strip_sections
    return {README: without_map} | found


def _has_only_our_changes(git: Git, base: str, name: str, strip: Callable[[str], str]) -> bool:
    """Return True if a file differs only in what project memory writes to it."""
    before, now = git.show(base, name), _content(git.root / name)
    return strip(_text(before)) == strip(_text(now))


def _content(path: Path) -> bytes | None:
    try:
        return os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
    except OSError:
        return None


def _text(content: bytes | None) -> str:
    return (content or b"").decode(errors="surrogateescape")


def _find_renamed(
    git: Git,
    committed: list[FileChange],
    working: list[FileChange] | None,
    files: Files,
    orphaned: list[tuple[Node, list[str]]],
) -> dict[str, str]:
    """Return dead anchors with their new paths; past commits are read only for what recent changes do not explain."""
    working = git.working() if working is None else working
    working = [*working, *working_renames(git.root, working, files)]
    moves = Moves(files)
    moves.add((*working, *committed))
    anchors = dict.fromkeys(anchor for _, dead in orphaned for anchor in dead)
    found = {anchor: moves.suggest(anchor) for anchor in anchors}
    unsure = moves.doubtful | {anchor for anchor, target in found.items() if target is None}
    if unsure:
        steps = Moves(files)
        # Commit by commit, before their sum: a file that moved twice shows the steps of its folder.
        steps.add((*working, *git.past_renames(_PAST_COMMITS), *committed))
        found |= {anchor: steps.suggest(anchor) or found[anchor] for anchor in unsure}
    return {anchor: target for anchor, target in found.items() if target is not None and _can_be_saved(target)}


def _can_be_saved(anchor: str) -> bool:
    """Return True if a path can be an anchor: without line breaks, and valid UTF-8."""
    try:
        return normalize_anchor(anchor) == anchor == shown(anchor)
    except ValueError:
        return False


def _orphaned_entry(node: Node, dead: list[str], renamed: dict[str, str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": node.id, "anchors": dead}
    moved = [{"anchor": anchor, "to": renamed[anchor]} for anchor in dead if anchor in renamed]
    return entry | {"renamed": moved} if moved else entry


def shown(path: str) -> str:
    """Return a path that can be printed; bytes that are not valid UTF-8 become replacement characters."""
    return path if path.isascii() else path.encode(errors="surrogateescape").decode(errors="replace")


class _Comparison:
    """The live nodes by what happened to their files."""

    def __init__(self, live: list[Node], files: Files, changed: Files) -> None:
        self.files = files
        self.changed_files = changed
        self.fresh: list[Node] = []
        self.changed: list[tuple[Node, list[str]]] = []
        self.orphaned: list[tuple[Node, list[str]]] = []
        self.unanchored: list[Node] = []
        self._covered: set[str] = set()
        for node in live:
            self._classify(node)

    def _classify(self, node: Node) -> None:
        if not node.anchors:
            if node.kind != "project":
                self.unanchored.append(node)
            return
        dead = [anchor for anchor in node.anchors if not self.files.any(anchor)]
        hit = [anchor for anchor in node.anchors if self.changed_files.matches(anchor)]
        self._covered.update(path for anchor in hit for path in self.changed_files.matches(anchor))
        if dead:
            self.orphaned.append((node, dead))
        elif hit:
            self.changed.append((node, hit))
        else:
            self.fresh.append(node)

    def cover(self, anchors: Iterable[str]) -> None:
        """Count the files that these anchors match as covered."""
        self._covered.update(path for anchor in anchors for path in self.changed_files.matches(anchor))

    def listed(self) -> list[Node]:
        """Return the nodes to review."""
        return [*(node for node, _ in (*self.changed, *self.orphaned)), *self.unanchored]

    def changed_entries(self) -> list[dict[str, Any]]:
        """Return the nodes with changed files, and these files."""
        found = []
        for node, hit in self.changed:
            paths = {path for anchor in hit for path in self.changed_files.matches(anchor)}
            found.append({"id": node.id, "anchors": hit, "files": [shown(path) for path in sorted(paths)]})
        return found

    def gaps(self) -> list[dict[str, Any]]:
        """Return the folders with most changed files that no anchor matches."""
        by_folder: dict[str, list[str]] = {}
        for path in self.changed_files.paths:
            if path not in self._covered and (path in self.files or path in self.files.folders):
                folder, slash, _ = path.partition("/")
                by_folder.setdefault(folder if slash else ".", []).append(path)
        ranked = sorted(by_folder.items(), key=lambda item: (-len(item[1]), item[0]))
        return [
            {
                "dir": shown(folder),
                "files_count": len(paths),
                "examples": [shown(path) for path in paths[:_MAX_EXAMPLES]],
            }
            for folder, paths in ranked[:_MAX_FOLDERS]
        ]

    def skeleton(self, renamed: dict[str, str]) -> dict[str, Any]:
        """Return a save request to fill in: with moved anchors updated, and dead ones removed.

        A node without any anchor left is stale.
        """
        nodes: list[dict[str, Any]] = [{"id": node.id} for node, _ in self.changed]
        stale = []
        for node, dead in self.orphaned:
            now = [renamed.get(anchor) if anchor in dead else anchor for anchor in node.anchors]
            left = list(dict.fromkeys(anchor for anchor in now if anchor is not None))
            if left:
                nodes.append({"id": node.id, "anchors": left})
            else:
                stale.append({"id": node.id, "reason": ""})
        return {"task": _TASK, "nodes": nodes, "stale": stale}
