"""The commands of project memory: each takes a project and tells its data. The command line and MCP both call these."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from memglot.project.project import Project
from memglot.project.registry import Registry, project_at
from memglot.project.save.request import SaveRequest
from memglot.project.snapshot import snapshot_of
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.hashes import local_time
from memglot.settings import export_time, memory_home


def init(project: Project, *, dry_run: bool = False, guidance: bool = True, force: bool = False) -> dict[str, Any]:
    """Give a project a memory; with `force` anew, after a backup of the one that is there."""
    from memglot.project import init as beginning
    from memglot.project.reset import has_store

    cleared = reset(project, dry_run=dry_run) if force and has_store(project) else None
    done = beginning.init(project, dry_run=dry_run, guidance=guidance, anew=cleared is not None)
    return done | {"cleared": cleared}


def brief(project: Project) -> dict[str, Any]:
    """What an agent is told that gives the project its first memory."""
    from memglot.project import init as beginning

    return {"brief": beginning.brief(project)}


def save(project: Project, request: SaveRequest | bytes, *, dry_run: bool = False) -> dict[str, Any]:
    """Save what a request, or its JSON text, asks for."""
    from memglot.project.save.run import save

    return save(project, request, dry_run=dry_run)


def query(project: Project, question: str, budget: float | None = None) -> dict[str, Any]:
    """What project memory knows of a question, as Markdown within a budget."""
    from memglot.project.query import query

    with snapshot_of(project) as snapshot:
        return query(snapshot, question, budget)


def sync(project: Project, *, dry_run: bool = False) -> dict[str, Any]:
    """What changed in the repository, as the nodes see it; moves the marker, and the product map with it."""
    from memglot.project.map_refresh import refresh_maps, unusable_nodes
    from memglot.project.sync import sync

    with snapshot_of(project) as snapshot:
        unusable = unusable_nodes(snapshot)
        found = sync(project, snapshot.nodes(), dry_run, local_time(export_time()), unusable)
        if not dry_run and not unusable:
            refresh_maps(snapshot)
        return found


def status(project: Project) -> dict[str, Any]:
    """Where everything stands."""
    from memglot.project.map_refresh import dead_of
    from memglot.project.status import status
    from memglot.project.sync import read_marker

    with snapshot_of(project) as snapshot:
        marker = read_marker(project.folder)
        synced = None if marker is None else {"last_sync_commit": marker.commit, "last_sync_at": marker.at}
        return status(snapshot.nodes(), dead_of(snapshot), synced, snapshot.config)


def status_all(project: Project) -> dict[str, Any]:
    """Where everything stands in all projects that the user works with."""
    from memglot.project.status import status_all

    with _registry(project) as registry:
        return status_all(registry, _status_at)


def _status_at(root: Path) -> dict[str, Any]:
    if not root.is_dir():
        raise ProjectError("MemoryNotInitialized", "Its folder is not there.", {"project_root": str(root)})
    return status(project_at(root))


def check(project: Project) -> dict[str, Any]:
    """What is wrong with the files."""
    from memglot.project.check.inputs import facts_of
    from memglot.project.check.run import check

    try:
        facts = facts_of(project)
    except ProjectError as error:
        if error.exit_code == 3:
            raise
        facts = {}  # A config that cannot be read is among the findings.
    return check(project, **facts)


def inspect(project: Project, id: str) -> dict[str, Any]:
    """Everything about one node."""
    from memglot.project.inspect import inspect

    with snapshot_of(project) as snapshot:
        return inspect(snapshot, id)


def diff(project: Project) -> dict[str, Any]:
    """What differs from the last commit."""
    from memglot.project.diff import difference

    return difference(project)


def rebuild(project: Project) -> dict[str, Any]:
    """Build the index anew."""
    from memglot.project.rebuild import rebuild

    return rebuild(project)


def reset(project: Project, *, destroy: bool = False, dry_run: bool = False) -> dict[str, Any]:
    """Clear the memory of a project, after a backup unless it is to be destroyed."""
    from memglot.project.reset import reset

    found = reset(project, destroy=destroy, dry_run=dry_run)
    if not dry_run:
        with _registry(project) as registry, suppress(ProjectError):
            registry.remove(str(project.root))
    return found


def reset_all(project: Project, *, destroy: bool = False, dry_run: bool = False) -> dict[str, Any]:
    """Clear the memory of every registered project."""
    from memglot.project.reset import reset_all

    with _registry(project) as registry:
        return reset_all(registry, destroy=destroy, dry_run=dry_run)


def restore(project: Project, name: str | None = None) -> dict[str, Any]:
    """Bring a backup back."""
    from memglot.project.reset import restore

    return restore(project, name)


def projects(project: Project) -> dict[str, Any]:
    """The registered projects."""
    with _registry(project) as registry:
        return {"registry_path": str(registry.path), "projects": registry.list()}


def add_project(project: Project, path: Path | None = None) -> dict[str, Any]:
    """Register a project."""
    other = Project.find(path) if path is not None else project
    with _registry(project) as registry:
        return {"registry_path": str(registry.path), "project": registry.add(other.root, other.config, "manual")}


def remove_project(project: Project, name: str) -> dict[str, Any]:
    """Take a project out of the registry; its memory stays."""
    with _registry(project) as registry:
        return {"registry_path": str(registry.path), "removed": registry.remove(name)}


def prune_projects(project: Project) -> dict[str, Any]:
    """Take out of the registry what is gone, or of another version."""
    with _registry(project) as registry:
        gone = registry.prune()
        return {"registry_path": str(registry.path), "projects": registry.list(), "removed": gone}


@contextmanager
def _registry(project: Project) -> Iterator[Registry]:
    """The user's registry; what it has to say goes with the answer."""
    registry = Registry(memory_home())
    yield registry
    project.warnings.extend(registry.warnings)
