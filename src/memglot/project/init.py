"""Beginning: the storage, the lines of `.gitignore`, and what agents find in AGENTS.md and CLAUDE.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memglot.project.agent_guide import guide
from memglot.project.agent_texts import brief_for, next_steps
from memglot.project.check.run import check
from memglot.project.map_refresh import map_of, unusable_nodes
from memglot.project.project import Project
from memglot.project.schemas import NAMES, make_folders, missing_schemas, schema_of, schema_path
from memglot.project.snapshot import snapshot_of
from memglot.project.storage.errors import ProjectError, issue
from memglot.project.storage.files import write_file
from memglot.project.storage.hashes import body_hash, local_time, node_hash, stable_json
from memglot.project.storage.ids import project_name, project_slug
from memglot.project.storage.journal import change_files, finish_change
from memglot.project.storage.layout import Layout
from memglot.project.storage.lock import locked
from memglot.project.storage.paths import ATTRIBUTES, BACKUPS, CONFIG, EVENTS, FOLDER, GIT_RULES, IGNORED
from memglot.project.storage.vocabulary import STORAGE_VERSION
from memglot.settings import export_time

_BUDGET = 2000


def init(project: Project, *, dry_run: bool = False, guidance: bool = True, anew: bool = False) -> dict[str, Any]:
    """Give a project a memory; one that has it keeps it, and gets what is missing around it. Raises `ProjectError`.

    With `anew` the one that was there is cleared, or would be by now if this were no dry run.
    """
    there = project.is_there and not anew
    if there:
        _check_there(project)
        project.warnings.append("Memory is already initialized; existing valid storage was left unchanged.")
    elif not anew:
        _refuse_dirty(project)
    files = _missing_node(project) if there else {**_new_store(project), **_schemas(project, anew)}
    if not there and not anew:
        _refuse_rest(project, files)
    if files and not dry_run:
        _create(project, files)
    ignored = project.git is not None and _ignore(project, dry_run=dry_run)
    built, map_text = False, None
    if not dry_run:
        with snapshot_of(project) as snapshot:
            built = snapshot.index.kept
            # A node that cannot be read now would be missing from the map.
            map_text = None if unusable_nodes(snapshot) else map_of(snapshot)
    targets = guide(project, map_text, dry_run=dry_run) if guidance else []
    created = [f"{FOLDER}/{path}" for path in files]
    created += [target["path"] for target in targets if target["status"] == "created"]
    return {
        "created": not there,
        "files_created": created,
        "gitignore_updated": ignored,
        "git_available": project.git is not None,
        "index_built": built,
        "agent_guidance": {"enabled": guidance, "targets": targets, "optional_skills": []},
        "next_steps": next_steps(in_git=project.git is not None, guidance=guidance),
        "dry_run": dry_run,
        "brief": brief(project),
    }


def brief(project: Project) -> str:
    """What an agent is told that gives the project its first memory."""
    id = project.config.project.id if project.is_there else _identity(project)["id"]
    return brief_for(id, in_git=project.git is not None)


def _create(project: Project, files: dict[str, bytes]) -> None:
    project.folder.mkdir(exist_ok=True)
    with locked(project.folder, "init"):
        finish_change(project.folder)
        # Another one may have begun while this one waited.
        if not any((project.folder / path).exists() for path in files):
            change_files(project.folder, files)
            make_folders(project.folder, Layout())


def _identity(project: Project) -> dict[str, str]:
    slug = project_slug(project.root.name)
    return {"id": f"project.{slug}", "name": project_name(slug)}


def _new_store(project: Project) -> dict[str, bytes]:
    """The files of a new store, in the order they are told."""
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
        "id": identity["id"], "type": "project", "status": "active", "title": identity["name"],
        "body_path": place + ".md", "tags": [], "evidence": [], "source": {"kind": "system"},
        "created_at": now, "updated_at": now,
    }  # fmt: skip
    node["content_hash"] = node_hash(node, body) if layout.tool_hash else body_hash(body)
    return {place + ".md": body, place + ".json": stable_json(node)}


def _missing_node(project: Project) -> dict[str, bytes]:
    """The project node of a store that lacks one, as one that was exported may."""
    with snapshot_of(project) as snapshot:
        if any(node.kind == "project" for node in snapshot.nodes()):
            return {}
        identity = {"id": project.config.project.id, "name": project.config.project.name}
        place = snapshot.layout.place(identity["id"], lambda path: snapshot.has_path(path + ".json"))
        return _project_node(identity, place, snapshot.layout)


def _check_there(project: Project) -> None:
    """Refuse a store that is broken: a second beginning must not be built on it."""
    project.config  # noqa: B018 - another version is refused
    found = check(project)
    if found["errors"]:
        raise _already_invalid(found["errors"])


def _refuse_dirty(project: Project) -> None:
    """Refuse where a committed memory was deleted or changed by hand; one that was reset left a backup."""
    if project.git is None or any((project.folder / BACKUPS).glob("*.tar.gz")):
        return
    tracked = project.git.run("ls-files", "-z", "--", FOLDER).decode(errors="surrogateescape").split("\0")
    if dirty := project.git.dirty([path for path in tracked if path]):
        raise _dirty_memory(dirty)


def _refuse_rest(project: Project, files: dict[str, bytes]) -> None:
    """Refuse where a memory without its config lies about: its log and its nodes are not to be written over."""
    rest = [f"{FOLDER}/{path}" for path in files if (project.folder / path).exists()]
    # Another one may be beginning right now; its config comes first.
    if rest and not project.is_there:
        raise _half_there(rest)


def _schemas(project: Project, anew: bool) -> dict[str, bytes]:
    """The schemas to write; where a store is, or would be, cleared, that is all of them."""
    return {schema_path(name): schema_of(name) for name in NAMES} if anew else missing_schemas(project.folder)


def _ignore(project: Project, *, dry_run: bool) -> bool:
    """Keep what is generated out of git; tells whether lines were missing."""
    path = project.root / ".gitignore"
    try:
        present = path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        present = ""
    lines = present.splitlines()
    missing = [entry for entry in IGNORED if entry not in lines]
    if not missing or path.is_symlink():
        return False
    end = "\r\n" if "\r\n" in present else "\n"
    before = present.rstrip("\r\n") + end * 2 if present.strip() else ""
    if not dry_run:
        write_file(path, (before + end.join(missing) + end).encode("utf-8", "surrogateescape"))
    return True


def _already_invalid(issues: Sequence[dict[str, Any]]) -> ProjectError:
    """A store that is broken."""
    message = "Memory is already initialized but invalid. `memglot repo check` tells what is wrong."
    return ProjectError("MemoryAlreadyInitializedInvalid", message, {"issues": list(issues)})


def _dirty_memory(paths: Sequence[str]) -> ProjectError:
    """Committed memory that was changed or deleted by hand."""
    message = (
        "Git knows a memory of this project whose files were changed or deleted since; init would write over them. "
        "`git restore --staged --worktree .memory` brings them back; to begin anew, commit their deletion first "
        "(`git rm -r --cached .memory`, then `git commit`)."
    )
    return ProjectError("MemoryDirtyMemory", message, {"dirty_files": list(paths)})


def _half_there(paths: Sequence[str]) -> ProjectError:
    """A `.memory` without a config, in which a new store would write over something."""
    message = (
        "`.memory` has no `config.json`, but holds files that init would write over. Run `memglot repo init --force`, "
        "which keeps a backup of them."
    )
    issues = [issue("CanonicalFileUnexpected", "This file is there already.", path) for path in paths]
    return ProjectError("MemoryAlreadyInitializedInvalid", message, {"issues": issues})
