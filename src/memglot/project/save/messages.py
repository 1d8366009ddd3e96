"""The messages of a save. Their texts, codes and fields are the tool's own, since agents know them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memglot.project.storage.errors import ProjectError, issue, schema_failed

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


def item_no_object(name: str) -> str:
    """An item of `stale`, `supersede` or `delete` that is something else."""
    return f"Save {name} item must be an object."


def too_long(length: int, limit: int) -> str:
    """A title, a task or the like that is an essay."""
    return f"Save input field has {length:,} characters; at most {limit:,} are allowed."


def needed(name: str) -> str:
    """A field that a new node must have."""
    return f"Save node {name} is required when creating memory."


def invalid_save(message: str, field: str, **details: Any) -> ProjectError:
    """A save input that breaks a rule, with the place in dots."""
    return ProjectError("MemoryValidationFailed", message, {"field": field, **details})


def save_is_no_json(reason: str) -> ProjectError:
    """Standard input that is no JSON."""
    details = {"source": "stdin", "message": reason}
    return ProjectError("MemoryInvalidJson", "Save input contains invalid JSON.", details)


def node_not_found(id: str, field: str | None = None) -> ProjectError:
    """An id that no node has."""
    details = {"id": id} if field is None else {"path": "<patch>", "id": id, "field": field}
    return ProjectError("MemoryObjectNotFound", "Memory object was not found.", details)


def duplicate_id(id: str, field: str) -> ProjectError:
    """A new node whose id another one has."""
    details = {"path": "<patch>", "id": id, "field": field}
    return ProjectError("MemoryDuplicateId", "Patch would create a duplicate canonical id.", details)


def id_in_several_files(id: str, paths: Sequence[str]) -> ProjectError:
    """A node that stands in two files, as after a merge; which of them is meant is for a person to say."""
    message = f"`{id}` stands in several files: {', '.join(paths)}. Remove all but one of them first."
    return ProjectError("MemoryDuplicateId", message, {"id": id, "paths": list(paths)})


def patch_invalid(code: str, message: str, path: str, field: str | None) -> ProjectError:
    """A change that cannot be made."""
    return ProjectError("MemoryPatchInvalid", message, {"issues": [issue(code, message, path, field)]})


def supersedes_itself(field: str) -> ProjectError:
    """A node in its own place."""
    return patch_invalid("ObjectSupersedesSelf", "Object cannot supersede itself.", "<patch>", field)


def path_taken(path: str) -> ProjectError:
    """A file that is in the way, and is no node that memglot knows."""
    return patch_invalid("PatchPathConflict", "Patch would overwrite an existing canonical path.", path, None)


def secrets_found(issues: Sequence[dict[str, Any]]) -> ProjectError:
    """Something that looks like a secret; it is never repeated."""
    places = ", ".join(f"{found['field']} line {found['line']}" for found in issues)
    details = {"issues": list(issues)}
    return ProjectError("MemorySecretDetected", f"Secret material detected: {places}.", details)


def conflict_markers(field: str, line: int) -> ProjectError:
    """A text with the marks of a merge that was not finished."""
    message = f"Conflict markers in {field}, line {line}. Settle the conflict, then save."
    return ProjectError("MemoryConflictDetected", message, {"field": field, "line": line})


def body_too_long(field: str, length: int, limit: int) -> ProjectError:
    """A text that is no note any more."""
    message = (
        f"The body has {length:,} bytes; at most {limit:,} fit in one node. Split it, or link the file as evidence."
    )
    return invalid_save(message, field, limit=limit, actual=length)


def front_matter(field: str) -> ProjectError:
    """A text that begins with YAML."""
    told = issue("MarkdownFrontmatter", "Markdown files must not contain YAML frontmatter.", "<patch>", field)
    return schema_failed([told])


def bad_tag(field: str, pattern: str) -> ProjectError:
    """A tag with other signs than small letters, digits and hyphens."""
    return schema_failed([issue("SchemaPattern", f'must match pattern "{pattern}"', "<patch>", field)])


def secret_issue(message: str, field: str, line: int) -> dict[str, Any]:
    """Where a secret was found."""
    return issue("MemorySecretDetected", message, f"<patch>:{line}", field) | {"line": line}


def project_stays(field: str, id: str) -> ProjectError:
    """The project node is what the store is about."""
    message = "The project node cannot be deleted; change it by its id, or `memglot repo reset` the whole memory."
    return invalid_save(message, field, id=id)
