"""The messages of project memory. Their codes, texts and details are those of the tool whose storage it is.

Where memglot knows what to do next, it says so in the message itself: an envelope has no other place for it.
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
"""The codes that mean a missing precondition, exit 3; all others are exit 1."""

INDEX_NOT_KEPT = "it cannot be written; every command reads all files"
"""Why an index is of no use."""


class ProjectError(MemglotError):
    """What project memory answers when it cannot do what it was asked."""

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.details = details
        self.exit_code = 3 if code in PRECONDITIONS else 1


def issue(code: str, message: str, path: str, field: str | None = None) -> dict[str, Any]:
    """One finding about a file."""
    return {"code": code, "message": message, "path": path, "field": field}


def not_initialized(root: str, *, has_backup: bool = False) -> ProjectError:
    """No project memory here."""
    message = "Memory is not initialized in this project. Run `memglot repo init`."
    if has_backup:
        message = "Memory of this project was reset. Run `memglot repo restore`, or `memglot repo init` to begin anew."
    return ProjectError("MemoryNotInitialized", message, {"project_root": root})


def unsupported_version(found: object) -> ProjectError:
    """Storage of another version."""
    message = (
        f"Memory storage version {found} is not supported by this release. Run `memglot repo reset`, which keeps a "
        "backup, then `memglot repo init` to begin anew."
    )
    details = {"path": ".memory/config.json", "supported_version": 5, "found_version": found}
    return ProjectError("MemoryUnsupportedStorageVersion", message, details)


def git_required() -> ProjectError:
    """An operation that needs git, outside of a repository or without the program."""
    message = (
        "Git is required for this operation. Run it in a repository (`git init` makes one of this folder), with the "
        "program `git` installed."
    )
    return ProjectError("MemoryGitRequired", message)


def schema_failed(issues: Sequence[dict[str, Any]]) -> ProjectError:
    """Values that the shape of their file does not allow."""
    return ProjectError("MemorySchemaValidationFailed", "Schema validation failed.", {"issues": list(issues)})


def unsafe_path(path: str) -> ProjectError:
    """A place that leads out of the project by a link."""
    message = f"`{path}` is, or lies behind, a symbolic link; project memory is neither read nor written through links."
    return ProjectError("MemoryValidationFailed", message, {"path": path})


def cannot_write(path: str, reason: str) -> ProjectError:
    """A tree that cannot be written: read-only, or the disk is full."""
    details = {"path": path, "message": reason}
    return ProjectError("MemoryInternalError", f"`{path}` cannot be written: {reason}. Nothing was changed.", details)


def reason_of(error: OSError) -> str:
    """Return the system's reason for a failure, without the path."""
    return error.strerror or type(error).__name__


ANCHOR_EMPTY = "Anchor must be a non-empty repo-relative glob."
ANCHOR_CONTROLS = "Anchor must not contain control characters."
ANCHOR_BACKSLASH = "Anchor must use forward slashes, not backslashes."
ANCHOR_URL = "Anchor must be a repo-relative glob, not a URL."
ANCHOR_ABSOLUTE = "Anchor must be repo-relative, not an absolute path."
ANCHOR_NOWHERE = "Anchor must reference a path inside the repository."
ANCHOR_LEAVES = "Anchor must not contain `..` segments."
ANCHOR_STORAGE = "Anchor must not reference Memory storage under .memory/."
ANCHOR_LARGE = "Anchor must not be longer than 1,000 characters, nor stand for more than 1,000 patterns."
