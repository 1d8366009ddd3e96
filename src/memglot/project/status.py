"""Where a project stands: its features by stage, what is open, what is stale, and when something last happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memglot.project.messages import said_by
from memglot.project.node import Node
from memglot.project.registry import Registry
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.shapes import Config
from memglot.project.storage.vocabulary import STAGES, STORAGE_VERSION

_NEVER = datetime.min.replace(tzinfo=UTC)


def status(
    nodes: Iterable[Node],
    dead: Iterable[tuple[str, Sequence[str]]],
    last_sync: dict[str, Any] | None,
    config: Config,
) -> dict[str, Any]:
    """The state of a project. `dead` are the ids of live nodes with those of their anchors that match no files.

    Features, questions and stale nodes come with the newest first. Only active features count; one without a stage
    is an idea. Stale are those that lost an anchor.
    """
    lost = {id: list(anchors) for id, anchors in dead}
    newest = sorted(nodes, key=lambda node: node.id)
    newest.sort(key=lambda node: moment_of(node.updated_at), reverse=True)
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


def status_all(registry: Registry, read: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """The state of every registered project, the busiest of late first.

    `read` gives the `status` of the project in a folder, or raises `ProjectError`: such a project has a row too, with
    the `problem`, and `needs_reset` where its storage is of another version.
    """
    rows = [_row(entry, read) for entry in registry.list()]
    rows.sort(key=lambda row: moment_of(row["last_activity"]), reverse=True)
    return {"projects": rows}


def moment_of(time: str | None) -> datetime:
    """A time as sidecars write it, as a moment: two offsets may spell one. What is no time was never."""
    try:
        found = datetime.fromisoformat(time or "")
    except ValueError:
        return _NEVER
    return found if found.tzinfo else found.replace(tzinfo=UTC)


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
        return row | _unknown(entry, False, None, said_by(error))
    return row | {"needs_reset": False, "storage_version": STORAGE_VERSION} | found | {"problem": None}


def _unknown(entry: dict[str, Any], needs_reset: bool, version: Any, problem: str) -> dict[str, Any]:
    """The row of a project that cannot be read, with the keys of one that can."""
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
