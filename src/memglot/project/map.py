"""Keep the product map of a project up to date."""

from __future__ import annotations

from typing import Any

from memglot.display import first_few, one_line
from memglot.project.project import Project
from memglot.project.snapshot import Snapshot, snapshot_of
from memglot.project.storage.errors import ProjectError, cannot_write
from memglot.project.storage.lock import locked
from memglot.project.storage.paths import FOLDER, NODES, memory_path
from memglot.project.storage.product_map import dead_anchors, render_map, repository_files, write_map
from memglot.project.storage.readme_map import (
    AMBIGUOUS,
    README,
    added_map,
    has_odd_map,
    read_readme,
    readme_of,
    with_map,
    write_readme,
)


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
    """Update the map in AGENTS.md, CLAUDE.md and README.md; problems become warnings, never errors.

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


def show_map(project: Project) -> dict[str, Any]:
    """Return the text of the map. Raise `ProjectError` if there is no memory."""
    with snapshot_of(project) as snapshot:
        return {"map": map_of(snapshot), "readme": None}


def add_to_readme(project: Project, *, dry_run: bool = False) -> dict[str, Any]:
    """Add the map to README.md, between markers at its end, or refresh it there; every save and sync keeps it current.

    Raise `ProjectError` if there is no such file, if its markers are not one pair, or if nodes cannot be read.
    """
    if dry_run:
        return _added(project, dry_run=True)
    project.config  # noqa: B018 - without a store there is nothing to lock
    # Under the lock, so that the map of a later save remains.
    with locked(project.folder, "save"):
        return _added(project, dry_run=False)


def _added(project: Project, *, dry_run: bool) -> dict[str, Any]:
    with snapshot_of(project) as snapshot:
        if unreadable := unreadable_nodes(snapshot):
            listed = first_few([one_line(path) for path in unreadable])
            raise ProjectError(
                "MemoryValidationFailed", f"These node files cannot be read: {listed}. Repair them first."
            )
        text = map_of(snapshot)
    path = readme_of(project.root)
    if path is None:
        message = f"This project has no {README} that is a file of its own. Create one, then run the command again."
        raise ProjectError("MemoryValidationFailed", message, {"path": README})
    try:
        contents = read_readme(path)
        if has_odd_map(contents):
            raise ProjectError("MemoryValidationFailed", AMBIGUOUS, {"path": README})
        refreshed = with_map(contents, text)
        found = added_map(contents, text) if refreshed is None else refreshed
        if found != contents and not dry_run:
            write_readme(project.root, path, found)
    except OSError as error:
        raise cannot_write(README, (error.strerror or str(error)).lower()) from None
    status = "unchanged" if found == contents else "added" if refreshed is None else "updated"
    return {"map": text, "readme": status, "dry_run": dry_run}
