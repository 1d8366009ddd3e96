"""What a command of project memory answers: always the same envelope, for people's programs and for agents alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec

from memglot.project.git import NO_GIT
from memglot.project.index import drop_index
from memglot.project.project import Project
from memglot.project.registry import Registry
from memglot.project.storage.errors import ProjectError
from memglot.settings import memory_home

Deed = Callable[[Project], Any]


def answer(start: Path, deed: Deed, *, register: bool = True) -> dict[str, Any]:
    """Do something with the project around a folder; tells `{ok, data | error, warnings, meta}`.

    A project that was worked with is registered for the user, so that `status --all` knows of it.
    """
    project = Project.find(start)
    try:
        data = _done(project, deed)
    except ProjectError as error:
        return _failed(project, error)
    except OSError as error:
        return _failed(project, _files_failed(error.filename, (error.strerror or str(error)).lower()))
    if register and project.is_there:
        _register(project)
    return {"ok": True, "data": data, "warnings": project.warnings, "meta": project.meta()}


def _done(project: Project, deed: Deed) -> Any:
    """Do it; once more without the index where that is damaged. A save that landed raises no such error."""
    try:
        return deed(project)
    except apsw.Error:
        drop_index(project.folder)
        project.warnings.clear()
    try:
        return deed(project)
    except apsw.Error as error:
        raise _index_unavailable(str(error)) from error


def unexpected(error: Exception) -> dict[str, Any]:
    """The answer when something happened that nobody thought of."""
    told = ProjectError(
        "MemoryInternalError", f"{type(error).__name__}: {str(error)}. Please report it, with the command."
    )
    meta = {"project_root": None, "memory_root": None, "git": NO_GIT}
    return {"ok": False, "error": {"code": told.code, "message": told.message}, "warnings": [], "meta": meta}


def presentable(value: Any) -> Any:
    """An answer that can be written anywhere: bytes of names that are no UTF-8 are shown by a sign that says so."""
    try:
        msgspec.json.encode(value)
        return value
    except UnicodeEncodeError:
        return _cleaned(value)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="surrogateescape").decode(errors="replace")
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(inner) for key, inner in value.items()}
    return [_cleaned(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _register(project: Project) -> None:
    """Let the user's registry know of a project; one that cannot be read, or is of another version, is none for it."""
    try:
        config = project.config
    except (ProjectError, OSError):
        return  # What was asked is done; what is wrong with the config, those commands tell that need it.
    registry = Registry(memory_home())
    registry.add(project.root, config)
    project.warnings.extend(registry.warnings)


def _failed(project: Project, error: ProjectError) -> dict[str, Any]:
    told: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details is not None:
        told["details"] = error.details
    return {"ok": False, "error": told, "warnings": project.warnings, "meta": project.meta()}


def exit_code(envelope: dict[str, Any]) -> int:
    """The exit status that goes with an answer."""
    if envelope["ok"]:
        return 0
    return ProjectError(envelope["error"]["code"], "").exit_code


def _files_failed(path: object, reason: str) -> ProjectError:
    """The system did not let us read or write something."""
    message = f"`{path}`: {reason}" if path else reason
    return ProjectError("MemoryInternalError", message, {"path": str(path) if path else None, "message": reason})


def _index_unavailable(reason: str) -> ProjectError:
    """An index that cannot be made, not even in memory."""
    return ProjectError("MemoryIndexUnavailable", f"No index could be made: {reason}", {"message": reason})
