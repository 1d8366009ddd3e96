"""Initialize project memory: the store, the entries of `.gitignore`, and the texts for agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memglot.project.check.run import REPAIRABLE, check
from memglot.project.map import map_of, unreadable_nodes
from memglot.project.project import Project
from memglot.project.reset import has_store, reset
from memglot.project.snapshot import finish_stopped_save, snapshot_of
from memglot.project.storage.agent_guide import brief_for, next_steps, write_guidance
from memglot.project.storage.errors import ProjectError, issue
from memglot.project.storage.files import write_file
from memglot.project.storage.hashes import body_hash, local_time, node_hash, stable_json
from memglot.project.storage.ids import project_name, project_slug
from memglot.project.storage.journal import change_files, finish_change
from memglot.project.storage.layout import Layout
from memglot.project.storage.lock import is_abandoned, locked
from memglot.project.storage.markdown import lines_of
from memglot.project.storage.paths import ATTRIBUTES, BACKUPS, CONFIG, EVENTS, FOLDER, GIT_RULES, IGNORED, LOCK
from memglot.project.storage.schemas import NAMES, has_folders, make_folders, missing_schemas, schema_of, schema_path
from memglot.project.storage.vocabulary import STORAGE_VERSION
from memglot.settings import export_time

_BUDGET = 2000


def init(project: Project, *, dry_run: bool = False, guidance: bool = True, force: bool = False) -> dict[str, Any]:
    """Create the memory of a project; existing memory is kept, and what is missing is added. Raise `ProjectError`.

    With `force`, existing memory is backed up and replaced.
    """
    if not dry_run:
        finish_stopped_save(project)
    cleared = reset(project, dry_run=dry_run) if force and has_store(project) else None
    is_cleared = cleared is not None
    exists = project.is_initialized and not is_cleared
    if exists:
        _check_existing(project)
        project.warnings.append("Memory is already initialized; existing valid storage was left unchanged.")
    elif not is_cleared:
        _refuse_uncommitted(project)
    files = _missing_node(project) if exists else _new_store(project)
    files |= _schemas(project, is_cleared)
    if not exists and not is_cleared:
        _refuse_partial_store(project, files)
    is_incomplete = files or not has_folders(project.folder) or is_abandoned(project.folder / LOCK)
    if not dry_run and is_incomplete:
        _create(project, files)
    ignored = project.git is not None and _ignore(project, dry_run=dry_run)
    built, map_text = False, None
    if not dry_run:
        with snapshot_of(project) as snapshot:
            built = snapshot.index.kept
            # Nodes that cannot be read would be missing from the map.
            map_text = None if unreadable_nodes(snapshot) else map_of(snapshot)
    targets = write_guidance(project.root, map_text, project.warnings, dry_run=dry_run) if guidance else []
    created = [f"{FOLDER}/{path}" for path in files]
    created += [target["path"] for target in targets if target["status"] == "created"]
    return {
        "created": not exists,
        "files_created": created,
        "gitignore_updated": ignored,
        "git_available": project.git is not None,
        "index_built": built,
        "agent_guidance": {"enabled": guidance, "targets": targets, "optional_skills": []},
        "next_steps": next_steps(in_git=project.git is not None, guidance=guidance),
        "dry_run": dry_run,
        "brief": _brief_text(project),
        "cleared": cleared,
    }


def brief(project: Project) -> dict[str, Any]:
    """Return the instructions for an agent that indexes the project."""
    return {"brief": _brief_text(project)}


def _brief_text(project: Project) -> str:
    id = project.config.project.id if project.is_initialized else _identity(project)["id"]
    return brief_for(id, in_git=project.git is not None)


def _create(project: Project, files: dict[str, bytes]) -> None:
    project.folder.mkdir(exist_ok=True)
    with locked(project.folder, "init"):
        finish_change(project.folder)
        # Another process may have created it while this one waited.
        if files and not any((project.folder / path).exists() for path in files):
            change_files(project.folder, files)
        make_folders(project.folder, Layout())


def _identity(project: Project) -> dict[str, str]:
    slug = project_slug(project.root.name)
    return {"id": f"project.{slug}", "name": project_name(slug)}


def _new_store(project: Project) -> dict[str, bytes]:
    """Return the files of a new store, in the order they are reported."""
    identity = _identity(project)
    config = {
        "version": STORAGE_VERSION,
        "project": identity,
        "memory": {"defaultTokenBudget": _BUDGET, "autoIndex": True},
    }
    place = Layout().place(identity["id"], lambda _: False)
    files = {CONFIG: stable_json(config), **_project_node(identity, place, Layout()), EVENTS: b""}
    return files | ({ATTRIBUTES: GIT_RULES.encode()} if project.git is not None else {})


def _project_node(identity: dict[str, str], place: str, layout: Layout) -> dict[str, bytes]:
    now = local_time(export_time())
    body = f"# {identity['name']}\n\nProject-level memory for {identity['name']}.\n".encode()
    node = {
        "id": identity["id"],
        "type": "project",
        "status": "active",
        "title": identity["name"],
        "body_path": place + ".md",
        "tags": [],
        "evidence": [],
        "source": {"kind": "system"},
        "created_at": now,
        "updated_at": now,
    }
    node["content_hash"] = node_hash(node, body) if layout.by_tool else body_hash(body)
    return {place + ".md": body, place + ".json": stable_json(node)}


def _missing_node(project: Project) -> dict[str, bytes]:
    """Return the files of a missing project node; an exported store may lack it."""
    with snapshot_of(project) as snapshot:
        if any(node.kind == "project" for node in snapshot.nodes()):
            return {}
        identity = {"id": project.config.project.id, "name": project.config.project.name}
        place = snapshot.layout.place(identity["id"], lambda path: snapshot.has_path(path + ".json"))
        return _project_node(identity, place, snapshot.layout)


def _check_existing(project: Project) -> None:
    """Raise `ProjectError` if the existing store is invalid."""
    project.config  # noqa: B018 - another version is refused
    errors = [found for found in check(project)["errors"] if found["code"] not in REPAIRABLE]
    if errors:
        raise _already_invalid(errors)


def _refuse_uncommitted(project: Project) -> None:
    """Raise `ProjectError` if committed memory was deleted or changed by hand; a reset leaves a backup."""
    if project.git is None or any((project.folder / BACKUPS).glob("*.tar.gz")):
        return
    tracked = project.git.run("ls-files", "-z", "--", FOLDER).decode(errors="surrogateescape").split("\0")
    if dirty := project.git.dirty([path for path in tracked if path]):
        raise _dirty_memory(dirty)


def _refuse_partial_store(project: Project, files: dict[str, bytes]) -> None:
    """Raise `ProjectError` if files of a store without config would be overwritten."""
    rest = [f"{FOLDER}/{path}" for path in files if (project.folder / path).exists()]
    # Another process may be creating the store right now; it writes the config first.
    if rest and not project.is_initialized:
        raise _partial_store(rest)


def _schemas(project: Project, is_cleared: bool) -> dict[str, bytes]:
    """Return the schemas to write: all of them if the store is, or would be, cleared."""
    return {schema_path(name): schema_of(name) for name in NAMES} if is_cleared else missing_schemas(project.folder)


def _ignore(project: Project, *, dry_run: bool) -> bool:
    """Add generated files to `.gitignore`; return True if entries were missing."""
    path = project.root / ".gitignore"
    try:
        present = path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        present = ""
    lines = lines_of(present)
    missing = [entry for entry in IGNORED if entry not in lines]
    if not missing or path.is_symlink():
        return False
    end = "\r\n" if "\r\n" in present else "\n"
    before = present.rstrip("\r\n") + end * 2 if present.strip() else ""
    if not dry_run:
        write_file(path, (before + end.join(missing) + end).encode("utf-8", "surrogateescape"))
    return True


def _already_invalid(issues: Sequence[dict[str, Any]]) -> ProjectError:
    message = "Memory is already initialized but invalid. Run `memglot repo check` to see what is wrong."
    return ProjectError("MemoryAlreadyInitializedInvalid", message, {"issues": list(issues)})


def _dirty_memory(paths: Sequence[str]) -> ProjectError:
    message = (
        "Git tracks a memory of this project whose files were changed or deleted; init would overwrite them. Run "
        "`git restore --staged --worktree .memory` to restore them. To start over, commit their deletion first "
        "(`git rm -r --cached .memory`, then `git commit`)."
    )
    return ProjectError("MemoryDirtyMemory", message, {"dirty_files": list(paths)})


def _partial_store(paths: Sequence[str]) -> ProjectError:
    message = (
        "`.memory` has no `config.json`, but contains files that init would overwrite. Run `memglot repo init "
        "--force`, which backs them up first."
    )
    issues = [issue("CanonicalFileUnexpected", "This file already exists.", path) for path in paths]
    return ProjectError("MemoryAlreadyInitializedInvalid", message, {"issues": issues})
