"""The check command: collect dead anchors and the state of the product map and the index, then check the files."""

from __future__ import annotations

from typing import Any

from memglot.project.check.run import check
from memglot.project.map import dead_anchors_in, render_map
from memglot.project.markers import AGENT_FILES, MAP, extract_section
from memglot.project.project import Project
from memglot.project.snapshot import snapshot_of
from memglot.project.storage.errors import ProjectError


def check_project(project: Project) -> dict[str, Any]:
    """Return what is wrong with a project's memory. Raises `ProjectError` if there is none, or of another version."""
    try:
        inputs = _inputs(project)
    except ProjectError as error:
        if error.exit_code == 3:
            raise
        inputs = {}  # A config that cannot be read is among the findings.
    return check(project, **inputs)


def _inputs(project: Project) -> dict[str, Any]:
    with snapshot_of(project) as snapshot:
        dead = dead_anchors_in(snapshot)
        text = render_map(snapshot.nodes(), dead)
        problem = None
        if project.config.memory.auto_index and not snapshot.index.kept:
            problem = "it cannot be written, so every command reads all files"
    missing, stale = [], []
    for name in AGENT_FILES:
        path = project.root / name
        if not path.is_file():
            continue  # Projects without guidance have no such file.
        found = extract_section(path.read_bytes().decode(errors="replace"), MAP)
        if found is None:
            missing.append(name)
        elif found != text:
            stale.append(name)
    return {"dead": dead, "maps_missing": missing, "maps_stale": stale, "index_problem": problem}
