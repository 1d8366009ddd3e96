"""Begin anew, with a way back: `reset` packs a store and removes it, `restore` brings a packed one back.

Killed at any moment, either the whole store is there or a whole backup of it. Both hold the store's lock.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from memglot.display import first_few, plural
from memglot.files import sync_folder
from memglot.project.archive import Unlike, lacks, pack, unpack
from memglot.project.messages import NO_STORE_IN_IT, bad_backup, said_by
from memglot.project.project import Project
from memglot.project.registry import Registry, project_at
from memglot.project.storage.errors import ProjectError, cannot_write, unsafe_path
from memglot.project.storage.journal import finish_change, has_journal
from memglot.project.storage.lock import locked
from memglot.project.storage.paths import BACKUPS, CONFIG, FOLDER, INDEX, LOCK
from memglot.settings import export_time

_NAME = re.compile(r"memory-(\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z)-[0-9a-f-]{36}\.tar\.gz")
_TIME = "%Y-%m-%dT%H-%M-%S"
_STAY = (BACKUPS, LOCK, "projects.json", "projects.lock")
_UNPACKED = "restoring-"
"""What the folder begins with that a backup is unpacked in; its name ends with the backup's. While it is there and
the store is not, a restore of that backup was killed."""


def reset(project: Project, *, destroy: bool = False, dry_run: bool = False) -> dict[str, Any]:
    """Pack a store of any version, whole or broken, and then remove it; backups stay.

    With `destroy` nothing is packed, and backups go too. Raises `ProjectError`; what could not be packed stays.
    """
    names = _entries(project)
    if not _is_store(names) and not (destroy and project.folder.is_dir()):
        raise _no_memory(str(project.root), has_backup=bool(backups(project)))
    told = {"dry_run": dry_run, "destroyed": destroy, "in_git": _is_tracked(project), "backup_path": None}
    if dry_run:
        return told | {"entries_removed": _with_backups(project, names) if destroy else names}
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
    return told | {"backup_path": backup, "entries_removed": names}


def has_store(project: Project) -> bool:
    """Tell whether a project has anything to reset."""
    return _is_store(_entries(project))


def backups(project: Project) -> list[dict[str, Any]]:
    """The backups of a project, the newest first: name, path, time and size."""
    found = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for entry in os.scandir(project.folder / BACKUPS):
            if (named := _NAME.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False):
                known = entry.stat()
                row = {"name": entry.name, "path": _shown(entry.name), "size": known.st_size}
                found.append((named[1], known.st_mtime_ns, row | {"created_at": _spelt(named[1])}))
    return [row for _, _, row in sorted(found, key=lambda each: each[:2], reverse=True)]


def restore(project: Project, name: str | None = None) -> dict[str, Any]:
    """Bring a backup back: the newest that holds a whole store, or a named one. A store that is there is packed first.

    A backup that holds no store is refused. Nothing of the present store is touched before the backup is unpacked
    whole. Raises `ProjectError`.
    """
    if project.folder.is_symlink():
        raise unsafe_path(FOLDER)
    if not (project.folder / BACKUPS).is_dir():
        raise _no_backup(f"{FOLDER}/{BACKUPS}", name, [])
    with locked(project.folder, "restore"):
        chosen = _chosen(project, name)
        unpacked, links = _unpack(project, chosen)
        _finish_save(project)
        present = _entries(project)
        replaced = _pack(project, present) if _is_store(present) else None
        _remove(project, present, replaced)
        restored = _move_in(project, unpacked, chosen)
        _clear_unpacked(project)
    if links:
        project.warnings.append(f"Left out {plural(len(links), 'link')} of the backup: {first_few(links)}.")
    return {"restored": restored, "backup_path": _shown(chosen), "replaced_backup": replaced}


def reset_all(
    registry: Registry,
    *,
    destroy: bool = False,
    dry_run: bool = False,
    reset_one: Callable[[Project], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Reset every registered project and take it from the registry; one that fails stays, and stops no other.

    `reset_one` resets a project, for callers that hold locks about it.
    """
    done: dict[str, list[dict[str, Any]]] = {"projects_reset": [], "projects_skipped": [], "projects_failed": []}
    for row in registry.list():
        project = project_at(Path(row["project_root"]))
        told = {key: row[key] for key in ("registry_id", "project", "project_root", "memory_root")}
        try:
            found = reset_one(project) if reset_one else reset(project, destroy=destroy, dry_run=dry_run)
        except ProjectError as error:
            if error.code == "MemoryNotInitialized":
                done["projects_skipped"].append(told | {"code": error.code, "reason": error.message})
            else:
                done["projects_failed"].append(told | _failure(project, error.code, error.message))
            continue
        except OSError as error:
            done["projects_failed"].append(told | _failure(project, "MemoryInternalError", said_by(error)))
            continue
        done["projects_reset"].append(told | found | {"warnings": project.warnings})
        if not dry_run:
            registry.remove(row["registry_id"])
    return done


