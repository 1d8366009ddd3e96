"""Reset and restore project memory: `reset` backs up a store and removes it, `restore` unpacks a backup.

If the process is killed, either the complete store or a complete backup remains. Both commands hold the store's lock.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from memglot.display import first_few, plural
from memglot.files import sync_folder
from memglot.project.archive import BackupDiffers, bad_backup, lacks_file, pack, unpack
from memglot.project.project import Project
from memglot.project.registry import Registry, open_registry, project_at
from memglot.project.storage.errors import ProjectError, cannot_write, reason_of, unsafe_path
from memglot.project.storage.journal import finish_change, has_journal
from memglot.project.storage.lock import locked
from memglot.project.storage.paths import BACKUPS, CONFIG, FOLDER, INDEX, LOCK
from memglot.settings import export_time

_NAME = re.compile(r"memory-(\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z)-[0-9a-f-]{36}\.tar\.gz")
_TIME = "%Y-%m-%dT%H-%M-%S"
_KEPT = (BACKUPS, LOCK, "projects.json", "projects.lock")
_UNPACKED = "restoring-"
"""Prefix of the folder that a backup is unpacked in, followed by the backup's name. If it exists and the store does
not, a restore of that backup was killed."""


def reset(project: Project, *, destroy: bool = False, dry_run: bool = False) -> dict[str, Any]:
    """Remove a store, after a backup unless `destroy` is set, and unregister the project. Raise `ProjectError`."""
    try:
        return clear(project, destroy=destroy, dry_run=dry_run)
    finally:
        # Also without a store, because a reset may have been killed when it had removed the store.
        if not dry_run and not has_store(project):
            _unregister(project)


def _unregister(project: Project) -> None:
    with open_registry(project) as registry:
        try:
            registry.remove(str(project.root))
        except ProjectError as error:
            if error.code != "MemoryValidationFailed":  # It was registered at all.
                project.warnings.append(f"This project is still registered: {error.message}")


def reset_all(project: Project, *, destroy: bool = False, dry_run: bool = False) -> dict[str, Any]:
    """Reset every registered project."""
    with open_registry(project) as registry:
        return clear_all(registry, destroy=destroy, dry_run=dry_run)


def clear(project: Project, *, destroy: bool = False, dry_run: bool = False) -> dict[str, Any]:
    """Back up a store of any version, intact or broken, and then remove it; backups are kept.

    With `destroy` there is no backup, and earlier backups are removed too. Raise `ProjectError`; a store that could
    not be backed up is not removed.
    """
    names = _entries(project)
    if not _is_store(names) and not (destroy and project.folder.is_dir()):
        if not dry_run and (project.folder / LOCK).exists():
            with locked(project.folder, "reset"):
                pass  # Which removes the lock that a killed reset left.
        raise _no_memory(str(project.root), has_backup=bool(backups(project)))
    result = {"dry_run": dry_run, "destroyed": destroy, "in_git": _is_tracked(project), "backup_path": None}
    if dry_run:
        return result | {"entries_removed": _with_backups(project, names) if destroy else names}
    with locked(project.folder, "reset"):
        _finish_save(project)
        names, backup = _entries(project), None
        if not destroy:
            _clear_unpacked(project)
            backup = _pack(project, names)
        else:
            names = _with_backups(project, names)
        _remove(project, names, backup)
    if destroy:
        with suppress(OSError):
            project.folder.rmdir()
    return result | {"backup_path": backup, "entries_removed": names}


def has_store(project: Project) -> bool:
    """Return True if a project has anything to reset."""
    return _is_store(_entries(project))


def backups(project: Project) -> list[dict[str, Any]]:
    """Return the backups of a project, newest first: name, path, time and size."""
    found = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for entry in os.scandir(project.folder / BACKUPS):
            if (named := _NAME.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False):
                known = entry.stat()
                row = {"name": entry.name, "path": _backup_path(entry.name), "size": known.st_size}
                found.append((named[1], known.st_mtime_ns, row | {"created_at": _iso_time(named[1])}))
    return [row for _, _, row in sorted(found, key=lambda each: each[:2], reverse=True)]


def restore(project: Project, name: str | None = None) -> dict[str, Any]:
    """Restore a backup: the newest with a complete store, or a named one. An existing store is backed up first.

    A backup without a store is refused. The existing store is not changed before the backup is unpacked completely.
    Raise `ProjectError`.
    """
    if project.folder.is_symlink():
        raise unsafe_path(FOLDER)
    if not (project.folder / BACKUPS).is_dir():
        raise _no_backup(f"{FOLDER}/{BACKUPS}", name, [])
    with locked(project.folder, "restore"):
        backup_name = _select_backup(project, name)
        unpacked, links = _unpack(project, backup_name)
        _finish_save(project)
        present = _entries(project)
        replaced = _pack(project, present) if _is_store(present) else None
        _remove(project, present, replaced)
        restored = _move_to_store(project, unpacked, backup_name)
        _clear_unpacked(project)
    if links:
        project.warnings.append(f"Skipped {plural(len(links), 'link')} in the backup: {first_few(links)}.")
    return {"restored": restored, "backup_path": _backup_path(backup_name), "replaced_backup": replaced}


def clear_all(registry: Registry, *, destroy: bool = False, dry_run: bool = False) -> dict[str, Any]:
    """Clear and unregister every registered project; a failure keeps its project and does not stop the others."""
    done: dict[str, list[dict[str, Any]]] = {"projects_reset": [], "projects_skipped": [], "projects_failed": []}
    for row in registry.list():
        project = project_at(Path(row["project_root"]))
        identity = {key: row[key] for key in ("registry_id", "project", "project_root", "memory_root")}
        try:
            found = clear(project, destroy=destroy, dry_run=dry_run)
        except ProjectError as error:
            if error.code == "MemoryNotInitialized":
                done["projects_skipped"].append(identity | {"code": error.code, "reason": error.message})
            else:
                done["projects_failed"].append(identity | _failure(project, error.code, error.message))
            continue
        except OSError as error:
            done["projects_failed"].append(identity | _failure(project, "MemoryInternalError", reason_of(error)))
            continue
        done["projects_reset"].append(identity | found | {"warnings": project.warnings})
        if not dry_run:
            registry.remove(row["registry_id"])
    return done


def _failure(project: Project, code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}, "warnings": project.warnings}


def _unpack(project: Project, backup_name: str) -> tuple[Path, list[str]]:
    """Unpack a backup next to the store; return the folder, and the links that were left out."""
    folder = project.folder / BACKUPS / (_UNPACKED + backup_name) / str(uuid4())
    try:
        links = unpack(project.folder / BACKUPS / backup_name, _backup_path(backup_name), folder)
        if not (folder / CONFIG).is_file():
            raise bad_backup(
                _backup_path(backup_name), "it contains no `config.json`, so it is not a store (`tar -tzf` lists it)"
            )
        if hasattr(os, "sync"):
            os.sync()  # One call for all files is far cheaper than one each.
    except OSError as error:
        _clear_unpacked(project)
        raise cannot_write(_backup_path(backup_name), reason_of(error)) from error
    except ProjectError:
        _clear_unpacked(project)
        raise
    return folder, links


def _move_to_store(project: Project, unpacked: Path, backup_name: str) -> list[str]:
    """Move an unpacked store to its place; return the names of its entries."""
    # The index is rebuilt from the files; a journal in it would be trusted, whoever wrote it.
    names = sorted(entry.name for entry in os.scandir(unpacked) if entry.name not in (*_KEPT, INDEX))
    try:
        # The config is moved last: until then, no command treats the folder as a store.
        for name in sorted(names, key=lambda each: each == CONFIG):
            os.replace(unpacked / name, project.folder / name)
        sync_folder(project.folder)
    except OSError as error:
        raise _removal_failed(FOLDER, reason_of(error), _backup_path(backup_name)) from error
    return names


def _finish_save(project: Project) -> None:
    """Finish an interrupted save, so that the backup contains it; a store too broken for that is kept as it is."""
    if has_journal(project.folder):
        with suppress(OSError, msgspec.MsgspecError):
            project.warnings.extend(finish_change(project.folder))


def _is_store(names: list[str]) -> bool:
    """Return True if entries need a backup: locking alone creates the index folder."""
    return any(name != INDEX for name in names)


def _entries(project: Project) -> list[str]:
    """Return the names at the top of a store, without backups, locks and a registry of projects; the config first.

    The registry is in the same folder if the home directory is a project.
    """
    if project.folder.is_symlink():
        raise unsafe_path(FOLDER)
    try:
        names = [entry.name for entry in os.scandir(project.folder) if entry.name not in _KEPT]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(names, key=lambda name: (name != CONFIG, name))


def _with_backups(project: Project, names: list[str]) -> list[str]:
    return [*names, BACKUPS] if os.path.lexists(project.folder / BACKUPS) else names


def _is_tracked(project: Project) -> bool:
    """Return True if git tracks the store."""
    return project.git is not None and bool(project.git.ask("ls-files", "-z", "--", FOLDER))


def _pack(project: Project, names: list[str]) -> str:
    folder = project.folder / BACKUPS
    if folder.is_symlink():
        raise unsafe_path(f"{FOLDER}/{BACKUPS}")
    name = f"memory-{_backup_time(project)}-{uuid4()}.tar.gz"
    try:
        folder.mkdir(exist_ok=True)
        pack(project.folder, names, folder / name)
    except OSError as error:
        raise _backup_failed(FOLDER, reason_of(error)) from error
    except BackupDiffers as error:
        raise _backup_failed(FOLDER, str(error)) from error
    return _backup_path(name)


def _backup_time(project: Project) -> str:
    """Return the time for a backup's name: now, but always after the newest, whatever the clock says."""
    now = datetime.fromtimestamp(export_time() / 1_000_000, UTC)
    if known := backups(project):
        newest = datetime.fromisoformat(known[0]["created_at"]) + timedelta(milliseconds=1)
        now = max(now, newest)
    return f"{now.strftime(_TIME)}-{now.microsecond // 1000:03}Z"


