"""Faults of the files of a store, with the codes that the original tool's `check` reports."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from memglot.project.storage.errors import issue
from memglot.project.storage.json_place import place_of
from memglot.project.storage.paths import memory_path
from memglot.project.storage.vocabulary import STORAGE_VERSION

UNREADABLE = "CanonicalFileUnreadable"
_LOCATION = re.compile(r" - at `(?:key in )?\$?([^`]*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_FIELD = re.compile(r"`([^`]*)`$")
_SCHEMA_CODES = (
    ("Invalid enum value", "SchemaEnum"),
    ("matching regex", "SchemaPattern"),
    ("of length >=", "SchemaMinLength"),
    ("`int` >=", "SchemaMinimum"),
    ("`int` <=", "SchemaMaximum"),
    ("Expected", "SchemaType"),
)


class FileFault(Exception):
    """What is wrong with a file of a store.

    `path` is relative to `.memory`. `code`, `message` and `field` are those of an issue; `reason` is a short cause.
    """

    def __init__(self, code: str, path: str, message: str, field: str | None = None, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.path = path
        self.message = message
        self.field = field
        self.reason = reason or message

    def issue(self) -> dict[str, Any]:
        """Return the fault as an issue of `check`."""
        return issue(self.code, self.message, memory_path(self.path), self.field)


class UnsupportedVersion(FileFault):
    """The configuration of a storage version that cannot be read."""

    def __init__(self, path: str, found: object) -> None:
        message = f"The storage version is {found}; this release reads version {STORAGE_VERSION}."
        reason = f"its storage version is {found}, and only version {STORAGE_VERSION} is supported"
        super().__init__("StorageVersionUnsupported", path, message, "/version", reason)
        self.found = found


def missing_file(path: str) -> FileFault:
    """Return the fault of a missing file."""
    return FileFault("CanonicalFileMissing", path, "This file is required in every store and is missing.")


def linked_file(path: str) -> FileFault:
    """Return the fault of a symbolic link."""
    return FileFault(
        "CanonicalFileUnsafe",
        path,
        "This is a symbolic link; project memory does not follow links.",
        reason="it is a symbolic link, and project memory does not follow links",
    )


def special_file(path: str) -> FileFault:
    """Return the fault of a pipe, a device or a socket."""
    message = "This is neither a regular file nor a folder."
    return FileFault("CanonicalFileUnsafe", path, message, reason="it is not a regular file")


def special_body(body_path: str) -> FileFault:
    """Return the fault of a text that is not a regular file."""
    reason = f"its text `{body_path}` is not a regular file"
    return FileFault("CanonicalFileUnsafe", body_path, "This is not a regular file.", reason=reason)


def bad_name(path: str) -> FileFault:
    """Return the fault of a file or folder whose name is not UTF-8, so that no sidecar can name it."""
    return FileFault("CanonicalFileUnsafe", path, "This name is not valid UTF-8.", reason="its name is not valid UTF-8")


def unreadable_file(path: str, error: OSError) -> FileFault:
    """Return the fault of a file or folder that the system does not let us read."""
    reason = error.strerror or type(error).__name__
    return FileFault(UNREADABLE, path, f"This file cannot be read: {reason}.", reason=reason.lower())


def invalid_json(path: str, raw: bytes, error: Exception) -> FileFault:
    """Return the fault of a file that is not valid JSON."""
    found = place_of(raw, error)
    return FileFault("JsonInvalid", path, f"This is not valid JSON: {found}.", reason=str(found))


def invalid_schema(path: str, error: msgspec.ValidationError) -> FileFault:
    """Return the fault of a value that the schema of its file does not allow; `field` is a JSON pointer."""
    text = str(error)
    location = _LOCATION.search(text)
    pointer = "".join("/" + (name or number) for name, number in _STEP.findall(location[1])) if location else ""
    problem = text[: location.start()] if location else text
    named = _FIELD.search(problem)
    if problem.startswith("Object missing required field") and named:
        message = f"Required field is missing: {named[1]}."
        return FileFault("SchemaRequired", path, message, f"{pointer}/{named[1]}", text)
    if problem.startswith("Object contains unknown field") and named:
        message = f"Unknown field is not allowed: {named[1]}."
        return FileFault("SchemaAdditionalProperty", path, message, f"{pointer}/{named[1]}", text)
    code = next((code for words, code in _SCHEMA_CODES if words in problem), "SchemaValidationFailed")
    return FileFault(code, path, problem + ".", pointer or None, text)


def control_characters(path: str, field: str) -> FileFault:
    """Return the fault of an id or a path with control characters; schemas allow a newline at the end."""
    return FileFault("SchemaPattern", path, "This contains control characters, which are not allowed here.", field)


def kind_mismatch(path: str, id: str, kind: str) -> FileFault:
    """Return the fault of an id with the prefix of another kind."""
    message = f"The id `{id}` does not begin with the type `{kind}`."
    return FileFault("ObjectIdTypeMismatch", path, message, "/id")


def missing_body(path: str, body_path: str) -> FileFault:
    """Return the fault of a sidecar whose text is missing."""
    message = f"The text of this node, `{memory_path(body_path)}`, is missing."
    return FileFault("ObjectBodyMissing", path, message, "/body_path", f"its text `{body_path}` is missing")


def body_outside(path: str, body_path: str) -> FileFault:
    """Return the fault of a sidecar whose text is outside of the store, or behind a link."""
    reason = f"its text `{body_path}` is outside of `.memory/memory`, or behind a link"
    message = "This path leaves `.memory/memory/`."
    return FileFault("ObjectBodyPathEscapesMemory", path, message, "/body_path", reason)


def merge_conflict(path: str, line: int) -> FileFault:
    """Return the fault of a file with an unresolved merge conflict."""
    message = f"A merge conflict is not resolved (line {line}): keep one side and remove the marker lines."
    return FileFault("MemoryConflictDetected", path, message, f"line {line}")
