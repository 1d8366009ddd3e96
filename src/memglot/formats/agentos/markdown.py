"""AgentOS's Markdown with one trace per note, `{type}/{id}.md`; other fields are carried in `metadata.memglot`.

The AgentOS program writes `{scope}/{type}/{id}.md` and times in milliseconds. Both are read; `--dialect program` writes
the latter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

import msgspec

from memglot.errors import BadRecord, NeedsFolder
from memglot.formats.base import (
    FolderSupport,
    Format,
    Glimpse,
    MergeSupport,
    ReadOptions,
    WriteOptions,
    WriteSupport,
)
from memglot.formats.core.carry import KEY, Bundle, bundles, pack_found, take_slot
from memglot.formats.core.encoding import BOM
from memglot.formats.core.file_names import safe_name
from memglot.formats.core.note_files import NoteFiles, digest_file, is_note_path
from memglot.formats.core.note_folder import open_note_folder
from memglot.formats.core.note_layout import (
    NotePlace,
    first_vault,
    is_as_read,
    note_digest,
    note_slot,
    nul_positions,
    places_of,
)
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.core.trace import (
    DEFAULT_TYPE,
    NATIVE_FIELDS,
    NOTE_TIMES,
    NOTES,
    TOOL,
    TOOL_DEFAULTS,
    Trace,
    mark_program_note,
    note_bookkeeping,
    read_trace,
    trace_from_record,
)
from memglot.formats.core.trace_fields import FIELDS, FRONT, is_agentos_note, type_by_folder
from memglot.formats.syntax.markdown_frame import decode_note, split_note
from memglot.formats.syntax.yaml_reader import BrokenYaml
from memglot.formats.syntax.yaml_writer import dump
from memglot.model import REPLACEMENT, Item, Record, Thing, check_value, derive_id, format_time, mark_as_note
from memglot.model.record_errors import empty_content
from memglot.report import Report, SourceReport

BYTES_KEY, PLACE = "agentos-markdown.note", "agentos-markdown"
_FRONT = FRONT | {field: field for field in ("created_at", "last_accessed", "retrieval_count")}


def recognise_folder(glimpse: Glimpse) -> bool:
    """Return True if a note of the folder is AgentOS's."""
    return any(map(is_agentos_note, glimpse.heads(".md")))


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the trace of one note."""
    path = "/".join(source.path.parts[-3:]) if source.path else "note.md"
    yield from read_folder([(path, source)], "", report, options)


def read_folder(
    files: Iterable[tuple[str, Source]], name: str, report: SourceReport, options: ReadOptions
) -> Iterator[Item]:
    """Yield the traces of all notes of a folder."""
    for path, source in files:
        report.start_source(source.name)
        report.item = 1
        report.watch(source)
        try:
            yield from _items(path, source, options.space or name, report, options)
        except BrokenYaml as error:
            report.failed_record(error.error, line=error.line + 1)
        except BadRecord as error:
            report.failed_record(error)
        finally:
            source.close()


def _items(path: str, source: Source, space: str, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    raw = source.whole()
    text = decode_note(raw, source.start)
    mark = BOM.decode() if source.start else ""
    nul = nul_positions(mark + text)
    text = text.replace("\0", REPLACEMENT)
    frame = split_note(text, options.lenient, source.start)
    content = text[frame.start : frame.end]
    if not content.strip() and (not content or not frame.fenced):
        raise empty_content()
    record, *attached = read_trace(_trace(frame.front, content, path), space, NOTES, report)
    assert isinstance(record, Record)
    things: list[Thing] = [item for item in attached if not isinstance(item, Record)]
    mark_program_note(record, frame.front)
    slot = options.slots.get(path) if options.slots is not None else None
    if isinstance(slot, dict):
        things += take_slot({KEY: slot}, record, report) or []
    written = options.digests.get(path) if options.digests is not None else None
    as_written = written == sha256(source.as_stored(raw)).hexdigest()
    exact = bool(mark or nul or source.encoding)
    if exact or not _is_ours(record, things, path, text, space):
        record.extra[PLACE] = {"path": path}
        metadata = frame.front.get("metadata")
        if exact or not (as_written and isinstance(metadata, dict) and KEY in metadata):
            place = NotePlace(path="", head=mark + text[: frame.start], tail=text[frame.end :])
            place.vault = first_vault(record, BYTES_KEY, space)
            place.nul, place.encoding = nul, source.encoding
            _remember(record, place)
        if not as_written:
            mark_as_note(record, edited=written is not None)
    elif written is not None and not as_written:
        mark_as_note(record, edited=True)
    yield record
    yield from things


def _remember(record: Record, place: NotePlace) -> None:
    """Keep the text around the content of a note that memglot would write differently."""
    place.tags = record.tags
    place.of = note_digest(record, record.extra.get(TOOL))
    record.extra[BYTES_KEY] = {key: value for key, value in msgspec.to_builtins(place).items() if key != "path"}


def _trace(front: dict[str, Any], content: str, path: str) -> Trace:
    """Return the trace of a note; front matter values of an unexpected type are kept as metadata."""
    values: dict[str, Any] = {"content": content}
    rest: dict[str, Any] = {}
    for key, value in front.items():
        field = _FRONT.get(key)
        if field is None or value is None or field in ("type", "scope") and not isinstance(value, str):
            rest[key] = value
            continue
        try:
            values[field] = FIELDS[field](field, value)
        except BadRecord:
            rest[key] = value
    values.setdefault("type", type_by_folder(path, DEFAULT_TYPE))
    if rest:
        check_value(rest, "front matter")
        values["metadata"] = {**values.get("metadata", {}), **rest}
    return Trace(**values)


def _is_ours(record: Record, attached: list[Thing], path: str, text: str, space: str) -> bool:
    """Return True if memglot would write exactly this note in one of its dialects."""
    for dialect in (None, "program"):
        options = WriteOptions(dialect=dialect, space=space)
        found, trace = _layout((record, attached, False), Report(), options, space)
        if found == path and found == _layout_path(trace, record, options):
            return _text(trace, options) == text or _text(trace, WriteOptions(dialect=dialect, plain=True)) == text
    return False


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write a folder of notes by type; in the program's dialect, by scope and type."""
    if target.path is None:
        raise NeedsFolder("agentos-markdown", "standard output")
    space = options.space or target.path.resolve().name
    with open_note_folder(target, digest_file, plain=options.plain) as notes:
        writer = _FolderWriter(NoteFiles(notes, target.path, space), report, options, space)
        for bundle in bundles(items, notes, report):
            writer.add(bundle)
        writer.finish()
        report.proof = notes.finish("agentos-markdown", report)


