"""What `check` is told beside the files: dead anchors, the state of the product maps, and of the index."""

from __future__ import annotations

from typing import Any

from memglot.project.map import TARGETS, render_map
from memglot.project.map_refresh import dead_of
from memglot.project.markers import MAP, extract_section
from memglot.project.project import Project
from memglot.project.snapshot import snapshot_of
from memglot.project.storage.errors import INDEX_NOT_KEPT


def facts_of(project: Project) -> dict[str, Any]:
    """These facts, by the names that `check` takes them under."""
    with snapshot_of(project) as snapshot:
        dead = dead_of(snapshot)
        text = render_map(snapshot.nodes(), dead)
        problem = None if snapshot.index.kept or not project.config.memory.auto_index else INDEX_NOT_KEPT
    missing, stale = [], []
    for name in TARGETS:
        path = project.root / name
        if not path.is_file():
            continue  # Whoever wants no guidance has no such file.
        found = extract_section(path.read_bytes().decode(errors="replace"), MAP)
        if found is None:
            missing.append(name)
        elif found != text:
            stale.append(name)
    return {"dead": dead, "maps_missing": missing, "maps_stale": stale, "index_problem": problem}
