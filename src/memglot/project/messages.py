"""What the care of project memory says: of its registry, its backups, and of every fault that a check can find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memglot.project.storage.errors import ProjectError, issue


def unknown_node(id: str, near: Sequence[str]) -> ProjectError:
    """An id that no node has."""
    hint = f" Did you mean {_either(near)}?" if near else ""
    return ProjectError("MemoryObjectNotFound", f"Memory object was not found: `{id}`.{hint}", {"id": id})


def bad_backup(path: str, reason: str) -> ProjectError:
    """A backup that cannot be, or is not, unpacked."""
    message = f"`{path}` was not restored: {reason}. Nothing was changed."
    return ProjectError("MemoryValidationFailed", message, {"field": "backup", "path": path, "message": reason})


NO_STORE_IN_IT = "it holds no `config.json`, and so no memory (`tar -xzf` shows what it does hold)"
"""Why a backup is refused: it is what a broken store had left."""

OVERLONG_HEADER = "a header in it is larger than any is"
"""Why a backup is refused: it would fill the memory before it could be judged."""


NAMELESS_PLACE = "the path of the project is no UTF-8"
"""Why a project cannot be registered: JSON cannot spell its path."""


def said_by(error: OSError) -> str:
    """What the system says of a failure, without the path."""
    return error.strerror or type(error).__name__


def file_unsafe(path: str) -> dict[str, Any]:
    """A link, a device, or whatever else is no file."""
    return issue("CanonicalFileUnsafe", "This is no plain file or folder; project memory does not follow links.", path)


def file_unreadable(path: str, reason: str) -> dict[str, Any]:
    """A file that the system does not give."""
    return issue("CanonicalFileUnreadable", f"This file cannot be read: {reason}.", path)


def json_invalid(path: str, reason: str) -> dict[str, Any]:
    """A file that is no JSON."""
    return issue("JsonInvalid", f"This is no JSON: {reason}.", path)


def kind_mismatch(path: str, id: str, kind: str) -> dict[str, Any]:
    """An id that names another kind than the node has."""
    return issue("ObjectIdTypeMismatch", f"The id `{id}` does not begin with the type `{kind}`.", path, "/id")


def unprintable(path: str, field: str) -> dict[str, Any]:
    """A name with control characters."""
    return issue("SchemaPattern", "This holds control characters, which no name may.", path, field)


def body_missing(path: str, body: str) -> dict[str, Any]:
    """A sidecar whose text is gone."""
    return issue("ObjectBodyMissing", f"The text of this node, `{body}`, is not there.", path, "/body_path")


def body_escapes(path: str) -> dict[str, Any]:
    """A sidecar whose text would lie outside of the store."""
    return issue("ObjectBodyPathEscapesMemory", "This path leaves `.memory/memory/`.", path, "/body_path")


def conflict_found(path: str, line: int) -> dict[str, Any]:
    """A file with both sides of a merge in it."""
    message = f"A merge conflict is not resolved (line {line}): keep one side and remove the marker lines."
    return issue("MemoryConflictDetected", message, path, f"line {line}")


def _either(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)