def _iso_time(stamp: str) -> str:
    """Return the time in a backup's name as ISO 8601."""
    day, time = stamp.split("T")
    hours, minutes, seconds, rest = time.split("-")
    return f"{day}T{hours}:{minutes}:{seconds}.{rest}"


def _remove(project: Project, names: list[str], backup: str | None) -> None:
    """Remove entries of a store, in order. The config is first, so that half a store is not treated as one."""
    try:
        for name in names:
            place = project.folder / name
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)
            if name == CONFIG:
                sync_folder(project.folder)
        sync_folder(project.folder)
    except OSError as error:
        raise _removal_failed(FOLDER, reason_of(error), backup) from error


def _select_backup(project: Project, name: str | None) -> str:
    """Return the backup to restore. That of a killed restore precedes newer ones, which the restore made itself."""
    folder = project.folder / BACKUPS
    if project.folder.is_symlink() or folder.is_symlink():
        raise unsafe_path(f"{FOLDER}/{BACKUPS}")
    known: list[str] = [row["name"] for row in backups(project)]
    if name is not None:
        if os.path.basename(name) in known:
            return os.path.basename(name)
        raise _no_backup(f"{FOLDER}/{BACKUPS}", name, known)
    if not (project.folder / CONFIG).exists():
        begun = [each for each in known if (folder / (_UNPACKED + each)).is_dir()]
        if begun:
            return begun[0]
    # The rest that a killed reset leaves is packed too, but is not a store. A damaged backup is not skipped silently.
    complete = next((each for each in known if not lacks_file(folder / each, CONFIG)), None)
    if complete is None:
        raise _no_backup(f"{FOLDER}/{BACKUPS}", None, known)
    return complete


