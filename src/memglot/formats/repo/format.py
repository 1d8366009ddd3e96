"""Project memory in a repository, storage version 5: `.memory/` with a sidecar and a text for each node.

Features, decisions, gotchas and questions are nodes of their own kind, with their relations, stage, anchors, evidence
and origin. A memory of any other kind (a fact, a preference, a note) becomes a gotcha: a query finds it, and it stays
out of the product map. Its true kind, and everything else that a sidecar has no field for, is carried in
`.memory/memglot/carry.jsonl`, since sidecars allow no additional keys. What belongs to no memory is stored in
`.memory/.memglot.json`. Unchanged nodes are written byte for byte as they were; the event log only grows. The schemas,
the folders and the product map that the original tool expects are written too, and its index, which would not find new
nodes, is removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memglot.errors import NeedsFolder, Unreadable
from memglot.formats.base import (
    FolderSupport,
    Format,
    Glimpse,
    MergeSupport,
    ReadOptions,
    WriteOptions,
    WriteSupport,
)
from memglot.formats.core.carry import bundles
from memglot.formats.core.note_files import digest_file
from memglot.formats.core.note_folder import open_note_folder
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.repo.nodes import TOOL
from memglot.formats.repo.other_files import refuse_link
from memglot.formats.repo.reader import read_storage
from memglot.formats.repo.setup import complete_store, is_incomplete
from memglot.formats.repo.writer import StorageWriter
from memglot.model import Item
from memglot.project.storage.lock import exclusive
from memglot.project.storage.paths import CONFIG, FOLDER, NODES, OWN_FOLDER, RELATIONS, SCHEMAS
from memglot.report import Report, SourceReport


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Refuse a single file: a node has two files, and nodes refer to each other."""
    raise Unreadable(source.name, "project memory is read as a folder", "give a repository, or its `.memory` folder")


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write `.memory` into the folder at the target's path, or to the path itself if that is its name."""
    if target.path is None:
        raise NeedsFolder("repo", "standard output")
    folder = FORMAT.folder.find_in(target.path)
    for name in ("", NODES, RELATIONS, SCHEMAS, OWN_FOLDER):
        refuse_link(folder / name)
    place = Target(folder, force=target.force, plain=target.plain)
    is_new = not (folder / CONFIG).exists() or is_incomplete(folder)
    with exclusive(folder), open_note_folder(place, digest_file, plain=options.plain, shared=True) as notes:
        writer = StorageWriter(notes, folder, report, options)
        for bundle in bundles(items, writer, report):
            writer.add(bundle)
        writer.finish()
        report.proof = notes.finish("repo", report)
        complete_store(folder, report, is_new=is_new)


def recognise_folder(glimpse: Glimpse) -> bool:
    """Return True if a folder has a `.memory/config.json`."""
    return f"{FOLDER}/{CONFIG}" in glimpse.names


def accepts_file(path: str) -> bool:
    """Return True if a file belongs to a node or a relation."""
    return path.startswith((f"{NODES}/", f"{RELATIONS}/"))


FORMAT = Format(
    name="repo",
    title="Project memory of a repository, `.memory/`",
    tool=TOOL,
    family="repo",
    extensions=(".json", ".md"),
    fields=frozenset("id content title kind tags status created_at updated_at source foreign extra".split()),
    carry=".memory/memglot/carry.jsonl",
    read=read,
    write=write,
    conflict="merge",
    folder=FolderSupport(
        folder_name=FOLDER,
        read=read_storage,
        recognise=recognise_folder,
        accepts_file=accepts_file,
        digest_file=digest_file,
    ),
    writing=WriteSupport(makes_folder=True, needs_ids=True),
    merging=MergeSupport(by_hand=True, has_edit_times=True),
)
