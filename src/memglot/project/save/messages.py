"""The messages of a save. Their texts, codes and fields are the tool's own, since agents know them."""

from __future__ import annotations

from typing import Any

from memglot.project.storage.errors import ProjectError, issue

NO_OBJECT = "Save input must be an object."
NO_TEXT = "Save input field must be a non-empty string."
HALF_CHARACTER = "Save input field must be valid Unicode; it holds half a character."
CONTROLS = "Save input field must not hold control characters."
NO_ARRAY = "Save input field must be an array."
NO_STRINGS = "Save input field must be an array of strings."
BLANK_ITEM = "Save input array item must be a non-empty string."
UNKNOWN_FIELD = "Save input field is not supported."
NO_ID = "Save input field must be a Memory object ID."
NOTHING_TO_DO = "Save input must include at least one memory action."
NODE_NO_OBJECT = "Save node must be an object."
RELATED_NO_OBJECT = "Save related item must be an object."
EVIDENCE_NO_ARRAY = "Save evidence must be an array."
EVIDENCE_NO_OBJECT = "Save evidence item must be an object."
EVIDENCE_KIND = "Save evidence kind is not supported."
EVIDENCE_ID = "Save evidence id must be a non-empty string."
KIND = "Save node kind is not supported."
STAGE = "Save node stage is not supported."
STATUS = "Save node status is not supported."
PREDICATE = "Save relation predicate is not supported."
CONFIDENCE = "Save relation confidence is not supported."
KIND_NEEDED = "Save node kind is required when creating memory."
KIND_DIFFERS = "Save node kind does not match the existing object type."
PREFIX_DIFFERS = "Save node id prefix must match the node kind."
NOT_CREATABLE = "Save node id does not resolve to an existing object and its prefix is not a creatable kind."
STAGE_NOT_ALLOWED = "Stage is only allowed on feature objects."
NO_CHANGE = "Save node update must include at least one field to change or a related link."


def invalid_save(message: str, field: str, **details: Any) -> ProjectError:
    """A save input that breaks a rule, with the place in dots."""
    return ProjectError("MemoryValidationFailed", message, {"field": field, **details})


def patch_invalid(code: str, message: str, path: str, field: str | None) -> ProjectError:
    """A change that cannot be made."""
    return ProjectError("MemoryPatchInvalid", message, {"issues": [issue(code, message, path, field)]})


def conflict_markers(field: str, line: int) -> ProjectError:
    """A text with the marks of a merge that was not finished."""
    message = f"Conflict markers in {field}, line {line}. Settle the conflict, then save."
    return ProjectError("MemoryConflictDetected", message, {"field": field, "line": line})