def _clear_unpacked(project: Project) -> None:
    """Remove unpacked backups."""
    for place in (project.folder / BACKUPS).glob(_UNPACKED + "*"):
        shutil.rmtree(place, ignore_errors=True)


def _backup_path(name: str) -> str:
    return f"{FOLDER}/{BACKUPS}/{name}"


def _no_memory(root: str, *, has_backup: bool = False) -> ProjectError:
    message = f"There is no `.memory` in `{root}`; nothing was changed."
    if has_backup:
        message = (
            f"`{root}` has only backups and nothing to reset. Run `memglot repo restore` to restore the last one, or "
            "`memglot repo reset --destroy` to remove them."
        )
    return ProjectError("MemoryNotInitialized", message, {"project_root": root})


def _no_backup(folder: str, name: str | None, known: Sequence[str]) -> ProjectError:
    if name is None:
        message = f"`{folder}` has no backup to restore; `memglot repo reset` creates one."
    else:
        listed = f" Available: {', '.join(f'`{each}`' for each in known)}." if known else ""
        message = f"`{folder}` has no backup called `{name}`.{listed}"
    return ProjectError("MemoryValidationFailed", message, {"field": "backup", "path": folder, "name": name})


def _backup_failed(path: str, reason: str) -> ProjectError:
    message = f"No backup of `{path}` could be created: {reason}. Nothing was removed."
    return ProjectError("MemoryInternalError", message, {"path": path, "message": reason})


def _removal_failed(path: str, reason: str, backup: str | None) -> ProjectError:
    copy = f" A complete copy is in `{backup}`." if backup else ""
    message = f"`{path}` could not be removed completely: {reason}.{copy} Fix that and run the command again."
    return ProjectError("MemoryInternalError", message, {"path": path, "message": reason, "backup_path": backup})
