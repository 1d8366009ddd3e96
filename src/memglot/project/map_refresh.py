"""The product map, made anew from a snapshot."""

from __future__ import annotations

from memglot.project.map import refresh_map, render_map
from memglot.project.notes import note_map_held
from memglot.project.snapshot import Snapshot
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.paths import FOLDER, NODES, memory_path
from memglot.project.sync import dead_anchors, repository_files


def map_of(snapshot: Snapshot) -> str:
    """The text of the map; anchors are held against the files of the repository, where there is one."""
    nodes = snapshot.nodes()
    return render_map(nodes, dead_of(snapshot))


def dead_of(snapshot: Snapshot) -> list[tuple[str, list[str]]]:
    """The nodes whose anchors match no file, with these anchors; nobody can tell outside of a repository."""
    if snapshot.project.git is None:
        return []
    try:
        return dead_anchors(snapshot.nodes(), repository_files(snapshot.project.git))
    except ProjectError as error:
        snapshot.project.warnings.append(f"Anchor verification skipped: {error.message}")
        return []


def unusable_nodes(snapshot: Snapshot) -> list[str]:
    """The paths of nodes' files from which no node could be read; one that only lacks its text is a node."""
    faulty = {fault["path"] for fault in snapshot.faults()}
    found = {path for path in faulty if path.startswith(f"{FOLDER}/{NODES}/") and path.endswith(".json")}
    return sorted(found - {memory_path(node.path) for node in snapshot.nodes()}) if found else []


def refresh_maps(snapshot: Snapshot) -> None:
    """Bring the map in AGENTS.md and CLAUDE.md up to date; what hinders that is a warning, never a failure.

    While files of nodes cannot be used, the map stays: a conflict in one of them is no reason to forget the node.
    """
    project = snapshot.project
    if unusable := unusable_nodes(snapshot):
        project.warnings.append(note_map_held(unusable))
        return
    project.warnings.extend(refresh_map(project.root, map_of(snapshot)))
