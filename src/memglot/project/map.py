"""Keep the product map of a project up to date."""

from __future__ import annotations

from memglot.display import first_few, one_line
from memglot.project.snapshot import Snapshot
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.paths import FOLDER, NODES, memory_path
from memglot.project.storage.product_map import dead_anchors, render_map, repository_files, write_map


def dead_anchors_in(snapshot: Snapshot) -> list[tuple[str, list[str]]]:
    """Return the dead anchors of a snapshot; none outside of a git repository, where they are not known."""
    if snapshot.project.git is None:
        return []
    try:
        return dead_anchors(snapshot.nodes(), repository_files(snapshot.project.git))
    except ProjectError as error:
        snapshot.project.warnings.append(f"Anchor verification skipped: {error.message}")
        return []


def unreadable_nodes(snapshot: Snapshot) -> list[str]:
    """Return the paths of node files that cannot be read; a node that only lacks its text is readable."""
    faulty = {fault["path"] for fault in snapshot.faults()}
    found = {path for path in faulty if path.startswith(f"{FOLDER}/{NODES}/") and path.endswith(".json")}
    return sorted(found - {memory_path(node.path) for node in snapshot.nodes()}) if found else []


def map_of(snapshot: Snapshot) -> str:
    """Return the text of the map for a snapshot."""
    return render_map(snapshot.nodes(), dead_anchors_in(snapshot))


def update_map(snapshot: Snapshot) -> None:
    """Update the map in AGENTS.md and CLAUDE.md; problems become warnings, never errors.

    The map is not changed while node files cannot be read: a conflict in a file must not remove its node from the map.
    """
    project = snapshot.project
    if unreadable := unreadable_nodes(snapshot):
        listed = first_few([one_line(path) for path in unreadable])
        project.warnings.append(
            f"The product map was not updated because these node files cannot be read: {listed}. Repair them, then "
            "save or sync again."
        )
        return
    project.warnings.extend(write_map(project.root, map_of(snapshot)))
