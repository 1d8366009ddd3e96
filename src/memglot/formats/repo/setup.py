"""Complete an exported store: everything besides nodes and relations that the original tool needs to work with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memglot.display import first_few, one_line, plural
from memglot.errors import CannotWrite
from memglot.formats.core.source import FOLDER_PROOF
from memglot.project.storage.agent_guide import write_guidance
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.faults import UNREADABLE, FileFault
from memglot.project.storage.files import drop_tool_index, write_file
from memglot.project.storage.git import Git
from memglot.project.storage.layout import Layout
from memglot.project.storage.node import Node
from memglot.project.storage.paths import NODES, SCHEMAS, memory_path
from memglot.project.storage.product_map import dead_anchors, render_map, repository_files, write_map
from memglot.project.storage.reader import StoreReader, decode_json, sidecar_faults, to_sidecar
from memglot.project.storage.schemas import make_folders, missing_schemas
from memglot.project.storage.shapes import Sidecar
from memglot.project.storage.tokens import first_sentence
from memglot.project.storage.vocabulary import LIVE
from memglot.report import Report

_WITH_INTENT = ("project", "feature")
"""The kinds of nodes whose first sentence the map shows."""


def complete_store(folder: Path, report: Report, *, is_new: bool) -> None:
    """Write missing schemas and folders, drop the original tool's index, and update the product map.

    A new store also gets the files for agents, as from `memglot repo init`. Raise `CannotWrite`.
    """
    try:
        make_folders(folder, Layout())
        (folder / SCHEMAS).mkdir(exist_ok=True)
        is_complete = _update_map(folder, report, is_new=is_new)
        drop_tool_index(folder)
        # The schemas are written last: until they are all there, the store counts as incomplete.
        for path, content in missing_schemas(folder).items() if is_complete else ():
            write_file(folder / path, content)
    except OSError as error:
        raise CannotWrite(str(error.filename or folder), (error.strerror or str(error)).lower()) from error


def is_incomplete(folder: Path) -> bool:
    """Return True if an export that created a store was killed before it was complete."""
    return (folder / FOLDER_PROOF).is_file() and bool(missing_schemas(folder))


def _update_map(folder: Path, report: Report, *, is_new: bool) -> bool:
    """Write the product map; what prevents that is a note. Return False if a file for agents is still missing."""
    root = folder.absolute().parent
    unreadable: list[FileFault] = []
    nodes = list(_map_nodes(StoreReader(folder), unreadable))
    if unreadable:
        listed = first_few([one_line(memory_path(fault.path)) for fault in unreadable])
        report.note(f"{plural(len(unreadable), 'node file')} cannot be read, so the product map was kept: {listed}")
        # A file that is not a valid node stays so, but one on a failing disk may be read by the next export.
        return not (is_new and any(fault.code == UNREADABLE for fault in unreadable))
    notes: list[str] = []
    missing: list[str] = []
    text = render_map(nodes, _dead_anchors(root, nodes, notes))
    if is_new:
        targets = write_guidance(root, text, notes)
        missing = [each["path"] for each in targets if not os.path.lexists(root / each["path"])]
        written = [each["path"] for each in targets if each["status"] in _WRITTEN]
        if written:
            notes.append(f"{plural(len(written), 'file')} for agents got the product map: {', '.join(written)}")
    else:
        notes += write_map(root, text)
    for note in notes:
        report.note(note)
    return not missing


_WRITTEN = ("created", "updated")


def _map_nodes(reader: StoreReader, unreadable: list[FileFault]) -> Iterator[Node]:
    """Yield the live nodes that the map may show; add the faults of those that cannot be read to a list."""
    for path in reader.files(NODES, ".json", unreadable.append):
        try:
            sidecar = to_sidecar(path, decode_json(path, reader.read(path)))
            for fault in sidecar_faults(path, sidecar):
                raise fault
        except FileFault as fault:
            unreadable.append(fault)
            continue
        anchors = tuple(sidecar.anchors) if isinstance(sidecar.anchors, list) else ()
        if sidecar.status in LIVE and (anchors or sidecar.type != "gotcha"):
            yield Node(
                sidecar.id,
                sidecar.type,
                sidecar.status,
                sidecar.title,
                path,
                sidecar.body_path,
                updated_at=sidecar.updated_at,
                stage=sidecar.stage or None,
                anchors=anchors,
                intent=_intent(reader, path, sidecar),
            )


def _intent(reader: StoreReader, path: str, sidecar: Sidecar) -> str:
    if sidecar.type not in _WITH_INTENT:
        return ""
    try:
        return first_sentence(reader.body(path, sidecar.body_path).decode("utf-8", "replace"))
    except FileFault:
        return ""


def _dead_anchors(root: Path, nodes: list[Node], notes: list[str]) -> list[tuple[str, list[str]]]:
    """Return the anchors that match no files; none outside of a git repository, where that is not known."""
    git = Git.find(root) if any(node.anchors for node in nodes) else None
    if git is None or os.path.realpath(git.root) != os.path.realpath(root):
        return []
    try:
        return dead_anchors(nodes, repository_files(git))
    except ProjectError as error:
        notes.append(f"The anchors were not checked for the product map: {error.message}")
        return []
