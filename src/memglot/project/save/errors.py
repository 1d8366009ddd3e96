"""The errors of a save. Their codes, messages and fields are those of the original tool, which agents know."""

from __future__ import annotations

from typing import Any

from memglot.project.storage.errors import ProjectError, issue


def invalid_save(message: str, field: str, **details: Any) -> ProjectError:
    """Return the error for input that breaks a rule; `field` is a dotted path."""
    return ProjectError("MemoryValidationFailed", message, {"field": field, **details})


def patch_invalid(code: str, message: str, path: str, field: str | None) -> ProjectError:
    """Return the error for a change that cannot be made."""
    return ProjectError("MemoryPatchInvalid", message, {"issues": [issue(code, message, path, field)]})


def conflict_markers(field: str, line: int) -> ProjectError:
    """Return the error for text with the markers of an unresolved merge conflict."""
    message = f"Conflict markers in {field}, line {line}. Resolve the conflict, then save."
    return ProjectError("MemoryConflictDetected", message, {"field": field, "line": line})