def _failure(project: Project, code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}, "warnings": project.warnings}


def _unpack(project: Project, chosen: str) -> tuple[Path, list[str]]:
    """Unpack a backup beside the store; give the folder, and the links that were left out."""
    folder = project.folder / BACKUPS / (_UNPACKED + chosen) / str(uuid4())
    try:
        links = unpack(project.folder / BACKUPS / chosen, _shown(chosen), folder)
        if not (folder / CONFIG).is_file():
            raise bad_backup(_shown(chosen), NO_STORE_IN_IT)
        if hasattr(os, "sync"):
            os.sync()  # One call for all files is far cheaper than one each.
    except OSError as error:
        _clear_unpacked(project)
        raise cannot_write(_shown(chosen), said_by(error)) from error
    except ProjectError:
        _clear_unpacked(project)
        raise
    return folder, links


def _move_in(project: Project, unpacked: Path, chosen: str) -> list[str]:
    """Put what was unpacked in its place; give its names."""
    # The index is made anew from the files; a journal in it would be believed, whoever wrote it.
    names = sorted(entry.name for entry in os.scandir(unpacked) if entry.name not in (*_STAY, INDEX))
    try:
        # The config comes last: until it is there, no command takes the folder for a store.
        for name in sorted(names, key=lambda each: each == CONFIG):
            os.replace(unpacked / name, project.folder / name)
        sync_folder(project.folder)
    except OSError as error:
        raise _removal_failed(FOLDER, said_by(error), _shown(chosen)) from error
    return names


def _finish_save(project: Project) -> None:
    """Let a stopped save land first, so that the backup holds it; a store too broken for that goes as it is."""
    if has_journal(project.folder):
        with suppress(OSError, msgspec.MsgspecError):
            project.warnings.extend(finish_change(project.folder))


def _is_store(names: list[str]) -> bool:
    """Tell whether entries are worth a backup: the lock alone makes the folder of the index."""
    return any(name != INDEX for name in names)


def _entries(project: Project) -> list[str]:
    """What a store holds at its top, but for backups, locks, and a registry of projects; the config first.

    The registry lies in the same folder where somebody's home is a project.
    """
    if project.folder.is_symlink():
        raise unsafe_path(FOLDER)
    try:
        names = [entry.name for entry in os.scandir(project.folder) if entry.name not in _STAY]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(names, key=lambda name: (name != CONFIG, name))


def _with_backups(project: Project, names: list[str]) -> list[str]:
    return [*names, BACKUPS] if os.path.lexists(project.folder / BACKUPS) else names


def _is_tracked(project: Project) -> bool:
    """Tell whether git knows the store, and would still have it."""
    return project.git is not None and bool(project.git.ask("ls-files", "-z", "--", FOLDER))


