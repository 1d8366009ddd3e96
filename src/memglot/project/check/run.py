"""The check of a store: what is wrong with its files, and what the real tool would say of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from memglot.project.check.findings import Findings, shown
from memglot.project.check.nodes import check_links, check_nodes
from memglot.project.check.schema_issues import shape_issue
from memglot.project.map import has_odd_markers, has_own_words
from memglot.project.project import Project
from memglot.project.storage.errors import issue, not_initialized, unsafe_path
from memglot.project.storage.paths import (
    CONFIG,
    EVENTS,
    FOLDER,
    INDEX,
    KIND_FOLDERS,
    NODES,
    RELATIONS,
    SCHEMAS,
    SYNC_MARKER,
)
from memglot.project.storage.shapes import Config, MemoryEvent
from memglot.project.storage.vocabulary import COMMIT, STORAGE_VERSION

SCHEMA_FILES = tuple(f"{SCHEMAS}/{name}.schema.json" for name in ("config", "object", "relation", "event", "patch"))
"""The schemas that the real tool reads from a store."""
_COMMIT = re.compile(COMMIT)
_EVENT = msgspec.json.Decoder(MemoryEvent)


def check(
    project: Project,
    *,
    dead: Iterable[tuple[str, Sequence[str]]] = (),
    maps_missing: Iterable[str] = (),
    maps_stale: Iterable[str] = (),
    index_problem: str | None = None,
) -> dict[str, Any]:
    """All that is wrong with a store: errors make it invalid, warnings do not.

    What other parts know is given: the anchors that match no files, by the ids of their nodes; the files whose
    product map is missing or behind; and why the index cannot be used. Raises `ProjectError` where there is no store.
    """
    if project.folder.is_symlink():
        raise unsafe_path(FOLDER)
    if not project.folder.is_dir():
        raise not_initialized(str(project.root))
    findings = Findings(project.folder)
    config = _check_config(findings)
    _check_schemas(findings)
    nodes = check_nodes(findings)
    check_links(findings, nodes)
    _check_events(findings)
    _check_marker(findings)
    if config is not None and config.project.id not in nodes:
        findings.warnings.append(
            issue(
                "ProjectNodeMissing",
                "The project that this names has no node of its own; `memglot repo init` makes one.",
                shown(CONFIG),
                "/project/id",
            )
        )
    _check_git(findings, project)
    warnings = findings.warnings
    for id, anchors in dead:
        warnings += [
            issue(
                "AnchorOrphaned",
                f"The anchor `{anchor}` of `{id}` matches no files.",
                shown(nodes.get(id, NODES)),
                "/anchors",
            )
            for anchor in anchors
        ]
    warnings += [_map_issue(project, path) for path in maps_missing]
    warnings += [_map_stale(path) for path in maps_stale]
    if index_problem is not None:
        warnings.append(_index_unavailable(shown(INDEX), index_problem))
    return {"valid": not findings.errors, "errors": findings.errors, "warnings": warnings}


def _map_issue(project: Project, path: str) -> dict[str, Any]:
    """What to do about a file without the map: what `init` does not mend is for a person to decide."""
    try:
        contents = (project.root / path).read_bytes().decode(errors="replace")
    except OSError:
        return _map_missing(path)
    if has_odd_markers(contents):
        return _map_ambiguous(path)
    return _map_unasked(path) if has_own_words(contents) else _map_missing(path)


def _check_config(findings: Findings) -> Config | None:
    path = shown(CONFIG)
    if CONFIG not in findings.files:
        findings.errors.append(_file_missing(path))
        return None
    plain = findings.json(CONFIG)
    if plain is None:
        return None
    version = plain.get("version") if isinstance(plain, dict) else None
    if isinstance(version, bool) or version != STORAGE_VERSION:
        findings.errors.append(_version_unsupported(path, version))
        return None
    try:
        return msgspec.convert(plain, Config)
    except msgspec.ValidationError as error:
        findings.errors.append(shape_issue(path, error))
        return None


def _check_schemas(findings: Findings) -> None:
    """Our schemas are in the package: what is not there is made again, what is broken stops the real tool."""
    by_kind = f"{NODES}/project.json" in findings.files or any(
        f"{NODES}/{name}" in findings.folders for name in KIND_FOLDERS.values()
    )
    kinds = [f"{NODES}/{name}" for name in KIND_FOLDERS.values()] if by_kind else []
    for path in (NODES, *kinds, RELATIONS, SCHEMAS):
        if path not in findings.folders:
            findings.warnings.append(_folder_missing(shown(path)))
    for path in SCHEMA_FILES:
        if path not in findings.files:
            # One warning says it all where the whole folder is missing.
            if SCHEMAS in findings.folders:
                findings.warnings.append(_schema_missing(shown(path)))
        elif (plain := findings.json(path)) is not None and not isinstance(plain, (dict, bool)):
            findings.errors.append(issue("SchemaFileInvalid", "A schema is a JSON object or a boolean.", shown(path)))


def _check_events(findings: Findings) -> None:
    path = shown(EVENTS)
    if EVENTS not in findings.files:
        findings.errors.append(_file_missing(path))
        return
    found = findings.text(EVENTS)
    lines = found[0].split(b"\n") if found else []
    if lines and lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines, 1):
        if issue := _event_issue(path, number, line):
            findings.errors.append(issue)


def _event_issue(path: str, number: int, line: bytes) -> dict[str, Any] | None:
    if not line.strip():
        return issue("EventJsonlBlankLine", f"Line {number} is blank.", path, f"line {number}")
    try:
        event = _EVENT.decode(line)
    except msgspec.ValidationError as error:
        return _event_shape(shape_issue(path, error), number)
    except (msgspec.DecodeError, RecursionError) as error:
        return issue("EventJsonlInvalid", f"Line {number} is no JSON: {str(error)}.", path, f"line {number}")
    about = event.event.partition(".")[0]
    needed = {"memory": ("id", event.id), "relation": ("relation_id", event.relation_id)}.get(about)
    if needed is None or isinstance(needed[1], str):
        return None
    return _event_lacks(path, number, needed[0])


def _check_marker(findings: Findings) -> None:
    if SYNC_MARKER not in findings.files:
        return
    plain = findings.json(SYNC_MARKER)
    known = plain if isinstance(plain, dict) else {}
    version, commit = known.get("version"), known.get("last_sync_commit")
    is_valid = version == 1 and version is not True and isinstance(commit, str) and _COMMIT.fullmatch(commit)
    if plain is not None and not is_valid:
        findings.warnings.append(_marker_invalid(shown(SYNC_MARKER)))


def _check_git(findings: Findings, project: Project) -> None:
    """Git may hold several versions of a file whose markers somebody removed already."""
    if project.git is None:
        return
    listed = project.git.ask("ls-files", "--unmerged", "-z", "--full-name", "--", f":(top){FOLDER}") or b""
    known = {issue["path"] for issue in findings.errors if issue["code"] == "MemoryConflictDetected"}
    paths = {os.fsdecode(entry.partition(b"\t")[2]) for entry in listed.split(b"\0") if entry}
    for path in sorted(paths):
        place = shown(path.removeprefix(f"{FOLDER}/"))
        if place not in known:
            findings.errors.append(_unmerged(place))


def _file_missing(path: str) -> dict[str, Any]:
    """A file that every store has."""
    return issue("CanonicalFileMissing", "This file belongs to every store and is not there.", path)


def _folder_missing(path: str) -> dict[str, Any]:
    """A folder that a store has; git keeps none that are empty."""
    message = "This folder is not there; the next save, or `memglot repo rebuild`, makes it."
    return issue("CanonicalDirectoryMissing", message, path)


def _schema_missing(path: str) -> dict[str, Any]:
    """A schema that the real tool looks for; ours are in the package."""
    message = "This schema is not there; the next save, or `memglot repo rebuild`, writes it."
    return issue("SchemaFileMissing", message, path)


def _version_unsupported(path: str, found: object) -> dict[str, Any]:
    """Storage of another version."""
    message = f"The storage version is {found}; this release reads version 5."
    return issue("StorageVersionUnsupported", message, path, "/version")


def _marker_invalid(path: str) -> dict[str, Any]:
    """A marker of the last sync that says nothing."""
    message = "This names no commit that was synced last; the next sync verifies every anchor and writes it anew."
    return issue("SyncMarkerInvalid", message, path)


def _event_shape(found: dict[str, Any], line: int) -> dict[str, Any]:
    """A line of the log whose values are not allowed; `found` is what its shape says."""
    return found | {"message": f"Line {line}: {found['message']}", "field": f"line {line}{found['field'] or ''}"}


def _event_lacks(path: str, line: int, field: str) -> dict[str, Any]:
    """A line of the log that does not say what it is about."""
    return issue("SchemaRequired", f"Line {line}: Required field is missing: {field}.", path, f"line {line}/{field}")


def _unmerged(path: str) -> dict[str, Any]:
    """A file that git holds several versions of."""
    message = "Git has this file as unmerged: resolve the conflict, then `git add` it."
    return issue("MemoryConflictDetected", message, path)


def _map_missing(path: str) -> dict[str, Any]:
    """A file without the map."""
    return issue("ProductMapMissing", "The product map is not in this file; `memglot repo init` puts it there.", path)


def _map_ambiguous(path: str) -> dict[str, Any]:
    """A file in which the place of the map is not clear."""
    message = (
        "The markers in this file are not one pair of each: remove all but one pair of `<!-- memory:map:start -->` "
        "and `<!-- memory:map:end -->`, and of `<!-- memory:start -->` and `<!-- memory:end -->`, or all of them, then "
        "run `memglot repo init`."
    )
    return issue("ProductMapMissing", message, path)


def _map_unasked(path: str) -> dict[str, Any]:
    """A file in words of its own, without a place for the map."""
    message = (
        "This file speaks of project memory in words of its own; for the product map, add the lines "
        "`<!-- memory:map:start -->` and `<!-- memory:map:end -->` to it."
    )
    return issue("ProductMapMissing", message, path)


def _map_stale(path: str) -> dict[str, Any]:
    """A file whose map tells of yesterday."""
    message = "The product map is behind the memory; `memglot repo sync` refreshes it."
    return issue("ProductMapStale", message, path)


def _index_unavailable(path: str, reason: str) -> dict[str, Any]:
    """An index that cannot be used."""
    message = f"The index cannot be used ({reason}); `memglot repo rebuild` makes it anew."
    return issue("GeneratedIndexUnavailable", message, path)
