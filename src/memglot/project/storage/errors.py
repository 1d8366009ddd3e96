"""Errors of project memory. Their codes, texts and details are those of the original tool, since agents know them.

Hints are part of the message: the JSON answer of a command has no other field for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memglot.errors import MemglotError

PRECONDITIONS = frozenset(
    {
        "MemoryGitRequired",
        "MemoryNotInitialized",
        "MemoryAlreadyInitializedInvalid",
        "MemoryUnsupportedStorageVersion",
        "MemoryConflictDetected",
        "MemoryDirtyMemory",
        "MemoryIndexUnavailable",
        "MemoryLockBusy",
        "MemoryGitOperationFailed",
    }
)
"""Codes of missing preconditions, which exit with 3; all others exit with 1."""


class ProjectError(MemglotError):
    """A failed command of project memory: a code, a message, and details for agents."""

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.details = details
        self.exit_code = 3 if code in PRECONDITIONS else 1


def issue(code: str, message: str, path: str, field: str | None = None) -> dict[str, Any]:
    """Return an issue about a file, as `check` reports it."""
    return {"code": code, "message": message, "path": path, "field": field}


def not_initialized(root: str, *, has_backup: bool = False) -> ProjectError:
    """Return the error for a project without memory."""
    message = "Memory is not initialized in this project. Run `memglot repo init`."
    if has_backup:
        message = "Memory of this project was reset. Run `memglot repo restore`, or `memglot repo init` to start again."
    return ProjectError("MemoryNotInitialized", message, {"project_root": root})


def unsupported_version(found: object) -> ProjectError:
    """Return the error for another storage version."""
    message = (
        f"Memory storage version {found} is not supported by this release. Run `memglot repo reset`, which keeps a "
        "backup, then `memglot repo init` to start again."
    )
    details = {"path": ".memory/config.json", "supported_version": 5, "found_version": found}
    return ProjectError("MemoryUnsupportedStorageVersion", message, details)


def git_required() -> ProjectError:
    """Return the error for an operation that needs git, outside of a repository or without git."""
    message = (
        "Git is required for this operation. Install git, and run the command in a repository (`git init` creates one)."
    )
    return ProjectError("MemoryGitRequired", message)


def schema_failed(issues: Sequence[dict[str, Any]]) -> ProjectError:
    """Return the error for values that a schema does not allow."""
    return ProjectError("MemorySchemaValidationFailed", "Schema validation failed.", {"issues": list(issues)})


def unsafe_path(path: str) -> ProjectError:
    """Return the error for a path that is, or leads through, a symbolic link."""
    message = f"`{path}` is, or leads through, a symbolic link; project memory does not follow links."
    return ProjectError("MemoryValidationFailed", message, {"path": path})


def cannot_write(path: str, reason: str) -> ProjectError:
    """Return the error for a file that cannot be written, for example because the disk is full."""
    details = {"path": path, "message": reason}
    return ProjectError("MemoryInternalError", f"`{path}` cannot be written: {reason}. Nothing was changed.", details)


def reason_of(error: OSError) -> str:
    """Return the system's reason for a failure, without the path."""
    return error.strerror or type(error).__name__
