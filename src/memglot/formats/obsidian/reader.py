"""Reader of a vault: its notes one by one, then the relations from their links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from memglot.disk import DiskMap
from memglot.errors import BadRecord, Unreadable
from memglot.formats.base import ReadOptions
from memglot.formats.core.carry import KEY, is_slot, take_slot
from memglot.formats.core.encoding import BOM
from memglot.formats.core.folder_proof import FolderProof
from memglot.formats.core.note_layout import NotePlace, first_vault, note_digest, nul_positions, places_of
from memglot.formats.core.note_times import created_by_front
from memglot.formats.core.source import Source
from memglot.formats.core.trace import mark_program_note
from memglot.formats.obsidian.chat_names import conversation_of, exact_tags, is_chat_path
from memglot.formats.obsidian.conversation_note import NoteFile, read_conversation, slot_of
from memglot.formats.obsidian.links import LinkIndex
from memglot.formats.obsidian.markup import WikiLink, links_in, property_links, tags_in, without_code
from memglot.formats.obsidian.note import (
    BYTES_KEY,
    TOOL,
    NoteBody,
    agentos_ids,
    aliases_of,
    default_path,
    front_record,
    front_tags,
    split_body,
)
from memglot.formats.obsidian.render import RenderOptions, render, text_digest
from memglot.formats.syntax.markdown_frame import NoteFrame, decode_note, split_note, without_front_matter
from memglot.formats.syntax.yaml_reader import BrokenYaml
from memglot.model import (
    REPLACEMENT,
    Blob,
    Foreign,
    Item,
    Record,
    Relation,
    Thing,
    check_text,
    derive_id,
    mark_as_note,
)
from memglot.report import Report, SourceReport
from memglot.settings import MAX_LINKS, MAX_MARKUP

_MARKS = ("own", "text", "tag_names")


def read_vault(
    files: Iterable[tuple[str, Source]], vault: str, report: SourceReport, options: ReadOptions
) -> Iterator[Item]:
    """Yield the memories of all notes, then their relations."""
    link_index = LinkIndex()
    vault = options.space or vault
    ids = DiskMap()
    for path, source in files:
        report.start_source(source.name)
        report.item = 1
        report.watch(source)
        try:
            check_text(path, "the path")
            yield from NoteReader(path, source, vault, options).items(link_index, ids, report)
        except BadRecord as error:
            report.failed_record(error)
        finally:
            source.close()
    yield from link_index.relations(report)


class NoteReader:
    """Reads one note."""

    def __init__(self, path: str, source: Source, vault: str, options: ReadOptions) -> None:
        carried = options.slots.get(path) if options.slots is not None else None
        carried = carried if isinstance(carried, dict) else {}
        # Another note of a memory has no other values to carry than its vault.
        first = carried.get("vault")
        self.path, self.vault = path, first if isinstance(first, str) else vault
        self._raw = source.whole()
        self._stored = source.as_stored(self._raw)
        self._mark = BOM.decode() if source.start else ""
        self._nul: list[int] = []
        self._encoding = source.encoding
        self._made_at = source.made_at
        self._names = options.names or {}
        self._front_tags: list[str] = []
        self._linked_front = False
        written = options.digests.get(path) if options.digests is not None else None
        self._is_written = written is not None and written == sha256(self._stored).hexdigest()
        self._is_edited = written is not None and not self._is_written
        self._other = {key: carried[key] for key in ("kind", "scope") if "vault" in carried and _is_text(carried, key)}
        self._marks = {key: carried[key] for key in _MARKS if key in carried}
        carried = {key: value for key, value in carried.items() if key not in _MARKS}
        self._slots: list[dict[str, Any]] = [] if not carried or "vault" in carried else [carried]

    def items(self, link_index: LinkIndex, ids: DiskMap, report: SourceReport) -> Iterator[Item]:
        """Yield the memory of the note and its attached items; add its names and links to the index."""
        try:
            text = decode_note(self._raw, len(self._mark.encode()))
        except BadRecord as error:
            # What memglot wrote itself is in the proof of the folder.
            if not self._is_written:
                yield self._bytes(error, report)
            return
        self._nul = nul_positions(self._mark + text)
        text = text.replace("\0", REPLACEMENT)
        frame = self._frame(text, report)
        if slot_of(frame) is not None:
            yield from self._conversation(text, frame, ids, report)
        else:
            yield from self._note(text, frame, link_index, ids, report)

    def _note(
        self, text: str, frame: NoteFrame, link_index: LinkIndex, ids: DiskMap, report: SourceReport
    ) -> Iterator[Item]:
        """Yield the memory of a note that is one memory."""
        self._linked_front = "[[" in text[: frame.start]
        body, marks = self._body(text, frame)
        name = self.path.rpartition("/")[2]
        record = self._record(frame, body.content or name)
        record.tags = exact_tags(record.tags, marks)
        attached = self._apply_slots(record, frame.front, report)
        mark_program_note(record, frame.front)
        self._front_tags = record.tags
        empty = False
        if "text" not in marks or marks["text"] != text_digest(record):
            # A tool's blank lines are content; a person's are not.
            empty = not (body.content if frame.front.get("id") is not None else body.content.strip())
            if empty:
                record.content = record.title or name
            links = self._read_markup(record, "" if empty else body.content, frame.front, marks, report)
            link_index.add_links(record.id, links, self.path)
        has_id = frame.front.get("id") is not None
        if has_id and record.id in ids:
            # Someone copied the note with its id: the copy is a memory of its own.
            report.note(f"{self.path} has the id of {ids[record.id]}; it was imported as a separate memory")
            record.id = derive_id(TOOL, self.vault, self.path)
            record.foreign, attached = [Foreign(TOOL, self.path, self.vault)], []
        if has_id:
            # An id derived from the path is unique.
            ids[record.id] = self.path
        for item in attached:
            if isinstance(item, Relation):
                link_index.add_carried(item.subject.id, item.object.id)
        self._remember(record, attached, text, frame, body, empty)
        own = record.extra.get(TOOL)
        marked = isinstance(own, dict) and "path" in own
        for link in links_in(body.related) if body.related else ():
            link_index.add_link(record.id, link, self.path, marked=marked)
        link_index.add_note(record.id, self.path, agentos_ids(record, frame.front), record.title, aliases_of(record))
        yield record
        yield from attached

    def _conversation(self, text: str, frame: NoteFrame, ids: DiskMap, report: SourceReport) -> Iterator[Item]:
        """Yield the memories of a conversation that is one note."""
        place = NoteFile(self.path, self.vault, sha256(self._stored).hexdigest()[:16])
        found = read_conversation(text, frame, place, report, is_written=self._is_written, is_edited=self._is_edited)
        for record, attached in found:
            if record.id in ids:
                report.note(f"{self.path} has a memory of {ids[record.id]}, which was read there")
                continue
            ids[record.id] = self.path
            yield record
            yield from attached

    def _record(self, frame: NoteFrame, content: str) -> Record:
        """Return the memory by the front matter and the path."""
        record = front_record(frame.front, content, self.path, self.vault)
        record.dated_at = created_by_front(frame.front) or self._made_at
        for field in ("kind", "scope"):
            # What the proof says about another note of a memory.
            setattr(record, field, self._other.get(field, getattr(record, field)))
        return record

    def _bytes(self, error: BadRecord, report: SourceReport) -> Blob:
        """Return a blob for a note that is not text."""
        report.failed_record(BadRecord(f"{error}; the note is kept unparsed", error.hint))
        key = f"{self.vault}/{self.path}"
        return Blob(tool=TOOL, table="notes", key=key, row={"path": self.path}, data=self._stored)

    def _frame(self, text: str, report: SourceReport) -> NoteFrame:
        try:
            return split_note(text)
        except BrokenYaml as error:
            report.fault(_kept_unsplit(str(error.error)), line=error.line + 1)
        except BadRecord as error:
            report.fault(_kept_unsplit(str(error)), line=1)
        return without_front_matter(text)

    def _body(self, text: str, frame: NoteFrame) -> tuple[NoteBody, dict[str, Any]]:
        slot = frame.front.get(KEY)
        slot = slot if isinstance(slot, dict) else self._marks
        body = text[frame.start : frame.end]
        if frame.front.get("id") is None and not isinstance(self._marks.get("own"), list):
            return NoteBody(body, "", ""), slot
        only = slot["own"] if isinstance(slot.get("own"), list) else None
        return split_body(body, front_tags(frame.front), only, edited=self._is_edited), slot

    def _apply_slots(self, record: Record, front: dict[str, Any], report: SourceReport) -> list[Thing]:
        attached: list[Thing] = []
        given = front.get(KEY)
        if isinstance(given, dict) and (is_slot(given) or given.keys() <= set(_MARKS) and given):
            slot = {key: value for key, value in given.items() if key not in _MARKS}
            self._slots.insert(0, slot)
        elif KEY in front:
            record.meta[KEY] = given
        for slot in self._slots:
            found = take_slot({KEY: slot}, record, report) if slot else []
            attached += found or []
            if found is None and KEY in front:
                record.meta[KEY] = given
        return attached

    def _read_markup(
        self, record: Record, content: str, front: dict[str, Any], marks: dict[str, Any], report: SourceReport
    ) -> list[WikiLink]:
        """Add the tags in the text, and return the links in the text and in the properties, up to the limits."""
        links: Iterable[WikiLink] = ()
        if self._linked_front:
            links = property_links({key: value for key, value in front.items() if key != KEY})
        if "#" in content or "[[" in content:
            bare = without_code(content[:MAX_MARKUP])
            links = chain(links_in(bare), links)
            if found := tags_in(bare):
                record.tags = list(dict.fromkeys([*record.tags, *exact_tags(found, marks)]))
        found_links = list(islice(links, MAX_LINKS + 1))
        if len(content) > MAX_MARKUP or len(found_links) > MAX_LINKS:
            report.note(
                f"{self.path} is very large: only the tags and up to {MAX_LINKS:,} links of its first "
                f"{MAX_MARKUP:,} characters were read; its text is complete"
            )
        return found_links[:MAX_LINKS]

    def _remember(
        self, record: Record, attached: list[Thing], text: str, frame: NoteFrame, body: NoteBody, empty: bool
    ) -> None:
        """Keep the note's path and the text around its content, unless memglot would write the same."""
        if self._is_edited:
            mark_as_note(record, edited=True)
        exact = bool(self._mark or self._nul or self._encoding)
        if not exact and not empty and not self._is_edited and self._is_ours(record, attached, text, frame, body):
            return
        own = record.extra.get(TOOL)
        extra = {**(own if isinstance(own, dict) else {}), "path": self.path}
        if empty:
            extra["empty"] = record.content
        record.extra[TOOL] = extra
        if self._is_written and KEY in frame.front and not body.related and not exact:
            # memglot wrote this note at this path, and can write it again.
            return
        if not self._is_written:
            mark_as_note(record)
        around = own_state(record)
        place = NotePlace(
            path="",
            head=self._mark + text[: frame.start] + (body.content if empty else ""),
            tail=body.own + text[frame.end :],
            of=note_digest(record, around),
            tags=record.tags,
            empty=empty,
            vault=first_vault(record, BYTES_KEY, self.vault),
            nul=self._nul,
            encoding=self._encoding,
        )
        value = msgspec.to_builtins(place)
        del value["path"]
        record.extra[BYTES_KEY] = value

    def _is_ours(self, record: Record, attached: list[Thing], text: str, frame: NoteFrame, body: NoteBody) -> bool:
        """Return True if memglot would write exactly this note, with its related notes."""
        own_id = frame.front.get("id")
        related = body.related.removesuffix("\n")
        for dialect in (None, "program"):
            if not isinstance(own_id, (str, int)) or not self._is_own_path(record, str(own_id), dialect):
                continue
            layout = RenderOptions(self.path, self.vault, dialect)
            if render(record, attached, related, layout, Report()) == text:
                return True
            # A plain note does not say which tags are only in its text.
            bare = msgspec.structs.replace(record, tags=self._front_tags)
            plain = render(bare, attached, related, layout._replace(plain=True), Report())
            if KEY not in frame.front and plain == text:
                return True
        return False

    def _is_own_path(self, record: Record, own_id: str, dialect: str | None) -> bool:
        """Return True for a path that memglot makes up, and will make up again."""
        if dialect is None and conversation_of(record) is not None:
            is_named = self._names.get(record.id) == self.path != default_path(record, own_id)
            return is_named or is_chat_path(self.path, record)
        return self.path == default_path(record, own_id, dialect)


