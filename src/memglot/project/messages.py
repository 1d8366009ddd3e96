"""What the care of project memory says: of its registry, its backups, and of every fault that a check can find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memglot.project.storage.errors import ProjectError, issue


def unknown_node(id: str, near: Sequence[str]) -> ProjectError:
    """An id that no node has."""
    hint = f" Did you mean {_either(near)}?" if near else ""
    return ProjectError("MemoryObjectNotFound", f"Memory object was not found: `{id}`.{hint}", {"id": id})


def unknown_project(identifier: str) -> ProjectError:
    """A project that the registry does not know."""
    message = f"No registered project is called `{identifier}`. `memglot repo projects` lists those there are."
    return ProjectError("MemoryValidationFailed", message, {"field": "identifier", "identifier": identifier})


def ambiguous_project(identifier: str, fitting: Sequence[tuple[str, str]]) -> ProjectError:
    """A name that several registered projects have; `fitting` are their registry ids and roots."""
    listed = ", ".join(f"`{registry_id}` ({root})" for registry_id, root in fitting)
    message = f"`{identifier}` fits several registered projects: {listed}. Name one by its registry id or its path."
    details = {"field": "identifier", "identifier": identifier, "registry_ids": [each for each, _ in fitting]}
    return ProjectError("MemoryValidationFailed", message, details)


def no_memory(root: str, *, has_backup: bool = False) -> ProjectError:
    """Nothing to reset."""
    message = f"There is no `.memory` in `{root}`; nothing was changed."
    if has_backup:
        message = (
            f"Nothing is left to reset in `{root}`: only backups are there. `memglot repo restore` brings the last "
            "one back, and `memglot repo reset --destroy` removes them."
        )
    return ProjectError("MemoryNotInitialized", message, {"project_root": root})


def project_gone(root: str) -> ProjectError:
    """A registered project whose folder was removed or moved."""
    return ProjectError("MemoryNotInitialized", "Its folder is not there.", {"project_root": root})


def no_backup(folder: str, name: str | None, known: Sequence[str]) -> ProjectError:
    """Nothing to restore, or nothing of that name."""
    if name is None:
        message = f"`{folder}` holds no backup to restore; `memglot repo reset` makes one."
    else:
        listed = f" There are {', '.join(f'`{each}`' for each in known)}." if known else ""
        message = f"`{folder}` holds no backup called `{name}`.{listed}"
    return ProjectError("MemoryValidationFailed", message, {"field": "backup", "path": folder, "name": name})


def bad_backup(path: str, reason: str) -> ProjectError:
    """A backup that cannot be, or is not, unpacked."""
    message = f"`{path}` was not restored: {reason}. Nothing was changed."
    return ProjectError("MemoryValidationFailed", message, {"field": "backup", "path": path, "message": reason})


def backup_failed(path: str, reason: str) -> ProjectError:
    """A store that could not be copied; it stays as it is."""
    message = f"No backup could be made of `{path}`: {reason}. Nothing was removed."
    return ProjectError("MemoryInternalError", message, {"path": path, "message": reason})


def removal_failed(path: str, reason: str, backup: str | None) -> ProjectError:
    """A store that was copied, and could not be removed whole."""
    copy = f" All of it is in `{backup}`." if backup else ""
    message = f"`{path}` could not be removed whole: {reason}.{copy} Mend that and run the command again."
    return ProjectError("MemoryInternalError", message, {"path": path, "message": reason, "backup_path": backup})


def bad_member(name: str) -> str:
    """Why a backup is refused: an entry that would land elsewhere, or is no file."""
    return f"its entry `{name[:200]}` is no plain file or folder within it"


def too_large(limit: str) -> str:
    """Why a backup is refused: it is larger than any store."""
    return f"it unpacks to more than {limit}"


def unreadable_archive(reason: str) -> str:
    """Why a backup is refused: it is damaged."""
    return f"it cannot be read as a .tar.gz ({reason})"


NO_STORE_IN_IT = "it holds no `config.json`, and so no memory (`tar -xzf` shows what it does hold)"
"""Why a backup is refused: it is what a broken store had left."""

OVERLONG_HEADER = "a header in it is larger than any is"
"""Why a backup is refused: it would fill the memory before it could be judged."""


def differs_from_store(name: str) -> str:
    """Why a fresh backup is not trusted."""
    return f"`{name}` read back differs from what is in the store; did something write to it meanwhile?"


NAMELESS_PLACE = "the path of the project is no UTF-8"
"""Why a project cannot be registered: JSON cannot spell its path."""


def said_by(error: OSError) -> str:
    """What the system says of a failure, without the path."""
    return error.strerror or type(error).__name__


SECRETS = {
    "private-key": "A private key begins here",
    "github-token": "This looks like a GitHub token",
    "github-fine-grained-token": "This looks like a fine-grained GitHub token",
    "openai-key": "This looks like an API key that begins with `sk-`",
    "stripe-key": "This looks like a Stripe key",
    "slack-token": "This looks like a Slack token",
    "aws-access-key": "This looks like an AWS access key id",
    "google-api-key": "This looks like a Google API key",
    "assigned-secret": "A password, key or token is written out here",
    "jwt": "This may be a JSON Web Token",
    "bearer-token": "This may be a bearer token",
    "high-entropy": "This long random text may be a secret",
}
"""What each rule about secrets says. The secret itself is never shown."""


def secret_said(rule: str) -> str:
    """A finding of a rule."""
    return f"{SECRETS[rule]}; keep secrets out of memory that is committed."


def file_missing(path: str) -> dict[str, Any]:
    """A file that every store has."""
    return issue("CanonicalFileMissing", "This file belongs to every store and is not there.", path)


def folder_missing(path: str) -> dict[str, Any]:
    """A folder that a store has; git keeps none that are empty."""
    message = "This folder is not there; the next save, or `memglot repo rebuild`, makes it."
    return issue("CanonicalDirectoryMissing", message, path)


def file_unsafe(path: str) -> dict[str, Any]:
    """A link, a device, or whatever else is no file."""
    return issue("CanonicalFileUnsafe", "This is no plain file or folder; project memory does not follow links.", path)


def file_unreadable(path: str, reason: str) -> dict[str, Any]:
    """A file that the system does not give."""
    return issue("CanonicalFileUnreadable", f"This file cannot be read: {reason}.", path)


def schema_missing(path: str) -> dict[str, Any]:
    """A schema that the real tool looks for; ours are in the package."""
    message = "This schema is not there; the next save, or `memglot repo rebuild`, writes it."
    return issue("SchemaFileMissing", message, path)


def schema_invalid(path: str) -> dict[str, Any]:
    """A schema that is none."""
    return issue("SchemaFileInvalid", "A schema is a JSON object or a boolean.", path)


def json_invalid(path: str, reason: str) -> dict[str, Any]:
    """A file that is no JSON."""
    return issue("JsonInvalid", f"This is no JSON: {reason}.", path)


def version_unsupported(path: str, found: object) -> dict[str, Any]:
    """Storage of another version."""
    message = f"The storage version is {found}; this release reads version 5."
    return issue("StorageVersionUnsupported", message, path, "/version")


def marker_invalid(path: str) -> dict[str, Any]:
    """A marker of the last sync that says nothing."""
    message = "This names no commit that was synced last; the next sync verifies every anchor and writes it anew."
    return issue("SyncMarkerInvalid", message, path)


def project_missing(path: str) -> dict[str, Any]:
    """A store whose project has no node."""
    return issue(
        "ProjectNodeMissing",
        "The project that this names has no node of its own; `memglot repo init` makes one.",
        path,
        "/project/id",
    )


def kind_mismatch(path: str, id: str, kind: str) -> dict[str, Any]:
    """An id that names another kind than the node has."""
    return issue("ObjectIdTypeMismatch", f"The id `{id}` does not begin with the type `{kind}`.", path, "/id")


def status_mismatch(path: str, kind: str, status: str) -> dict[str, Any]:
    """A status that the kind does not use."""
    message = f"The status `{status}` is not one that a {kind} uses."
    return issue("ObjectStatusMismatch", message, path, "/status")


def stage_not_allowed(path: str) -> dict[str, Any]:
    """A stage on what is no feature."""
    return issue("SchemaNot", "Stage is only allowed on feature objects.", path, "/stage")


def repeated(path: str, field: str) -> dict[str, Any]:
    """A list that holds a value twice."""
    return issue("SchemaUniqueItems", "This list holds a value twice.", path, field)


def unprintable(path: str, field: str) -> dict[str, Any]:
    """A name with control characters."""
    return issue("SchemaPattern", "This holds control characters, which no name may.", path, field)


def body_missing(path: str, body: str) -> dict[str, Any]:
    """A sidecar whose text is gone."""
    return issue("ObjectBodyMissing", f"The text of this node, `{body}`, is not there.", path, "/body_path")


def body_elsewhere(path: str, body: str, expected: str) -> dict[str, Any]:
    """A sidecar whose text lies beside another."""
    message = f"The text of this node is said to be `{body}`; it belongs in `{expected}`."
    return issue("ObjectBodyPathMismatch", message, path, "/body_path")


def body_escapes(path: str) -> dict[str, Any]:
    """A sidecar whose text would lie outside of the store."""
    return issue("ObjectBodyPathEscapesMemory", "This path leaves `.memory/memory/`.", path, "/body_path")


def sidecar_missing(path: str) -> dict[str, Any]:
    """A text that belongs to no node."""
    message = "This text has no sidecar that names it, so that no command sees it. Give it one, or remove it."
    return issue("ObjectSidecarMissing", message, path)


def not_text(path: str) -> dict[str, Any]:
    """A text whose bytes are none."""
    return issue("TextEncodingInvalid", "This file is not UTF-8.", path)


def front_matter(path: str) -> dict[str, Any]:
    """A text with a block of YAML in front."""
    return issue("MarkdownFrontmatter", "Markdown files must not contain YAML frontmatter.", path)


def title_mismatch(path: str, title: str, heading: str) -> dict[str, Any]:
    """A text whose heading is not the title."""
    message = f"The first heading of the text is `{heading}`, the title is `{title}`."
    return issue("ObjectTitleH1Mismatch", message, path, "/title")


def hash_missing(path: str) -> dict[str, Any]:
    """A sidecar without a hash."""
    return issue("ObjectContentHashMissing", "Required field is missing: content_hash.", path, "/content_hash")


def hash_mismatch(path: str, what: str) -> dict[str, Any]:
    """A hash that fits neither rule; `what` is `Object` or `Relation`."""
    message = "The hash is not that of the present content: it was edited by hand. The next save of it mends that."
    return issue(f"{what}ContentHashMismatch", message, path, "/content_hash")


def id_duplicate(path: str, id: str, first: str, what: str) -> dict[str, Any]:
    """An id that another file has too; `what` is `Object` or `Relation`."""
    return issue(f"{what}IdDuplicate", f"The id `{id}` is already that of `{first}`.", path, "/id")


def replacement_missing(path: str, replacement: str | None) -> dict[str, Any]:
    """A superseded node that does not say by what, or by nothing there is."""
    said = f"`{replacement}`, which is not there" if replacement else "nothing that it names"
    return issue("ObjectSupersededReplacementMissing", f"This node is superseded by {said}.", path, "/superseded_by")


def endpoint_missing(path: str, field: str, id: str) -> dict[str, Any]:
    """A relation that ends nowhere."""
    return issue("RelationEndpointMissing", f"There is no node `{id}`.", path, field)


def relation_repeated(path: str, first: str) -> dict[str, Any]:
    """A relation that another file states too."""
    return issue("RelationEquivalentDuplicate", f"This says the same as `{first}`.", path)


def too_related(path: str, count: int, total: int) -> dict[str, Any]:
    """A store whose relations mostly say that there is some."""
    message = f"{count} of {total} relations are `related_to`; a predicate that says how would tell more."
    return issue("RelationRelatedToExcessive", message, path, "/predicate")


def event_blank(path: str, line: int) -> dict[str, Any]:
    """A blank line in the log."""
    return issue("EventJsonlBlankLine", f"Line {line} is blank.", path, f"line {line}")


def event_invalid(path: str, line: int, reason: str) -> dict[str, Any]:
    """A line of the log that is no JSON."""
    return issue("EventJsonlInvalid", f"Line {line} is no JSON: {reason}.", path, f"line {line}")


def event_shape(found: dict[str, Any], line: int) -> dict[str, Any]:
    """A line of the log whose values are not allowed; `found` is what its shape says."""
    return found | {"message": f"Line {line}: {found['message']}", "field": f"line {line}{found['field'] or ''}"}


def event_lacks(path: str, line: int, field: str) -> dict[str, Any]:
    """A line of the log that does not say what it is about."""
    return issue("SchemaRequired", f"Line {line}: Required field is missing: {field}.", path, f"line {line}/{field}")


def conflict_found(path: str, line: int) -> dict[str, Any]:
    """A file with both sides of a merge in it."""
    message = f"A merge conflict is not resolved (line {line}): keep one side and remove the marker lines."
    return issue("MemoryConflictDetected", message, path, f"line {line}")


def unmerged(path: str) -> dict[str, Any]:
    """A file that git holds several versions of."""
    message = "Git has this file as unmerged: resolve the conflict, then `git add` it."
    return issue("MemoryConflictDetected", message, path)


def secret_found(path: str, line: int, message: str) -> dict[str, Any]:
    """A secret in a file."""
    return issue("MemorySecretDetected", f"Line {line}: {message}", path, f"line {line}")


def anchor_orphaned(path: str, id: str, anchor: str) -> dict[str, Any]:
    """An anchor that no file answers to."""
    return issue("AnchorOrphaned", f"The anchor `{anchor}` of `{id}` matches no files.", path, "/anchors")


def map_missing(path: str) -> dict[str, Any]:
    """A file without the map."""
    return issue("ProductMapMissing", "The product map is not in this file; `memglot repo init` puts it there.", path)


def map_ambiguous(path: str) -> dict[str, Any]:
    """A file in which the place of the map is not clear."""
    message = (
        "The markers in this file are not one pair of each: remove all but one pair of `<!-- memory:map:start -->` "
        "and `<!-- memory:map:end -->`, and of `<!-- memory:start -->` and `<!-- memory:end -->`, or all of them, then "
        "run `memglot repo init`."
    )
    return issue("ProductMapMissing", message, path)


def map_unasked(path: str) -> dict[str, Any]:
    """A file in words of its own, without a place for the map."""
    message = (
        "This file speaks of project memory in words of its own; for the product map, add the lines "
        "`<!-- memory:map:start -->` and `<!-- memory:map:end -->` to it."
    )
    return issue("ProductMapMissing", message, path)


def map_stale(path: str) -> dict[str, Any]:
    """A file whose map tells of yesterday."""
    message = "The product map is behind the memory; `memglot repo sync` refreshes it."
    return issue("ProductMapStale", message, path)


def index_unavailable(path: str, reason: str) -> dict[str, Any]:
    """An index that cannot be used."""
    message = f"The index cannot be used ({reason}); `memglot repo rebuild` makes it anew."
    return issue("GeneratedIndexUnavailable", message, path)


def _either(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)
