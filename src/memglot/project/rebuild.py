"""Rebuild the index, and create missing schemas and folders."""

from __future__ import annotations

import shutil
from typing import Any

from memglot.project.event_log import Tail, append_events, lost_events, note_log_repaired, read_tail
from memglot.project.project import Project
from memglot.project.snapshot import Snapshot, snapshot_of
from memglot.project.storage.hashes import local_time
from memglot.project.storage.journal import Content, change_files, finish_change, recovery_folder
from memglot.project.storage.lock import locked
from memglot.project.storage.paths import EVENTS, memory_path
from memglot.project.storage.schemas import make_folders, missing_schemas
from memglot.settings import export_time


def rebuild(project: Project) -> dict[str, Any]:
    """Index every file again, create missing schemas and folders, and log it. Raise `ProjectError`."""
    project.config  # noqa: B018 - another version is refused before anything is written
    with locked(project.folder, "rebuild"):
        project.warnings.extend(finish_change(project.folder))
        with snapshot_of(project, rebuild=True) as snapshot:
            log = project.folder / EVENTS
            tail = read_tail(log)
            lost = _repair(project, snapshot, tail) if tail.torn else []
            event = {"actor": "cli", "event": "index.rebuilt", "timestamp": local_time(export_time())}
            make_folders(project.folder, snapshot.layout)
            files: dict[str, Content] = {**missing_schemas(project.folder), EVENTS: append_events(tail, [*lost, event])}
            change_files(project.folder, files)
            return {
                "index_rebuilt": snapshot.index.kept,
                "objects_indexed": len(snapshot.nodes()),
                "relations_indexed": len(snapshot.links()),
                "events_indexed": _lines(project),
                "event_appended": True,
            }


def _repair(project: Project, snapshot: Snapshot, tail: Tail) -> list[dict[str, Any]]:
    """Copy a log with an incomplete last line; return the restored events."""
    lost = lost_events(snapshot, tail)
    kept = f"{recovery_folder(project.folder, local_time(export_time()))}/{EVENTS}"
    (project.folder / kept).parent.mkdir(parents=True)
    shutil.copy2(project.folder / EVENTS, project.folder / kept)
    project.warnings.append(note_log_repaired(memory_path(kept), len(lost)))
    return lost


def _lines(project: Project) -> int:
    with open(project.folder / EVENTS, "rb") as log:
        return sum(1 for line in log if line.strip())
