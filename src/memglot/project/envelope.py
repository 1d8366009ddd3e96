"""Run a command of project memory and wrap its result in the envelope `{ok, data | error, warnings, meta}`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec

from memglot.project.index import drop_index
from memglot.project.project import Project
from memglot.project.registry import open_registry
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.git import NO_GIT

Command = Callable[[Project], Any]


def run(start: Path, command: Command, *, register: bool = True) -> dict[str, Any]:
    """Run a command in the project around a folder; return the envelope. Never raises for a failed command.

    With `register`, the project is added to the user's registry, which `status --all` reads.
    """
    try:
        project = Project.find(start)
        envelope = _run_in(project, command, register=register)
    except Exception as error:  # noqa: BLE001 - callers get an envelope, whatever happens
        message = f"{type(error).__name__}: {error}. Please report it, with the command."
        meta = {"project_root": None, "memory_root": None, "git": NO_GIT}
        failure = {"code": "MemoryInternalError", "message": message}
        envelope = {"ok": False, "error": failure, "warnings": [], "meta": meta}
    try:
        msgspec.json.encode(envelope)
    except UnicodeEncodeError:
        envelope = _printable(envelope)
    return envelope


def exit_code(envelope: dict[str, Any]) -> int:
    """Return the exit code for an envelope."""
    return 0 if envelope["ok"] else ProjectError(envelope["error"]["code"], "").exit_code


def _run_in(project: Project, command: Command, *, register: bool) -> dict[str, Any]:
    try:
        try:
            data = command(project)
        except apsw.Error:
            # The index is damaged: run once more without it. A save that wrote its files raises no such error.
            drop_index(project.folder)
            project.warnings.clear()
            data = command(project)
    except apsw.Error as error:
        message = f"The index could not be built: {error}"
        return _failed(project, ProjectError("MemoryIndexUnavailable", message, {"message": str(error)}))
    except ProjectError as error:
        return _failed(project, error)
    except OSError as error:
        return _failed(project, _file_error(error))
    if register and project.is_initialized:
        _register(project)
    return {"ok": True, "data": data, "warnings": project.warnings, "meta": project.meta()}


def _failed(project: Project, error: ProjectError) -> dict[str, Any]:
    failure: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details is not None:
        failure["details"] = error.details
    return {"ok": False, "error": failure, "warnings": project.warnings, "meta": project.meta()}


def _file_error(error: OSError) -> ProjectError:
    path, reason = error.filename, (error.strerror or str(error)).lower()
    details = {"path": str(path) if path else None, "message": reason}
    return ProjectError("MemoryInternalError", f"`{path}`: {reason}" if path else reason, details)


def _register(project: Project) -> None:
    """Add a project to the user's registry, unless its config cannot be read."""
    try:
        config = project.config
    except (ProjectError, OSError):
        return  # The command succeeded; commands that need the config report what is wrong with it.
    with open_registry(project) as registry:
        registry.add(project.root, config)


def _printable(value: Any) -> Any:
    """Return a value with replacement characters for bytes of file names that are not valid UTF-8."""
    if isinstance(value, str):
        return value.encode(errors="surrogateescape").decode(errors="replace")
    if isinstance(value, dict):
        return {_printable(key): _printable(inner) for key, inner in value.items()}
    return [_printable(inner) for inner in value] if isinstance(value, (list, tuple)) else value
