"""Write a `.memory` folder: nodes, relations, settings and event log; the carry file gets what they cannot store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from memglot.disk import DiskList, DiskMap, SortedLines
from memglot.display import first_few, plural
from memglot.formats.base import WriteOptions
from memglot.formats.core.carry import Bundle, differences, pack_found
from memglot.formats.core.note_folder import NoteFolder
from memglot.formats.core.sidecar import decode_item, encode_item
from memglot.formats.repo.carry_file import CARRY, CarryHead, CarryLine, CarryLines, digest
from memglot.formats.repo.deletions import Deletions
from memglot.formats.repo.existing import ExistingStore
from memglot.formats.repo.naming import NodeNames
from memglot.formats.repo.nodes import BYTES_KEY, TOOL, NodeFiles, record_of
from memglot.formats.repo.other_files import (
    LOG,
    TABLES,
    bytes_of,
    default_config,
    event_of,
    is_config,
    project_of,
)
from memglot.formats.repo.relation_writer import RelationWriter
from memglot.formats.repo.sidecars import NodePlan, WrittenNode, node_of, residue_of
from memglot.model import Blob, Item, Record, Relation, Supersession, Thing, Tombstone
from memglot.project.storage import paths
from memglot.project.storage.markdown import has_front_matter
from memglot.project.storage.merge_markers import conflict_line
from memglot.project.storage.remote import remote_of
from memglot.project.storage.secrets import find_secrets
from memglot.report import Report


class StorageWriter:
    """Writer of a store. Memories are collected first, since nodes refer to each other by ids."""

    def __init__(self, notes: NoteFolder, folder: Path, report: Report, options: WriteOptions) -> None:
        self._notes, self._folder, self._report, self._options = notes, folder, report, options
        self._existing = ExistingStore(folder)
        self._names = NodeNames(self._existing)
        self._bundles: DiskList[list[str]] = DiskList()
        self._newer, self._superseded_by = DiskMap(), DiskMap()
        self._files: dict[str, dict[str, Blob]] = {table: {} for table in TABLES}
        self._events: DiskList[str] = DiskList()
        self._tombstones: DiskList[str] = DiskList()
        self._deletions, self._deleted_ids = Deletions(), DiskMap()
        self._loose: DiskList[str] = DiskList()
        self._doubtful: list[str] = []
        self._altered: list[str] = []
        self._pairs: DiskList[list[Any]] = DiskList()
        self._lines = CarryLines()
        self._links = RelationWriter(notes, self._existing, self._names, self._lines, report, plain=options.plain)
        self._space = self._origin = ""

    def add_leftover(self, item: Item, report: Report) -> None:
        """Collect the settings, the sync marker, events and relations; pass other items on to the sidecar file."""
        if isinstance(item, Blob) and item.tool == TOOL and item.table in self._files:
            self._files[item.table][item.key] = item
        elif isinstance(item, Blob) and item.tool == TOOL and item.table == LOG and event_of(item) is not None:
            self._events.append(encode_item(item).decode())
        elif isinstance(item, Tombstone):
            self._tombstones.append(encode_item(item).decode())
            self._deleted_ids[item.id] = True
        elif isinstance(item, Relation):
            # In some formats relations are not attached to memories.
            self._links.add(item)
            self._loose.append(encode_item(item).decode())
        else:
            self._notes.add_leftover(item, report)

    def add(self, bundle: Bundle) -> None:
        """Add a memory, and the items attached to it."""
        record, attached, _ = bundle
        self._names.add(record)
        own = record.extra.get(TOOL)
        if isinstance(own, dict) and isinstance(own.get("superseded_by"), str):
            self._superseded_by[record.id] = own["superseded_by"]
        for item in attached:
            if isinstance(item, Supersession):
                self._newer[item.older] = item.newer
            elif isinstance(item, Relation):
                self._links.add(item)
        self._bundles.append([encode_item(item).decode() for item in (record, *attached)])

    def finish(self) -> None:
        """Write everything."""
        config, made = self._choose_config()
        self._names.assign(frozenset({self._space, self._origin}), project_of(config))
        self._links.space = self._space
        for lines in self._bundles:
            record, *attached = (decode_item(line.encode()) for line in lines)
            assert isinstance(record, Record)
            self._write(record, [item for item in attached if not isinstance(item, Record)])
        for text in self._loose:
            relation = decode_item(text.encode())
            if isinstance(relation, Relation) and not self._is_stored(relation, ""):
                self._notes.add_leftover(relation, self._report)
        self._keep_others()
        self._put_carry(config, made)
        # The carry file says which memory is which node. It is written first, so that a stopped export can be repeated.
        for place, raw, body_path, body, keep, known in self._pairs:
            pair = {f"{place}.json": raw.encode(), body_path: body.encode()}
            self._notes.put_all(pair, keep=keep, known=known)
        self._links.put_files()
        self._put_files(config, made)
        self._put_events()
        self._put_tombstones()
        self._leave_ends()
        if self._doubtful:
            self._report.note(_doubtful(self._doubtful))
        if self._altered:
            self._report.note(_altered(self._altered))
        if undone := [self._names.deleted_there[memory] for memory in self._names.deleted_there]:
            self._report.note(
                f"{plural(len(undone), 'node')} stay deleted, as the repository's log says: {first_few(undone)}"
            )

    def _keep_others(self) -> None:
        """Keep the nodes of others and of memories outside of this export; remove those of deleted memories."""
        for id in self._existing.places:
            if self._names.is_assigned(id):
                continue
            if self._existing.memory_of(id) in self._deleted_ids:
                self._names.to_delete.add(id)
                continue
            for number, file in enumerate(self._existing.files_of(id)):
                self._notes.retain(file, counts=number == 0)
            if (line := self._existing.carried(id)) is not None:
                self._lines.add(line)
        self._links.carry_others()

    def _put_carry(self, config: bytes, made: dict[str, str]) -> None:
        implied = remote_of(self._folder.absolute().parent) or project_of(config)
        head = CarryHead(self._origin if self._origin != implied else "", made)
        if self._options.plain:
            return
        if head != CarryHead():
            self._lines.add(CarryLine(head=head))
        if len(self._lines.lines):
            self._notes.put_lines(CARRY, self._lines.lines)

    def _leave_ends(self) -> None:
        """Keep the nodes of deleted memories that relations of others refer to."""
        for path in self._existing.ends:
            if self._notes.is_foreign(path):
                for id in self._existing.ends[path]:
                    for file in self._existing.files_of(id):
                        self._notes.release(file)

    def _choose_config(self) -> tuple[bytes, dict[str, str]]:
        """Choose the settings of the store and the spaces of its ids; return them with the digests of made-up files."""
        there = self._existing
        if there.config is not None:
            self._space, self._origin = there.space, self._options.space or there.origin
            return there.config, there.made
        remote = remote_of(self._folder.absolute().parent)
        brought = {space: blob for space, blob in self._files["config"].items() if is_config(blob)}
        wanted = [space for space in (self._options.space, remote, *sorted(brought)) if space in brought]
        if wanted:
            config, made = bytes_of(brought[wanted[0]]), {}
        else:
            config = default_config(self._folder.absolute().parent.name, self._names.project())
            made = {paths.CONFIG: digest(config)}
        self._origin = self._options.space or (wanted[0] if wanted else remote or project_of(config))
        self._space = remote or self._origin
        return config, made

    def _write(self, record: Record, attached: list[Thing]) -> None:
        id = self._names.node(record.id)
        if id is None:
            return
        place, body_path = self._names.place(record.id)
        newer = self._newer.get(record.id)
        plan = NodePlan(
            id,
            place,
            body_path,
            self._is_hashed_by_tool(record, id),
            title=self._existing.title_of(id),
            newer=None if newer is None else self._names.node(newer),
        )
        written = node_of(record, plan)
        # An export must not undo a save that was not imported yet.
        keep = self._existing.is_newer(id, record.updated_at)
        known = residue_of(record).get("of") == self._existing.digest_of(id) if id in self._existing.places else False
        self._pairs.append([place, written.raw.decode(), body_path, written.node.body.decode(), keep, known])
        self._doubtful += [record.id] if _is_doubtful(written.node.body.decode()) else []
        left = [item for item in attached if not self._is_stored(item, id)]
        line = _line_of(record, written, self._space)
        if self._options.plain:
            self._altered += [record.id] if line.content else []
            self._report_losses(record, written, left)
            return
        slot = pack_found(line.memglot, record, left, self._report, plain_only=False)
        if slot or line.made or line.bare or line.content:
            fields = written.node.fields
            at = fields["updated_at"] if "clocks" in slot else ""
            self._lines.add(msgspec.structs.replace(line, node=id, of=fields["created_at"], memglot=slot, at=at))

    def _is_hashed_by_tool(self, record: Record, id: str) -> bool:
        """Return True if a node gets the original tool's hash: as it has, else as it had, else as the store does."""
        style = self._names.layout.by_tool
        if self._existing.config is not None:
            found = self._existing.follows_tool(id)
            return style if found is None else found
        residue = residue_of(record)
        return residue.get("rule") == "tool" if residue else style

    def _report_losses(self, record: Record, written: WrittenNode, left: list[Thing]) -> None:
        """Report what the node alone does not store."""
        found = record_of(written.node, self._space, written.raw)
        pack_found(differences(record, found), record, left, self._report, plain_only=True)

    def _is_stored(self, item: Thing, id: str) -> bool:
        """Return True if the store itself records an item attached to a memory; write the file of a relation."""
        if isinstance(item, Relation):
            is_undone = item.subject.id in self._names.deleted_there or item.object.id in self._names.deleted_there
            return is_undone or self._links.write(item)
        if isinstance(item, Supersession):
            plainly = item == Supersession(newer=item.newer, older=item.older)
            return plainly and self._names.node(item.older) is not None and self._superseded_by.get(item.older) == id
        return False

    def _put_files(self, config: bytes, made: dict[str, str]) -> None:
        """Write the settings and the sync marker, if the store has none of its own."""
        for table, path in TABLES.items():
            blobs = self._files[table]
            own = blobs.pop(self._origin, None)
            raw = config if table == "config" else None if own is None else bytes_of(own)
            if own is not None and table == "config" and not is_config(own):
                self._notes.add_leftover(own, self._report)
            if self._existing.has_file(path) and not self._notes.is_new:
                self._notes.prove(path)
            elif raw is not None:
                self._notes.put_all({path: raw}, counts=False)
            for blob in blobs.values():
                self._notes.add_leftover(blob, self._report)

    def _put_events(self) -> None:
        """Write the event log, or add the missing events to it."""
        lines, opens = SortedLines(), False
        last = -1
        for text in self._events:
            blob = decode_item(text.encode())
            assert isinstance(blob, Blob)
            event = event_of(blob)
            if event is None or event[0] != self._origin:
                self._notes.add_leftover(blob, self._report)
                continue
            lines.add(f"{event[1]:020d} {event[2]}".encode())
            if event[1] > last:
                last, opens = event[1], event[3]
        for line in lines:
            self._deletions.add_line(line[21:].decode())
        texts = (line[21:] for line in lines)
        if self._notes.is_new or not self._existing.has_file(paths.EVENTS):
            self._notes.put_lines(paths.EVENTS, texts, ended=not opens)
        else:
            self._notes.append(paths.EVENTS, self._missing(texts))

    def _put_tombstones(self) -> None:
        """Pass tombstones on to the sidecar file, except those that the event log implies."""
        implied = DiskMap()
        for tombstone in self._deletions.tombstones(self._space, self._names.has_node):
            implied[tombstone.id] = encode_item(tombstone).decode()
        for text in self._tombstones:
            item = decode_item(text.encode())
            if implied.get(getattr(item, "id", "")) != text:
                self._notes.add_leftover(item, self._report)

    def _missing(self, texts: Iterator[bytes]) -> list[bytes]:
        """Return the lines that are missing in the log, each as often as it occurs."""
        known = DiskMap()
        with open(self._folder / paths.EVENTS, "rb") as file:
            for line in file:
                mark = digest(line.removesuffix(b"\n"))
                known[mark] = known.get(mark, 0) + 1
        found = []
        for text in texts:
            mark = digest(text)
            known[mark] = left = known.get(mark, 0) - 1
            if left < 0:
                found.append(text)
        return found