class ImportedNotes:
    """Tells which notes of a folder are as they were imported, although they were edited since the last export."""

    def __init__(self, folder: Path, vault: str) -> None:
        self._folder, self._vault = folder, vault

    @cached_property
    def _options(self) -> ReadOptions:
        try:
            proof = FolderProof.at(self._folder)
        except Unreadable:
            proof = None
        if proof is None:
            return ReadOptions()
        return ReadOptions(slots=DiskMap(proof.slots()), digests=DiskMap(proof.files()))

    def has_note(self, known: NotePlace, path: str, place: Path) -> bool:
        """Return True if a note on disk has the text and the values that it had when it was imported."""
        if not known.of:
            return False
        index, ids = LinkIndex(), DiskMap()
        report = SourceReport(Report(), str(place), TOOL)
        try:
            source = Source.file(place)
            try:
                items = list(NoteReader(path, source, self._vault, self._options).items(index, ids, report))
            finally:
                source.close()
        except (BadRecord, Unreadable):
            return False
        finally:
            index.close()
            ids.close()
        first, _ = places_of(items[0], TOOL, BYTES_KEY) if isinstance(items[0], Record) else (None, [])
        return first is not None and (first.of, first.head, first.tail) == (known.of, known.head, known.tail)

    def close(self) -> None:
        """Delete the files on disk."""
        for found in (self._options.slots, self._options.digests) if "_options" in self.__dict__ else ():
            if isinstance(found, DiskMap):
                found.close()


def _is_text(carried: dict[str, Any], key: str) -> bool:
    return isinstance(carried.get(key), str) and bool(carried[key])


def own_state(record: Record) -> Any:
    """Return the parts of a note that are in `extra`."""
    own = record.extra.get(TOOL)
    own = {key: value for key, value in own.items() if key != "places"} if isinstance(own, dict) else own
    return [own, record.extra.get("agentos")]


def _kept_unsplit(reason: str) -> BadRecord:
    """Return the error for a note that cannot be parsed."""
    return BadRecord(f"{reason}; the note is kept unparsed")
