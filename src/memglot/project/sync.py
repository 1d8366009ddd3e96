"""Which nodes the code has moved away from: the anchors of project memory, held against the repository."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memglot.display import one_line
from memglot.project.anchors import Files, normalize_anchor
from memglot.project.changed_files import changed_files
from memglot.project.git import Change, Git
from memglot.project.node import Node
from memglot.project.notes import note_sync_held
from memglot.project.project import Project
from memglot.project.renames import Moves, working_renames
from memglot.project.storage.errors import cannot_write, git_required, unsafe_path
from memglot.project.storage.files import write_file
from memglot.project.storage.paths import FOLDER, SYNC_MARKER
from memglot.project.storage.vocabulary import COMMIT

_TASK = "sync reconciliation"
_MOST_FOLDERS = 10
_MOST_EXAMPLES = 3
_PAST_COMMITS = 100
_COMMIT = re.compile(COMMIT)


class Marker(NamedTuple):
    """Up to where the repository was last synced."""

    commit: str
    at: str | None
    """When; older versions did not write it."""


def read_marker(folder: Path) -> Marker | None:
    """The marker in a `.memory`; `None` where there is none that can be used."""
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
    """Set the marker in a `.memory`, whole or not at all."""
    fields = {"version": 1, "last_sync_commit": marker.commit, "last_sync_at": marker.at}
    path = folder / SYNC_MARKER
    if folder.is_symlink() or path.is_symlink():
        raise unsafe_path(f"{FOLDER}/{SYNC_MARKER}")
    try:
        write_file(path, (json.dumps(fields, indent=2) + "\n").encode())
    except OSError as error:
        raise cannot_write(f"{FOLDER}/{SYNC_MARKER}", error.strerror or str(error)) from None


def repository_files(git: Git) -> Files:
    """The files that anchors may mean."""
    tree = git.tree
    return Files(tree.paths, tree.opaque)


def dead_anchors(nodes: Iterable[Node], files: Files) -> list[tuple[str, list[str]]]:
    """The nodes that hold and have anchors without any file, each with those anchors; in the order of their paths."""
    found = []
    for node in sorted(nodes, key=lambda node: node.path):
        dead = [anchor for anchor in node.anchors if not files.any(anchor)] if node.is_live else []
        if dead:
            found.append((node.id, dead))
    return found


def sync(
    project: Project, nodes: Sequence[Node], dry_run: bool, now: str, faults: Sequence[str] = ()
) -> dict[str, Any]:
    """Hold the anchors of all nodes against what changed since the last sync, and against the files there are.

    Without a marker that can be used, all anchors are checked and no changes told. Writes the marker unless `dry_run`
    says otherwise, and nothing else. `faults` are the paths of nodes' files that cannot be used: nobody was told what
    changed for these nodes, so that the marker stays where it is. Raises `ProjectError` outside of a git repository.
    """
    git = project.git
    if git is None:
        raise git_required()
    head = git.head()
    base = _base(git, read_marker(project.folder), head, project.warnings)
    files = repository_files(git)
    committed = git.changes(base) if base is not None else []
    working = git.working() if base is not None else None
    changed = changed_files(git, base, [*committed, *(working or ())]) if base is not None else Files(())
    found = _Verdicts([node for node in sorted(nodes, key=lambda node: node.id) if node.is_live], files, changed)
    renamed = _renamed(git, committed, working, files, found.orphaned) if found.orphaned else {}
    found.cover(renamed.values())
    if faults:
        project.warnings.append(note_sync_held(faults))
    advance = not dry_run and not faults and head is not None
    if advance and head is not None:
        write_marker(project.folder, Marker(head, now))
    return {
        "base_commit": base,
        "head_commit": head,
        "full_verification": base is None,
        "changed_files_count": len(changed),
        "fresh": [node.id for node in found.fresh],
        "changed": found.changed_entries(),
        "orphaned": [_orphan_entry(node, dead, renamed) for node, dead in found.orphaned],
        "unanchored": [node.id for node in found.unanchored],
        "coverage_gaps": found.gaps(),
        "save_skeleton": found.skeleton(renamed),
        "marker_advanced": advance,
        "titles": {node.id: node.title for node in found.listed()},
    }


def _base(git: Git, marker: Marker | None, head: str | None, warnings: list[str]) -> str | None:
    if head is None:
        warnings.append(
            "The repository has no commits yet: all anchors were checked against the files there are, and the "
            "sync marker "
            "was not advanced. Run `memglot repo sync` again after the first commit."
        )
    if head is None or marker is None:
        return None
    if git.is_ancestor(marker.commit):
        return marker.commit
    base = git.merge_base(marker.commit)
    if base is None:
        warnings.append(
            f"The commit {shown(marker.commit)} of the last sync is not in this clone, or shares nothing with "
            "the branch here: "
            "all anchors were checked instead of the changes since."
        )
    return base


def _renamed(
    git: Git,
    committed: list[Change],
    working: list[Change] | None,
    files: Files,
    orphaned: list[tuple[Node, list[str]]],
) -> dict[str, str]:
    """Dead anchors, each with what it should say now; the past is asked only for what the present does not explain."""
    working = git.working() if working is None else working
    working = [*working, *working_renames(git.root, working, files)]
    moves = Moves(files)
    moves.add((*working, *committed))
    anchors = dict.fromkeys(anchor for _, dead in orphaned for anchor in dead)
    found = {anchor: moves.suggest(anchor) for anchor in anchors}
    unsure = moves.doubtful | {anchor for anchor, target in found.items() if target is None}
    if unsure:
        steps = Moves(files)
        # Commit by commit, before the sum of them: a file moved twice shows by which steps its folder went.
        steps.add((*working, *git.past_renames(_PAST_COMMITS), *committed))
        found |= {anchor: steps.suggest(anchor) or found[anchor] for anchor in unsure}
    return {anchor: target for anchor, target in found.items() if target is not None and _can_be_saved(target)}


def _can_be_saved(anchor: str) -> bool:
    """Tell whether a new name may be an anchor: those with line breaks, or bytes that are no UTF-8, may not."""
    try:
        return normalize_anchor(anchor) == anchor == shown(anchor)
    except ValueError:
        return False


def _orphan_entry(node: Node, dead: list[str], renamed: dict[str, str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": node.id, "anchors": dead}
    moved = [{"anchor": anchor, "to": renamed[anchor]} for anchor in dead if anchor in renamed]
    return entry | {"renamed": moved} if moved else entry


def shown(path: str) -> str:
    """A path as it can be printed: bytes that are no UTF-8 are shown by a sign that says so."""
    return path if path.isascii() else path.encode(errors="surrogateescape").decode(errors="replace")


def on_one_line(text: str) -> str:
    """A line of a listing as it can be printed: what would break it, or turn it round, is shown escaped."""
    return one_line(text)


class _Verdicts:
    """What became of each node that holds."""

    def __init__(self, live: list[Node], files: Files, changed: Files) -> None:
        self.files = files
        self.changed_files = changed
        self.fresh: list[Node] = []
        self.changed: list[tuple[Node, list[str]]] = []
        self.orphaned: list[tuple[Node, list[str]]] = []
        self.unanchored: list[Node] = []
        self._covered: set[str] = set()
        for node in live:
            self._judge(node)

    def _judge(self, node: Node) -> None:
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
        """Count files as spoken of that the nodes' files became."""
        self._covered.update(path for anchor in anchors for path in self.changed_files.matches(anchor))

    def listed(self) -> list[Node]:
        """The nodes that somebody should look at."""
        return [*(node for node, _ in (*self.changed, *self.orphaned)), *self.unanchored]

    def changed_entries(self) -> list[dict[str, Any]]:
        """The nodes whose files changed, with the files."""
        found = []
        for node, hit in self.changed:
            paths = {path for anchor in hit for path in self.changed_files.matches(anchor)}
            found.append({"id": node.id, "anchors": hit, "files": [shown(path) for path in sorted(paths)]})
        return found

    def gaps(self) -> list[dict[str, Any]]:
        """The folders with most changes that no node speaks of."""
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
                "examples": [shown(path) for path in paths[:_MOST_EXAMPLES]],
            }
            for folder, paths in ranked[:_MOST_FOLDERS]
        ]

    def skeleton(self, renamed: dict[str, str]) -> dict[str, Any]:
        """The save that would settle all this, to be filled in: moved anchors are set to where they went, dead ones
        are left out, and a node that has none left is stale."""
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
