"""Show the state of a project: features by stage, open questions, dead anchors, last activity and last sync."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from memglot.project.event_log import parse_time
from memglot.project.map import dead_anchors_in
from memglot.project.project import Project
from memglot.project.registry import Registry, open_registry, project_at
from memglot.project.snapshot import snapshot_of
from memglot.project.storage.errors import ProjectError, reason_of
from memglot.project.storage.node import Node
from memglot.project.storage.shapes import Config
from memglot.project.storage.vocabulary import STAGES, STORAGE_VERSION
from memglot.project.sync import read_marker


def status(project: Project) -> dict[str, Any]:
    """Return the state of a project. Raise `ProjectError`."""
    with snapshot_of(project) as snapshot:
        marker = read_marker(project.folder)
        last_sync = None if marker is None else {"last_sync_commit": marker.commit, "last_sync_at": marker.at}
        return state_of(snapshot.nodes(), dead_anchors_in(snapshot), last_sync, snapshot.config)


def status_all(project: Project) -> dict[str, Any]:
    """Return the state of all registered projects."""
    with open_registry(project) as registry:
        return states_of(registry, _status_at)


def _status_at(root: Path) -> dict[str, Any]:
    if not root.is_dir():
        raise ProjectError("MemoryNotInitialized", "The folder does not exist.", {"project_root": str(root)})
    return status(project_at(root))


def state_of(
    nodes: Iterable[Node],
    dead: Iterable[tuple[str, Sequence[str]]],
    last_sync: dict[str, Any] | None,
    config: Config,
) -> dict[str, Any]:
    """Summarise the nodes of a project. `dead` are the ids of live nodes with their anchors that match no files.

    Features, questions and stale nodes are ordered from new to old. Only active features count; one without a stage
    is an idea. Nodes with dead anchors are stale.
    """
    lost = {id: list(anchors) for id, anchors in dead}
    newest = sorted(nodes, key=lambda node: node.id)
    newest.sort(key=lambda node: parse_time(node.updated_at), reverse=True)
    features = [node for node in newest if node.kind == "feature" and node.status == "active"]
    titles = {stage: [node.title for node in features if (node.stage or "idea") == stage] for stage in STAGES}
    return {
        "project": {"id": config.project.id, "name": config.project.name},
        "features_by_stage": {stage: {"count": len(found), "titles": found} for stage, found in titles.items()},
        "open_questions": [{"id": node.id, "title": node.title} for node in newest if _is_open_question(node)],
        "stale": [
            {"id": node.id, "title": node.title, "orphaned_anchors": lost[node.id]}
            for node in newest
            if node.id in lost
        ],
        "last_activity": newest[0].updated_at if newest else None,
        "last_sync": last_sync,
    }


def states_of(registry: Registry, read: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Return a row for every registered project, the most recently active first.

    `read` returns the status of the project in a folder. If it raises `ProjectError`, the row has the `problem`, and
    `needs_reset` if the storage has another version.
    """
    rows = [_row(entry, read) for entry in registry.list()]
    rows.sort(key=lambda row: parse_time(row["last_activity"]), reverse=True)
    return {"projects": rows}


def _row(entry: dict[str, Any], read: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    row = {"registry_id": entry["registry_id"], "project_root": entry["project_root"]}
    try:
        found = read(Path(entry["project_root"]))
    except ProjectError as error:
        details = error.details or {}
        is_other = error.code == "MemoryUnsupportedStorageVersion"
        version = details.get("found_version") if is_other else None
        return row | _unknown(entry, is_other, version, error.message)
    except OSError as error:
        return row | _unknown(entry, False, None, reason_of(error))
    return row | {"needs_reset": False, "storage_version": STORAGE_VERSION} | found | {"problem": None}


def _unknown(entry: dict[str, Any], needs_reset: bool, version: Any, problem: str) -> dict[str, Any]:
    """Return the row of a project that cannot be read, with the same keys as any other."""
    return {
        "needs_reset": needs_reset,
        "storage_version": version,
        "project": entry["project"],
        "features_by_stage": {stage: {"count": 0, "titles": []} for stage in STAGES},
        "open_questions": [],
        "stale": [],
        "last_activity": None,
        "last_sync": None,
        "problem": problem,
    }


def _is_open_question(node: Node) -> bool:
    return node.kind == "question" and node.status == "open"