def _line_of(record: Record, written: WrittenNode, space: str) -> CarryLine:
    """Return what has to be carried for a memory."""
    node, made = written.node, written.made
    fields = {key: value for key, value in node.fields.items() if key not in made}
    found = record_of(NodeFiles(fields, node.body, node.place), space, None if made else written.raw)
    bare = bool(made) or found.extra.get(BYTES_KEY) != record.extra.get(BYTES_KEY)
    if bare:
        found.extra.pop(BYTES_KEY, None)
    content = record.content if node.body and node.body != record.content.encode() else ""
    return CarryLine(memglot=differences(record, found), made=made, bare=bare, content=content)


def _is_doubtful(text: str) -> bool:
    """Return True if a save would refuse a text, which should not be committed unseen."""
    if any(finding.severity == "block" for finding in find_secrets(text)):
        return True
    return conflict_line(text) is not None or has_front_matter(text)


def _doubtful(ids: list[str]) -> str:
    """Return a note about memories that a save would refuse."""
    count = "1 memory contains" if len(ids) == 1 else f"{len(ids):,} memories contain"
    what = "what looks like a secret, a merge conflict or front matter"
    return f"{count} {what}; run `memglot repo check` before you commit: {first_few(ids)}"


def _altered(ids: list[str]) -> str:
    """Return a note about memories whose text project memory would refuse, in an export without carried fields."""
    count = "1 memory has" if len(ids) == 1 else f"{len(ids):,} memories have"
    what = "front matter or conflict markers, which project memory refuses"
    return f"{count} {what}; a blank line or spaces were added before them: {first_few(ids)}"
