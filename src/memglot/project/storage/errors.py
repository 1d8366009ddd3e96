"""The messages of project memory. Their codes, texts and details are those of the tool whose storage it is.

Where memglot knows what to do next, it says so in the message itself: an envelope has no other place for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memglot.errors import BadRecord, CannotWrite, MemglotError, Unreadable

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


def git_failed(command: str, reason: str) -> ProjectError:
    """Git itself failed."""
    details = {"command": command, "message": reason}
    return ProjectError("MemoryGitOperationFailed", f"`git {command}` failed: {reason}", details)


def lock_busy(path: str, owner: dict[str, Any] | None, seconds: float) -> ProjectError:
    """Another program holds the lock, and did not let go of it."""
    who = "a program that left no name"
    if owner:
        who = f"process {owner.get('pid')} ({owner.get('operation')}, since {owner.get('created_at')})"
    message = (
        f"Project memory is locked by {who}; waited {seconds:g} seconds. Try again, or remove `{path}` if that "
        "program is gone."
    )
    return ProjectError("MemoryLockBusy", message, {"path": path, "lock": owner})


def invalid_json(path: str, reason: str) -> ProjectError:
    """A canonical file that is no JSON."""
    details = {"path": path, "message": reason}
    return ProjectError("MemoryInvalidJson", f"`{path}` contains invalid JSON: {reason}", details)


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


def blank_question() -> ProjectError:
    """A question of nothing."""
    message = "Search query must be non-empty after trimming whitespace."
    return ProjectError("MemoryValidationFailed", message, {"field": "query"})


def already_invalid(issues: Sequence[dict[str, Any]]) -> ProjectError:
    """A store that is broken."""
    message = "Memory is already initialized but invalid. `memglot repo check` tells what is wrong."
    return ProjectError("MemoryAlreadyInitializedInvalid", message, {"issues": list(issues)})


def dirty_memory(paths: Sequence[str]) -> ProjectError:
    """Committed memory that was changed or deleted by hand."""
    message = (
        "Git knows a memory of this project whose files were changed or deleted since; init would write over them. "
        "`git restore --staged --worktree .memory` brings them back; to begin anew, commit their deletion first "
        "(`git rm -r --cached .memory`, then `git commit`)."
    )
    return ProjectError("MemoryDirtyMemory", message, {"dirty_files": list(paths)})


def half_there(paths: Sequence[str]) -> ProjectError:
    """A `.memory` without a config, in which a new store would write over something."""
    message = (
        "`.memory` has no `config.json`, but holds files that init would write over. Run `memglot repo init --force`, "
        "which keeps a backup of them."
    )
    issues = [issue("CanonicalFileUnexpected", "This file is there already.", path) for path in paths]
    return ProjectError("MemoryAlreadyInitializedInvalid", message, {"issues": issues})


def bad_budget(actual: object, least: int, most: int) -> ProjectError:
    """A token budget that is no whole number, or too small to hold an answer."""
    details = {"field": "token_budget", "minimumExclusive": least - 1, "maximum": most, "actual": actual}
    message = f"Token budget must be an integer greater than {least - 1}."
    return ProjectError("MemoryValidationFailed", message, details)


ANCHOR_EMPTY = "Anchor must be a non-empty repo-relative glob."
ANCHOR_CONTROLS = "Anchor must not contain control characters."
ANCHOR_BACKSLASH = "Anchor must use forward slashes, not backslashes."
ANCHOR_URL = "Anchor must be a repo-relative glob, not a URL."
ANCHOR_ABSOLUTE = "Anchor must be repo-relative, not an absolute path."
ANCHOR_NOWHERE = "Anchor must reference a path inside the repository."
ANCHOR_LEAVES = "Anchor must not contain `..` segments."
ANCHOR_STORAGE = "Anchor must not reference Memory storage under .memory/."
ANCHOR_LARGE = "Anchor must not be longer than 1,000 characters, nor stand for more than 1,000 patterns."


def bad_anchors(field: str, reasons: Sequence[tuple[int, str]]) -> ProjectError:
    """Anchors that are no globs of paths in the repository; `reasons` has the number of each and what is wrong."""
    issues = [issue("AnchorInvalid", reason, "<patch>", f"{field}/{number}") for number, reason in reasons]
    message = "Anchors must be repo-relative glob strings."
    return ProjectError("MemoryValidationFailed", message, {"field": field, "issues": issues})


def files_failed(path: object, reason: str) -> ProjectError:
    """The system did not let us read or write something."""
    message = f"`{path}`: {reason}" if path else reason
    return ProjectError("MemoryInternalError", message, {"path": str(path) if path else None, "message": reason})


def no_storage(name: str) -> Unreadable:
    """A folder that was read as project memory, and is none."""
    return Unreadable(name, "no `.memory/config.json` in it", "give a repository, or its `.memory` folder")


class OtherStorage(Unreadable):
    """Storage of another version, as a format."""

    code = "other_version"
    exit_code = 3


def other_storage(name: str, found: object) -> OtherStorage:
    """Storage of another version, as a format."""
    return OtherStorage(name, f"its storage version is {found}, and only 5 is known")


def broken_config(name: str, reason: str) -> Unreadable:
    """A `config.json` that is none."""
    return Unreadable(name, f"invalid JSON: {reason}")


def lone_file(name: str) -> Unreadable:
    """A single file, or a zip, that was given as project memory."""
    return Unreadable(name, "project memory is read as a folder", "give a repository, or its `.memory` folder")


def linked(name: str) -> Unreadable:
    """A file or folder that is a link."""
    return Unreadable(name, "it is a symbolic link, and project memory is not read through links")


def no_body(path: str) -> BadRecord:
    """A sidecar whose text is not there."""
    return BadRecord(f"its text `{path}` is not there")


def body_outside(path: str) -> BadRecord:
    """A sidecar whose text would lie elsewhere."""
    return BadRecord(f"its text `{path}` lies outside of `.memory/memory`, or behind a link")


def no_sidecar() -> BadRecord:
    """A text that no sidecar speaks of."""
    return BadRecord("no sidecar speaks of this text")


def same_id(id: str, first: str) -> BadRecord:
    """A second file with the id of another."""
    return BadRecord(f"`{id}` is the id of `{first}` already")


def unfinished_save(name: str) -> CannotWrite:
    """An export into a store in which a save was cut off."""
    return CannotWrite(name, "an interrupted save waits there; run `memglot repo status` in that repository first")


def odd_name() -> BadRecord:
    """A file whose name no sidecar could tell."""
    return BadRecord("its name is not UTF-8")


def index_unavailable(reason: str) -> ProjectError:
    """An index that cannot be made, not even in memory."""
    return ProjectError("MemoryIndexUnavailable", f"No index could be made: {reason}", {"message": reason})


def unforeseen(kind: str, reason: str) -> ProjectError:
    """What nobody thought of."""
    return ProjectError("MemoryInternalError", f"{kind}: {reason}. Please report it, with the command.")
