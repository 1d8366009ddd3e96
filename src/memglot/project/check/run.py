"""Check a store: report what is wrong with its files, with the codes of the original tool."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from memglot.project.check.findings import Findings
from memglot.project.check.nodes import check_nodes
from memglot.project.check.relations import check_relations
from memglot.project.map import dead_anchors_in
from memglot.project.project import Project
from memglot.project.snapshot import snapshot_of
from memglot.project.storage.errors import ProjectError, issue, not_initialized, unsafe_path
from memglot.project.storage.faults import FileFault, invalid_schema, missing_file
from memglot.project.storage.markers import AGENT_FILES, MAP, extract_section
from memglot.project.storage.paths import (
    CONFIG,
    EVENTS,
    FOLDER,
    INDEX,
    NODES,
    RELATIONS,
    SCHEMAS,
    SYNC_MARKER,
    memory_path,
)
from memglot.project.storage.product_map import has_odd_markers, has_own_words, in_our_words, render_map
from memglot.project.storage.reader import check_version, decode_json, to_config
from memglot.project.storage.readme_map import README, has_odd_map, map_in, read_readme, readme_of
from memglot.project.storage.schemas import NAMES, schema_path
from memglot.project.storage.shapes import Config, MemoryEvent
from memglot.project.storage.vocabulary import COMMIT

_COMMIT = re.compile(COMMIT)
_EVENT = msgspec.json.Decoder(MemoryEvent)
_CREATED_BY = "the next save, `memglot repo init` or `memglot repo rebuild` creates it"
REPAIRABLE = frozenset(("CanonicalDirectoryMissing", "SchemaFileMissing"))
"""Codes of errors that a save, `init` and `rebuild` repair."""
TOLERATED = frozenset(("GeneratedIndexUnavailable", "ProductMapMissing"))
"""Codes of warnings that a strict check does not count: one is about this machine, and the other a choice."""


def check_project(project: Project) -> dict[str, Any]:
    """Check the files of a project's memory, and its anchors, product map and index.

    Raise `ProjectError` if there is no memory, or if it is of another version.
    """
    try:
        inputs = _inputs(project)
    except ProjectError as error:
        if error.exit_code == 3:
            raise
        inputs = {}  # A config that cannot be read is among the findings.
    return check(project, **inputs)


def _inputs(project: Project) -> dict[str, Any]:
    with snapshot_of(project) as snapshot:
        dead = dead_anchors_in(snapshot)
        text = render_map(snapshot.nodes(), dead)
        problem = None
        if project.config.memory.auto_index and not snapshot.index.kept:
            problem = "it cannot be written, so every command reads all files"
    missing, stale = [], _stale_readme(project, text)
    for name in AGENT_FILES:
        path = project.root / name
        found = extract_section(path.read_bytes().decode(errors="replace"), MAP) if path.is_file() else None
        if found is None:
            missing.append(name)
        elif in_our_words(found) != in_our_words(text):
            stale.append(name)
    return {"dead": dead, "maps_missing": missing, "maps_stale": stale, "index_problem": problem}


def _stale_readme(project: Project, text: str) -> list[str]:
    """Return the README if its map is out of date, or if its markers are not one pair."""
    path = readme_of(project.root)
    if path is None:
        return []
    contents = read_readme(path)
    return [README] if has_odd_map(contents) or map_in(contents) not in (None, text) else []


def counted(warnings: Iterable[dict[str, Any]]) -> int:
    """Return how many warnings fail a strict check."""
    return sum(issue["code"] not in TOLERATED for issue in warnings)


def check(
    project: Project,
    *,
    dead: Iterable[tuple[str, Sequence[str]]] = (),
    maps_missing: Iterable[str] = (),
    maps_stale: Iterable[str] = (),
    index_problem: str | None = None,
) -> dict[str, Any]:
    """Return everything that is wrong with the files of a store: errors make it invalid, warnings do not.

    `dead` are the anchors that match no files, by the ids of their nodes; `maps_missing` and `maps_stale` the files
    whose product map is missing or out of date; `index_problem` why the index cannot be used. Raise `ProjectError` if
    there is no store.
    """
    if project.folder.is_symlink():
        raise unsafe_path(FOLDER)
    if not project.folder.is_dir():
        raise not_initialized(str(project.root))
    findings = Findings(project.folder)
    config = _check_config(findings)
    _check_folders(findings)
    _check_schemas(findings)
    nodes = check_nodes(findings)
    check_relations(findings, nodes)
    _check_events(findings)
    _check_sync_marker(findings)
    if config is not None and config.project.id not in nodes:
        message = "The project has no node of its own; `memglot repo init` creates it."
        findings.warn("ProjectNodeMissing", message, CONFIG, "/project/id")
    _check_git(findings, project)
    for id, anchors in dead:
        for anchor in anchors:
            message = f"The anchor `{anchor}` of `{id}` matches no files."
            findings.warn("AnchorOrphaned", message, nodes.get(id, NODES), "/anchors")
    findings.warnings += [_missing_map(project, path) for path in maps_missing]
    for path in maps_stale:
        message = "The product map is out of date; `memglot repo sync` refreshes it."
        findings.warnings.append(issue("ProductMapStale", message, path))
    if index_problem is not None:
        message = f"The index cannot be used ({index_problem}); `memglot repo rebuild` builds it again."
        findings.warn("GeneratedIndexUnavailable", message, INDEX)
    return {"valid": not findings.errors, "errors": findings.errors, "warnings": findings.warnings}


def _check_config(findings: Findings) -> Config | None:
    if CONFIG not in findings.files:
        findings.add_error(missing_file(CONFIG))
        return None
    fields = findings.json(CONFIG)
    if fields is None:
        return None
    try:
        check_version(fields)
        return to_config(fields)
    except FileFault as fault:
        findings.add_error(fault)
        return None


def _check_folders(findings: Findings) -> None:
    for path in (NODES, RELATIONS, SCHEMAS):
        if path not in findings.folders:
            findings.error("CanonicalDirectoryMissing", f"This folder is missing; {_CREATED_BY}.", path)


def _check_schemas(findings: Findings) -> None:
    """Check the schemas in the store: without all of them, every command of the original tool fails."""
    for path in map(schema_path, NAMES):
        if path not in findings.files:
            # If the folder is missing, one error about it is enough.
            if SCHEMAS in findings.folders:
                findings.error("SchemaFileMissing", f"This schema is missing; {_CREATED_BY}.", path)
        elif (schema := findings.json(path)) is not None and not isinstance(schema, (dict, bool)):
            findings.error("SchemaFileInvalid", "A schema must be a JSON object or a boolean.", path)


def _check_events(findings: Findings) -> None:
    if EVENTS not in findings.files:
        findings.add_error(missing_file(EVENTS))
        return
    found = findings.text(EVENTS)
    lines = found[0].split(b"\n") if found else []
    if lines and lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines, 1):
        _check_event(findings, number, line)


def _check_event(findings: Findings, number: int, line: bytes) -> None:
    place = f"line {number}"
    if not line.strip():
        findings.error("EventJsonlBlankLine", f"Line {number} is blank.", EVENTS, place)
        return
    try:
        event = _EVENT.decode(line)
    except msgspec.ValidationError as error:
        fault = invalid_schema(EVENTS, error)
        findings.error(fault.code, f"Line {number}: {fault.message}", EVENTS, f"{place}{fault.field or ''}")
        return
    except (msgspec.DecodeError, RecursionError) as error:
        findings.error("EventJsonlInvalid", f"Line {number} is not valid JSON: {error}.", EVENTS, place)
        return
    subject = event.event.partition(".")[0]
    needed = {"memory": ("id", event.id), "relation": ("relation_id", event.relation_id)}.get(subject)
    if needed is not None and not isinstance(needed[1], str):
        message = f"Line {number}: Required field is missing: {needed[0]}."
        findings.error("SchemaRequired", message, EVENTS, f"{place}/{needed[0]}")


def _check_sync_marker(findings: Findings) -> None:
    if SYNC_MARKER not in findings.files:
        return
    found = findings.text(SYNC_MARKER)
    if found is None:
        return
    try:
        fields = decode_json(SYNC_MARKER, found[0])
    except FileFault:
        fields = None
    known = fields if isinstance(fields, dict) else {}
    version, commit = known.get("version"), known.get("last_sync_commit")
    is_valid = version == 1 and version is not True and isinstance(commit, str) and _COMMIT.fullmatch(commit)
    if not is_valid:
        message = "This does not name the last synced commit; the next sync verifies every anchor and writes it again."
        findings.warn("SyncMarkerInvalid", message, SYNC_MARKER)


def _check_git(findings: Findings, project: Project) -> None:
    """Report the files that git has as unmerged; somebody may have removed their conflict markers already."""
    if project.git is None:
        return
    listed = project.git.ask("ls-files", "--unmerged", "-z", "--full-name", "--", f":(top){FOLDER}") or b""
    known = {issue["path"] for issue in findings.errors if issue["code"] == "MemoryConflictDetected"}
    paths = {
        os.fsdecode(entry.partition(b"\t")[2]).removeprefix(f"{FOLDER}/") for entry in listed.split(b"\0") if entry
    }
    for path in sorted(paths):
        if memory_path(path) not in known:
            message = "Git has this file as unmerged: resolve the conflict, then `git add` it."
            findings.error("MemoryConflictDetected", message, path)


def _missing_map(project: Project, path: str) -> dict[str, Any]:
    """Return the issue of a file without the map; only a person can decide what `init` does not repair."""
    message = "The product map is missing in this file; `memglot repo init` adds it."
    try:
        contents = (project.root / path).read_bytes().decode(errors="replace")
    except OSError:
        message = "This file is missing, and the product map with it; `memglot repo init` creates both."
        return issue("ProductMapMissing", message, path)
    if has_odd_markers(contents):
        message = (
            "The markers in this file are not one pair of each: remove all but one pair of "
            "`<!-- memory:map:start -->` and `<!-- memory:map:end -->`, and of `<!-- memory:start -->` and "
            "`<!-- memory:end -->`, or all of them, then run `memglot repo init`."
        )
    elif has_own_words(contents):
        message = (
            "This file describes project memory in its own words; for the product map, add the lines "
            "`<!-- memory:map:start -->` and `<!-- memory:map:end -->` to it."
        )
    return issue("ProductMapMissing", message, path)
