"""What the care of project memory says: of its registry, its backups, and of every fault that a check can find."""

from __future__ import annotations

from collections.abc import Sequence

from memglot.project.storage.errors import ProjectError


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


def _either(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)
