"""Read a `.memory` folder: nodes followed by their relations, then the settings and the event log."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memglot.disk import DiskGroups, DiskMap
from memglot.errors import BadRecord, Unreadable
from memglot.formats.base import ReadOptions
from memglot.formats.core.carry import KEY, take_slot
from memglot.formats.repo.carry_file import Carried, space_of, split_made_fields
from memglot.formats.repo.deletions import Deletions
from memglot.formats.repo.nodes import TOOL, NodeFiles, record_of
from memglot.formats.repo.other_files import TABLES, default_config, event_blobs, file_blob, read_config, refuse_link
from memglot.formats.repo.relations import RelationFields, relation_of
from memglot.model import Item, Record, Relation, Supersession, Thing, derive_id
from memglot.model.record_errors import bad_item, bad_syntax
from memglot.project.storage import paths
from memglot.project.storage.faults import FileFault
from memglot.project.storage.ids import is_id
from memglot.project.storage.markdown import accepted_body
from memglot.project.storage.paths import JOURNAL
from memglot.project.storage.reader import StoreReader, decode_json, to_relation, to_sidecar
from memglot.report import SourceReport


def read_storage(folder: Path, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield all items of a `.memory` folder. Raise `Unreadable` if it is not a store, or of another version."""
    refuse_link(folder)
    config = read_config(folder)
    if os.path.lexists(folder / JOURNAL):
        report.note(
            f"{folder}: an interrupted save is not finished; any `memglot repo` command in that repository finishes it"
        )
    carried = Carried(folder, report)
    space = options.space if options.space is not None else space_of(folder, config[1], carried)
    yield from _StoreImport(folder, space, carried, report).items(config[0])