def _pack(project: Project, names: list[str]) -> str:
    folder = project.folder / BACKUPS
    if folder.is_symlink():
        raise unsafe_path(f"{FOLDER}/{BACKUPS}")
    name = f"memory-{_stamp(project)}-{uuid4()}.tar.gz"
    try:
        folder.mkdir(exist_ok=True)
        for part in folder.glob("memory-*.part"):  # What a killed reset left; this one holds the lock.
            part.unlink(missing_ok=True)
        pack(project.folder, names, folder / name)
    except OSError as error:
        raise _backup_failed(FOLDER, said_by(error)) from error
    except Unlike as error:
        raise _backup_failed(FOLDER, str(error)) from error
    return _shown(name)


def _stamp(project: Project) -> str:
    """The time in a backup's name: now, but always after the newest, so that order never rests on the clock."""
    now = datetime.fromtimestamp(export_time() / 1_000_000, UTC)
    if known := backups(project):
        newest = datetime.fromisoformat(known[0]["created_at"]) + timedelta(milliseconds=1)
        now = max(now, newest)
    return f"{now.strftime(_TIME)}-{now.microsecond // 1000:03}Z"


def _spelt(stamp: str) -> str:
    """The time in a backup's name, as it is told."""
    day, time = stamp.split("T")
    hours, minutes, seconds, rest = time.split("-")
    return f"{day}T{hours}:{minutes}:{seconds}.{rest}"


def _remove(project: Project, names: list[str], backup: str | None) -> None:
    """Remove entries of a store, in order. The config goes first: half a store is never taken for one."""
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
        raise _removal_failed(FOLDER, said_by(error), backup) from error


def _chosen(project: Project, name: str | None) -> str:
    """The backup that is meant. One that a killed restore was about goes before newer ones: that one it made itself."""
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
    # What a killed reset left is packed too, and is no store. A damaged backup is not passed over in silence.
    whole = next((each for each in known if not lacks(folder / each, CONFIG)), None)
    if whole is None:
        raise _no_backup(f"{FOLDER}/{BACKUPS}", None, known)
    return whole


def _clear_unpacked(project: Project) -> None:
    """Remove what a restore unpacked and did not need."""
    for place in (project.folder / BACKUPS).glob(_UNPACKED + "*"):
        shutil.rmtree(place, ignore_errors=True)


def _shown(name: str) -> str:
    return f"{FOLDER}/{BACKUPS}/{name}"


def _no_memory(root: str, *, has_backup: bool = False) -> ProjectError:
    """Nothing to reset."""
    message = f"There is no `.memory` in `{root}`; nothing was changed."
    if has_backup:
        message = (
            f"Nothing is left to reset in `{root}`: only backups are there. `memglot repo restore` brings the last "
            "one back, and `memglot repo reset --destroy` removes them."
        )
    return ProjectError("MemoryNotInitialized", message, {"project_root": root})


def _no_backup(folder: str, name: str | None, known: Sequence[str]) -> ProjectError:
    """Nothing to restore, or nothing of that name."""
    if name is None:
        message = f"`{folder}` holds no backup to restore; `memglot repo reset` makes one."
    else:
        listed = f" There are {', '.join(f'`{each}`' for each in known)}." if known else ""
        message = f"`{folder}` holds no backup called `{name}`.{listed}"
    return ProjectError("MemoryValidationFailed", message, {"field": "backup", "path": folder, "name": name})


def _backup_failed(path: str, reason: str) -> ProjectError:
    """A store that could not be copied; it stays as it is."""
    message = f"No backup could be made of `{path}`: {reason}. Nothing was removed."
    return ProjectError("MemoryInternalError", message, {"path": path, "message": reason})


def _removal_failed(path: str, reason: str, backup: str | None) -> ProjectError:
    """A store that was copied, and could not be removed whole."""
    copy = f" All of it is in `{backup}`." if backup else ""
    message = f"`{path}` could not be removed whole: {reason}.{copy} Mend that and run the command again."
    return ProjectError("MemoryInternalError", message, {"path": path, "message": reason, "backup_path": backup})