class _FolderWriter:
    """Writes notes where they were read, then those of other memories."""

    def __init__(self, files: NoteFiles, report: Report, options: WriteOptions, space: str) -> None:
        self._files, self._report, self._options, self._space = files, report, options, space

    def add(self, bundle: Bundle) -> None:
        """Write the note of a memory that was one, or postpone it."""
        record, attached, _ = bundle
        own, others = places_of(record, PLACE, BYTES_KEY)
        self._files.later(others, record.content)
        path = self._files.keep(own.path, own.vault) if own is not None else None
        if path is None:
            place = own.path if own is not None and is_note_path(own.path) else ""
            self._files.postponed.append(place, record, attached)
        elif own is not None and is_unchanged(record) and _can_be_read(own, record.content):
            slot = note_slot(record, {PLACE, TOOL}, BYTES_KEY)
            slot = pack_found(slot, record, attached, self._report, self._options.plain)
            self._files.put(path, own.data(record.content), slot)
        else:
            self._write(path, self._layout(record, attached)[1])

    def finish(self) -> None:
        """Write the notes that were postponed."""
        self._files.put_places()
        for path, record, attached in self._files.postponed:
            default, trace = self._layout(record, attached)
            self._write(self._files.make(path or default), trace)
        self._files.close()

    def _layout(self, record: Record, attached: list[Thing]) -> tuple[str, Trace]:
        extra = {key: value for key, value in record.extra.items() if key not in (PLACE, BYTES_KEY)}
        bare = msgspec.structs.replace(record, extra=extra)
        return _layout((bare, attached, False), self._report, self._options, self._space)

    def _write(self, path: str, trace: Trace) -> None:
        self._files.put(path, _text(trace, self._options).encode())
        if self._options.dialect is None and trace.created_at is not None:
            self._report.note(NOTE_TIMES)


def is_unchanged(record: Record) -> bool:
    """Return True if a memory still equals its note as it was read."""
    return is_as_read(record, PLACE, BYTES_KEY, record.extra.get(TOOL))


def _can_be_read(place: NotePlace, content: str) -> bool:
    """Return True if the kept text around a content is still that of a note; another tool may have damaged it."""
    head = place.head.removeprefix(BOM.decode())
    try:
        return split_note(head + content + place.tail, False, 0).start == len(head)
    except (BrokenYaml, BadRecord):
        return False


def _layout(bundle: Bundle, report: Report, options: WriteOptions, space: str) -> tuple[str, Trace]:
    # Notes cannot store keys that AgentOS does not know, so these are carried.
    trace = trace_from_record(bundle, space, NOTES, report, plain=options.plain, known=_Everything())
    return _layout_path(trace, bundle[0], options), trace


class _Everything:
    """A container of all keys."""

    def __contains__(self, key: object) -> bool:
        return True


def _layout_path(trace: Trace, record: Record, options: WriteOptions) -> str:
    name = safe_name(trace.id)
    if name != trace.id:
        name += f"-{derive_id(TOOL, 'name', trace.id)[-8:]}"
    path = f"{safe_name(trace.type)}/{name}.md"
    return f"{safe_name(trace.scope)}/{path}" if options.dialect == "program" else path


def _text(trace: Trace, options: WriteOptions) -> str:
    time = _milliseconds if options.dialect == "program" else format_time
    front: dict[str, Any] = {"id": trace.id, "type": trace.type, "scope": trace.scope}
    if trace.strength is not None:
        front["strength"] = trace.strength
    front["tags"] = trace.tags
    if trace.created_at is not None:
        front["createdAt"] = time(trace.created_at)
    if trace.emotions:
        front["emotions"] = trace.emotions
    if trace.last_accessed is not None:
        front["lastAccessed"] = time(trace.last_accessed)
    if trace.retrieval_count:
        front["retrievalCount"] = trace.retrieval_count
    if trace.metadata:
        front["metadata"] = trace.metadata
    return f"---\n{dump(front)}---\n\n{trace.content}\n"


def _milliseconds(at: int) -> int:
    return at // 1000


FORMAT = Format(
    name="agentos-markdown",
    title="AgentOS Markdown, a trace a note",
    tool=TOOL,
    family="markdown",
    extensions=(".md", ".markdown"),
    fields=NATIVE_FIELDS,
    carry="metadata.memglot",
    read=read,
    write=write,
    dedup="content",
    conflict="merge",
    recognise=is_agentos_note,
    dialects=("program",),
    folder=FolderSupport(read_files=read_folder, recognise=recognise_folder, digest_file=digest_file),
    writing=WriteSupport(makes_folder=True, needs_ids=True),
    merging=MergeSupport(
        by_hand=True,
        source=PLACE,
        defaults=TOOL_DEFAULTS,
        bookkeeping=note_bookkeeping(PLACE),
    ),
)