class _StoreImport:
    """The import of one store."""

    def __init__(self, folder: Path, space: str, carried: Carried, report: SourceReport) -> None:
        self._folder, self._space, self._carried, self._report = folder, space, carried, report
        self._reader = StoreReader(folder)
        self._places, self._bodies, self._created = DiskMap(), DiskMap(), DiskMap()
        self._by_subject, self._older, self._relation_paths = DiskGroups(), DiskGroups(), DiskMap()
        self._loose = 0
        self._project: int | None = None
        """When the project node was saved, if there is one."""

    def items(self, config: bytes) -> Iterator[Item]:
        """Yield all items, nodes first."""
        self._survey()
        for path in self._files(paths.NODES, ".json"):
            yield from self._node(path)
        yield from self._loose_links()
        self._lone_bodies()
        yield from self._rest(config)

    def _survey(self) -> None:
        """Find all nodes, which of them are superseded, and the relations of each."""
        for path in self._reader.files(paths.NODES, ".json"):
            fields = self._peek(path)
            id, newer = (fields or {}).get("id"), (fields or {}).get("superseded_by")
            if isinstance(id, str) and is_id(id) and id not in self._places:
                self._places[id] = path
                self._created[id] = str((fields or {}).get("created_at"))
                if isinstance(newer, str):
                    self._older.add(newer, id)
        for path in self._files(paths.RELATIONS, ".json"):
            try:
                fields = self._check_relation(path)
            except FileFault as fault:
                self._report.fault(self._error(fault))
                continue
            except BadRecord as error:
                self._report.fault(error)
                continue
            self._by_subject.add(fields["from"], path)
            self._loose += fields["from"] not in self._places or fields["to"] not in self._places

    def _peek(self, path: str) -> dict[str, Any] | None:
        try:
            fields = decode_json(path, self._reader.read(path))
        except FileFault:
            return None
        return fields if isinstance(fields, dict) else None

    def _check_relation(self, path: str) -> dict[str, Any]:
        self._report.start_source(str(self._folder / path))
        fields: dict[str, Any] = decode_json(path, self._reader.read(path))
        to_relation(path, fields, allow_unknown=True)
        if fields["id"] in self._relation_paths:
            raise _same_id(fields["id"], self._relation_paths[fields["id"]])
        self._relation_paths[fields["id"]] = path
        return fields

    def _files(self, below: str, ending: str) -> Iterator[str]:
        """Yield the files below a folder with an ending, and report those that cannot be read."""

        def report(fault: FileFault) -> None:
            # A folder is reported once, by the search for JSON files.
            if fault.path.endswith(ending) or (ending == ".json" and not (self._folder / fault.path).is_file()):
                self._report.start_source(str(self._folder / fault.path))
                self._report.fault(self._error(fault))

        return self._reader.files(below, ending, report)

    def _error(self, fault: FileFault) -> BadRecord | Unreadable:
        """Return the fault of a file as an error of the import."""
        if fault.code == "JsonInvalid":
            return bad_syntax("JSON", fault.reason)
        if fault.code.startswith("Schema"):
            return bad_item("relation" if fault.path.startswith(paths.RELATIONS) else "sidecar", fault.reason)
        if fault.code in ("CanonicalFileMissing", "CanonicalFileUnreadable"):
            return Unreadable(str(self._folder / fault.path), fault.reason)
        return BadRecord(fault.reason)

    def _node(self, path: str) -> Iterator[Item]:
        report = self._report
        report.start_source(str(self._folder / path))
        report.item = 1
        try:
            record, attached = self._memory(path)
        except (BadRecord, FileFault) as error:
            report.start_source(str(self._folder / path))
            report.failed_record(self._error(error) if isinstance(error, FileFault) else error, item=1)
            return
        report.start_source(str(self._folder / path))
        report.item = 1
        yield record
        yield from attached

    def _memory(self, path: str) -> tuple[Record, list[Thing]]:
        """Return the memory of a node, and the items attached to it."""
        # Whatever is wrong with a sidecar, the text next to it belongs to it.
        self._bodies[f"{path.removesuffix('.json')}.md"] = True
        raw = self._reader.read(path)
        fields: dict[str, Any] = decode_json(path, raw)
        if isinstance(fields, dict) and isinstance(named := fields.get("body_path"), str):
            self._bodies[named] = True
        to_sidecar(path, fields, allow_unknown=True)
        id = fields["id"]
        if self._places.get(id) != path:
            raise _same_id(id, self._places[id])
        body = self._reader.body(path, fields["body_path"])
        line = self._carried.node(id, fields["created_at"])
        slot: dict[str, Any] = {}
        shown = fields
        if line is not None:
            shown, slot = split_made_fields(line, fields)
        node = NodeFiles(shown, body, path.removesuffix(".json"))
        bare = line is not None and (line.bare or bool(line.made))
        record = record_of(node, self._space, None if bare else raw)
        if line is not None and line.content and accepted_body(line.content).encode() == body:
            record.content = line.content
        attached = (take_slot({KEY: slot}, record, self._report) or []) if slot else []
        if fields["type"] == "project":
            self._project = max(self._project or 0, record.updated_at)
        return record, [*attached, *self._relations(record, id)]

    def _relations(self, record: Record, id: str) -> list[Thing]:
        """Return the relations of a node, and the nodes that it supersedes."""
        found: list[Thing] = []
        for link in self._by_subject.get(id):
            found += self._relation(link)
        self._by_subject.discard(id)
        for older in self._older.get(id):
            line = self._carried.node(older, self._created.get(older))
            if line is None or line.made.get("superseded_by") != id:
                found.append(Supersession(newer=record.id, older=self._memory_id(older)))
        return found

    def _relation(self, path: str) -> list[Relation]:
        try:
            raw = self._reader.read(path)
            link = RelationFields(decode_json(path, raw), path.removesuffix(".json"))
            carried = self._carried.relation(link.fields["id"], raw)
            found = carried or relation_of(link, self._space, self._memory_id, raw)
        except (BadRecord, FileFault) as error:
            self._report.start_source(str(self._folder / path))
            self._report.fault(self._error(error) if isinstance(error, FileFault) else error)
            return []
        return [found]

    def _memory_id(self, node: str) -> str:
        return self._carried.memory_of(node, self._created.get(node)) or derive_id(TOOL, self._space, node)

    def _loose_links(self) -> Iterator[Item]:
        """Yield the relations of nodes that are missing or could not be read."""
        for path in self._by_subject.values():
            yield from self._relation(path)
        if self._loose:
            self._report.note(_loose_relations(str(self._folder), self._loose))

    def _lone_bodies(self) -> None:
        for path in self._files(paths.NODES, ".md"):
            if path not in self._bodies:
                self._report.start_source(str(self._folder / path))
                self._report.failed_record(BadRecord("no sidecar names this text"), item=1)

    def _rest(self, config: bytes) -> Iterator[Item]:
        """Yield the settings, the sync marker and the event log, except files that memglot made up."""
        space = self._carried.head.space or self._space
        for table, path in TABLES.items():
            raw = config if table == "config" else self._reader.small_file(path)
            if raw is None or self._carried.is_made(path, raw):
                continue
            # Without a project node this store was created by a plain export.
            name = self._folder.absolute().parent.name
            if table == "config" and self._project is None and raw == default_config(name):
                continue
            yield file_blob(table, space, raw, self._project or 0)
        deletions = Deletions()
        for blob in event_blobs(self._folder, space, self._report):
            deletions.add_line(blob.row["text"])
            yield blob
        yield from deletions.tombstones(self._space, lambda id: id in self._places or id in self._relation_paths)


def _loose_relations(folder: str, count: int) -> str:
    """Return a note about relations of missing nodes."""
    noun = "1 relation refers" if count == 1 else f"{count:,} relations refer"
    return f"{folder}: {noun} to a missing node; imported anyway"


def _same_id(id: str, first: str) -> BadRecord:
    """Return the error for a second file with the same id."""
    return BadRecord(f"the id `{id}` is already used by `{first}`")
