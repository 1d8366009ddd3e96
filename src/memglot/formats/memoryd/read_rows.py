"""Read a row of `memories[]` written by the page, memoryd, mcp-memory-service or memglot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from memglot.errors import BadRecord
from memglot.formats.core.carry import KEY, take_slot
from memglot.formats.core.original_text import original_content, repair_content
from memglot.formats.core.sidecar import kind_name
from memglot.formats.core.vectors import numbers_of, vector_of
from memglot.formats.memoryd.chunks import has_chunk, read_chunk
from memglot.formats.memoryd.encryption import Cipher, cannot_open, needs_passphrase
from memglot.formats.memoryd.tool_keys import EMPTY, MEMORYD, ROW_DETAILS, SERVICE, RowLinks, read_tool_keys
from memglot.formats.memoryd.values import hash_matches, is_milliseconds, parse_tags, row_times, seconds
from memglot.formats.syntax.json_shape import type_name
from memglot.model import (
    DEFAULT_SCOPE,
    FIELDS,
    Embedding,
    Record,
    Thing,
    check_content,
    check_id,
    check_record,
    check_text,
    check_tree,
    set_times_from_id,
)
from memglot.model.fingerprints import fingerprints
from memglot.model.record_errors import bad_syntax, missing_content, not_an_object, wrong_type
from memglot.report import Report, SourceReport

ENCRYPTED = "sealed"
REPEATS = "repeats"
"""Slot key that lists the keys of `metadata` that only repeat the row."""
UNTAGGED = ["untagged"]
BASE = "base"
"""Slot key of the fingerprints of what the row itself says."""
OTHER_KIND = "observation"
"""What mcp-memory-service makes of a type that it does not know."""
_SIMPLE = frozenset({"id", "tree", "kind", "scope", "title", "updated_at"})
_SHOWN = {"scope": ("scope",), "frontmatter": ("title", "triggers")}
"""Keys of a row that show fields of the slot to other readers."""
_USUAL = 10_000_000_000.0
_EMERGENCY = {"hash": "content_hash", "type": "memory_type"}


@dataclass
class RowContext:
    """Facts about a file that its rows depend on."""

    path: Path | None = None
    """Path of the file; its chunks are next to it."""
    strict: bool = False
    """True if the file says that memoryd wrote it; its hashes are then checked."""
    ours: bool = False
    emergency: bool = False
    at: int = 0
    cipher: Cipher | None = None
    lacks_encryption_block: bool = False
    """True if the file does not describe its encryption."""
    links: RowLinks = field(default_factory=list)
    """Relations and supersessions found in rows, for the reader to yield after all sections."""


def read_row(row: Any, file: RowContext, report: SourceReport) -> tuple[Record, list[Thing]]:
    """Return the record of a row and its attached items; raise `BadRecord`."""
    if not isinstance(row, dict):
        raise not_an_object(type_name(row))
    if file.emergency:
        row = {_EMERGENCY.get(key, key): value for key, value in row.items()}
    row, bound = _decrypted(row, file, report)
    content = _content(row, file, report, bound)
    record = Record(content=content or _title(row), tags=parse_tags(row.get("tags")))
    repair_content(record, MEMORYD)
    check_content(record.content)
    kind = row.get("memory_type")
    if isinstance(kind, str) and kind:
        record.kind = kind
    _set_times(record, row, report)
    _set_meta(record, row)
    attached: list[Thing] | None = None
    if KEY in record.meta:
        attached = _own(record, row, report)
        record.is_from_memglot = file.ours
    if attached is None:
        attached = []
        read_tool_keys(record, row, file.links, strict=file.strict)
        if not content:
            record.extra[ROW_DETAILS] = {**record.extra.get(ROW_DETAILS, {}), EMPTY: True}
        check_record(record)
    if row.get("sensitive") is True or row.get("encrypted") is True:
        report.inputs.sensitive.add(record.scope)
    return record, [*_vector(record, row, report), *attached]


def _decrypted(row: dict[str, Any], file: RowContext, report: SourceReport) -> tuple[dict[str, Any], bool]:
    """Return a row with its encrypted fields decrypted, and True if it had any."""
    metadata = row.get("metadata")
    slot = metadata.get(KEY) if isinstance(metadata, dict) else None
    if not isinstance(slot, dict) or ENCRYPTED not in slot:
        return row, False
    if file.cipher is None:
        raise _not_decrypted(file, report)
    text = file.cipher.decrypt(slot[ENCRYPTED], str(row.get("id")))
    try:
        inner = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise bad_syntax("JSON", str(error)) from None
    if not isinstance(inner, dict):
        raise cannot_open("it does not contain a memory")
    return {**row, **inner}, True


def _not_decrypted(file: RowContext, report: SourceReport) -> BadRecord:
    if file.lacks_encryption_block:
        return BadRecord("it is encrypted, but the file has no `encryption` block")
    report.inputs.undecrypted += 1
    return needs_passphrase()


def _content(row: dict[str, Any], file: RowContext, report: SourceReport, bound: bool) -> str:
    """Return the body of a row after checking its hash.

    An encrypted or separately stored body is authenticated by itself, so a different hash is only noted. If the hash
    was encrypted with the id (`bound`), a different hash means that the body belongs to another memory.
    """
    given = row.get("content_hash")
    content = _stored_apart(row, file, report)
    if content is not None:
        if given not in (None, "") and not hash_matches(content, given):
            if bound:
                raise _wrong_hash()
            if file.strict:
                report.note(f"{report.source} has valid bodies whose `content_hash` does not match")
        return content
    if "content" not in row:
        raise missing_content()
    if not isinstance(row["content"], str):
        raise wrong_type("content", "text", type_name(row["content"]))
    found: str = row["content"]
    if file.strict and given not in (None, "") and found and not hash_matches(found, given):
        raise _wrong_hash()
    return found


def _title(row: dict[str, Any]) -> str:
    """Return the title of a row, which is the content of a memory without a body; empty if there is none."""
    front, metadata = row.get("frontmatter"), row.get("metadata")
    slot = metadata.get(KEY) if isinstance(metadata, dict) else None
    found = (place.get("title") for place in (slot, front, metadata) if isinstance(place, dict))
    return next((title for title in found if isinstance(title, str) and title), "")


def _stored_apart(row: dict[str, Any], file: RowContext, report: SourceReport) -> str | None:
    """Return a body that is encrypted or in a file of its own."""
    if row.get("cipher_blob"):
        if file.cipher is None:
            raise _not_decrypted(file, report)
        try:
            return file.cipher.decrypt(row["cipher_blob"]).decode("utf-8")
        except UnicodeDecodeError:
            raise cannot_open("it is not valid UTF-8") from None
    return read_chunk(row, file.path) if not row.get("content") and has_chunk(row) else None


def _set_times(record: Record, row: dict[str, Any], report: SourceReport) -> None:
    first, last = row.get("created_at"), row.get("updated_at")
    if type(first) is float and type(last) is float and 0 < first < _USUAL and 0 < last < _USUAL:
        # The fast path for nearly every row.
        record.created_at, record.updated_at = round(first * 1_000_000), round(last * 1_000_000)
        return
    record.created_at, record.updated_at = row_times(row)
    if is_milliseconds(row.get("created_at")) or is_milliseconds(row.get("updated_at")):
        report.note(f"{report.source} has times that were read as milliseconds")


def _set_meta(record: Record, row: dict[str, Any]) -> None:
    metadata = row.get("metadata")
    if isinstance(metadata, str) and metadata.lstrip()[:1] == "{":
        try:
            metadata = msgspec.json.decode(metadata)
        except (msgspec.DecodeError, RecursionError):
            pass
    if isinstance(metadata, dict):
        record.meta = dict(metadata)
    elif metadata not in (None, ""):
        record.extra[SERVICE] = {"metadata": metadata}


def _own(record: Record, row: dict[str, Any], report: SourceReport) -> list[Thing] | None:
    """Apply the carry slot of a row that memglot wrote; return `None` if the slot is not ours."""
    slot = record.meta[KEY]
    if not isinstance(slot, dict) or not isinstance(slot.get("id"), str):
        return None
    if record.tags == UNTAGGED and slot.get("tags") != UNTAGGED:
        # mcp-memory-service adds this tag to memories without tags.
        record.tags = []
    if isinstance(repeats := slot.pop(REPEATS, None), list):
        record.meta = {key: value for key, value in record.meta.items() if key not in repeats or key == KEY}
    known, base = slot.get("updated_at"), slot.get(BASE)
    is_edited = isinstance(known, int) and record.updated_at > known and seconds(known) != row.get("updated_at")
    if isinstance(base, dict):
        if is_edited:
            record.modified_at = record.updated_at
        slot = record.meta[KEY] = _compare(record, row, slot)
        if BASE not in slot and slot.keys() <= _SIMPLE:
            return _apply_simple_slot(record, slot)
    elif slot.keys() <= _SIMPLE and all(isinstance(value, str) for value in slot.values()):
        return _apply_simple_slot(record, slot)
    elif is_edited:
        # Another tool edited it since: fields that the tool can edit get the new time.
        rest = {name: value for name, value in slot.items() if name not in ("updated_at", "clocks")}
        clocks = slot.get("clocks")
        if isinstance(clocks, dict):
            mine = {name: at for name, at in clocks.items() if name.partition(".")[0] not in ("kind", "meta")}
            rest["clocks"] = mine
        record.meta[KEY] = rest
    return take_slot(record.meta, record, report)


def _compare(record: Record, row: dict[str, Any], slot: dict[str, Any]) -> dict[str, Any]:
    """Return the slot of a row with what the row itself must say; without that if no tool edited the row."""
    # mcp-memory-service drops the keys that it does not know, which is not an edit.
    dropped = {name for key, names in _SHOWN.items() if key not in row for name in names}
    base = {name: value for name, value in slot[BASE].items() if name not in dropped}
    slot = _without_renderings(record, slot)
    show_row(record, row)
    if visible_values(record) != base:
        return {**slot, BASE: base}
    record.tool_edits = {}
    return {name: value for name, value in slot.items() if name != BASE}


def show_row(record: Record, row: dict[str, Any]) -> None:
    """Set the fields that a row with a slot shows to other readers."""
    front = row["frontmatter"] if isinstance(row.get("frontmatter"), dict) else {}
    scope, title, triggers = row.get("scope"), front.get("title"), front.get("triggers")
    record.scope = scope if isinstance(scope, str) else DEFAULT_SCOPE
    record.title = title if isinstance(title, str) else None
    valid = isinstance(triggers, list) and all(isinstance(word, str) for word in triggers)
    record.triggers = list(dict.fromkeys(triggers)) if isinstance(triggers, list) and valid else []


def visible_values(record: Record) -> dict[str, str]:
    """Return the fingerprints of what a row itself says."""
    meta = {key: value for key, value in record.meta.items() if key != KEY}
    return fingerprints(msgspec.structs.replace(record, meta=meta, source={}, extra={}))


def _without_renderings(record: Record, slot: dict[str, Any]) -> dict[str, Any]:
    """Undo what mcp-memory-service makes of types and tags that it cannot store, which is not an edit."""
    if record.kind == OTHER_KIND and isinstance(kind := slot.get("kind"), str):
        record.kind = kind
    tags = slot.get("tags")
    if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
        parts = {part.strip() for tag in tags for part in tag.split(",")} - {""}
        if parts <= set(record.tags):
            record.tags = [*tags, *(tag for tag in record.tags if tag not in parts and tag not in tags)]
            return {name: value for name, value in slot.items() if name != "tags"}
    return slot


def _apply_simple_slot(record: Record, slot: dict[str, Any]) -> list[Thing]:
    """Apply a slot with only text fields and a time, as most slots are."""
    record.id = check_id(slot["id"])
    record.updated_at = slot.get("updated_at", record.updated_at)
    record.tree = check_tree(slot.get("tree", ""))
    record.kind = check_text(slot.get("kind", record.kind), "kind")
    record.scope = check_text(slot.get("scope", record.scope), "scope")
    for tag in record.tags:
        check_text(tag, "tags")
    if "title" in slot:
        record.title = check_text(slot["title"], "title")
    del record.meta[KEY]
    set_times_from_id(record)
    record.is_carried = True
    return []


def _vector(record: Record, row: dict[str, Any], report: SourceReport) -> list[Thing]:
    numbers = row.get("embedding")
    if not isinstance(numbers, list) or not numbers:
        return []
    try:
        vector = vector_of(numbers) if all(type(number) in (int, float) for number in numbers) else b""
    except (TypeError, OverflowError):
        vector = b""
    found = numbers_of(vector) if vector else None
    if found is None:
        # It cannot be searched as a vector; it is kept and written again unchanged.
        record.extra[SERVICE] = {**record.extra.get(SERVICE, {}), "embedding": numbers}
        return []
    if found != numbers:
        report.dropped("embedding (digits beyond single precision)", record.id)
    model = row.get("embedding_model")
    name = model if isinstance(model, str) else ""
    return [Embedding(record=record.id, vector=vector, dimensions=len(numbers), model=name)]


def report_losses(record: Record, row: dict[str, Any], attached: Sequence[Thing], report: Report) -> None:
    """Report the fields that a reader cannot get from the row."""
    found, _ = read_row({**row, "content": original_content(record, MEMORYD)}, RowContext(), SourceReport())
    for name in FIELDS:
        if getattr(found, name) != getattr(record, name):
            report.dropped(name, record.id)
    for item in attached:
        report.dropped(kind_name(item), record.id)


def _wrong_hash() -> BadRecord:
    """Return the error for a content that does not match its hash."""
    return BadRecord("`content_hash` does not match the content; one of them was altered")
