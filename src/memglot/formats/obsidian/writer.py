"""Writer of a vault: unchanged notes as they were, others rendered, with links between them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

from memglot.disk import DiskList, DiskMap
from memglot.formats.base import WriteOptions
from memglot.formats.core.carry import Bundle, pack_found
from memglot.formats.core.file_names import safe_name
from memglot.formats.core.note_files import NoteFiles
from memglot.formats.core.note_folder import NoteFolder
from memglot.formats.core.note_layout import NotePlace, has_note_values, note_slot, places_of
from memglot.formats.core.sidecar import decode_item, encode_item
from memglot.formats.core.trace import NOTE_TIMES, is_from_agentos, written_id
from memglot.formats.obsidian.links import is_in_text
from memglot.formats.obsidian.note import BYTES_KEY, TOOL, default_path, split_body
from memglot.formats.obsidian.reader import own_state
from memglot.formats.obsidian.render import RenderOptions, is_empty, render
from memglot.model import Blob, Item, Record, Relation, Thing
from memglot.report import Report

_LONGEST = 80


class VaultWriter:
    """Writes memories as notes; those with related notes wait until all notes have names."""

    def __init__(self, notes: NoteFolder, folder: Path, vault: str, report: Report, options: WriteOptions) -> None:
        self._notes, self._vault, self._report, self._options = notes, vault, report, options
        self._files = NoteFiles(notes, folder)
        self._names = DiskMap()
        self._waiting: DiskList[Any] = DiskList()
        self._bytes: DiskList[Any] = DiskList()

    def add_leftover(self, item: Item, report: Report) -> None:
        """Keep a note that is not text for its path, and any other item without a note."""
        path = item.row.get("path") if isinstance(item, Blob) and isinstance(item.row, dict) else None
        if isinstance(item, Blob) and (item.tool, item.table) == (TOOL, "notes") and isinstance(path, str):
            # It is written only if no memory uses the path: the note may be text by now.
            vault = item.key.removesuffix(path).removesuffix("/")
            self._bytes.append({"path": path, "vault": vault, "data": b64encode(item.data or b"").decode()})
        self._notes.add_leftover(item, report)

    def add(self, bundle: Bundle) -> None:
        """Write a memory's note, or postpone it."""
        record, attached, _ = bundle
        places = places_of(record, TOOL, BYTES_KEY)
        fallback = default_path(record, written_id(record), self._options.dialect)
        place = places[0] if places else NotePlace(path=fallback)
        path = self._files.free(place.path, fallback, place.vault)
        link = path.rpartition(".")[0] if places else path.rpartition("/")[2].rpartition(".")[0]
        self._names[record.id] = [link, _description(record)]
        self._files.later(places[1:], record.content, fallback)
        fresh = [item for item in attached if isinstance(item, Relation) and not is_in_text(item)]
        if places and path == places[0].path and not fresh and is_unchanged(record):
            rest: list[Thing] = [item for item in attached if not isinstance(item, Relation)]
            content = "" if is_empty(record) else record.content
            slot = note_slot(record, {TOOL, "agentos"}, BYTES_KEY)
            slot = pack_found(slot, record, rest, self._report, self._options.plain)
            self._files.put(path, places[0].data(content), slot)
        elif any(not relation.object.entity for relation in fresh):
            lines = [encode_item(item).decode() for item in (record, *attached)]
            self._waiting.append({"path": path, "lines": lines, "related": _related_before(places)})
        else:
            self._write(path, record, attached, _related_before(places))

    def finish(self) -> None:
        """Write the postponed notes."""
        for value in self._waiting:
            record, *attached = (decode_item(line.encode()) for line in value["lines"])
            assert isinstance(record, Record)
            things: list[Thing] = [item for item in attached if not isinstance(item, Record)]
            self._write(value["path"], record, things, self._related(things, value["related"]))
        for value in self._bytes:
            place = NotePlace(path=value["path"], vault=value["vault"])
            self._files.raw(place, b64decode(value["data"]), f"{safe_name(value['path'])}.md")
        self._files.finish()
        self._names.close()

    def _related(self, attached: list[Thing], before: str) -> str:
        """Return one line per related note, after the existing lines."""
        lines = before.split("\n") if before else []
        for relation in attached:
            if isinstance(relation, Relation) and not relation.object.entity and not is_in_text(relation):
                found = self._names.get(relation.object.id)
                if found is not None and not any(line.startswith(f"- [[{found[0]}]]") for line in lines):
                    lines.append(f"- [[{found[0]}]]" + (f" — {found[1]}" if found[1] else ""))
        return "\n".join(dict.fromkeys(lines))

    def _write(self, path: str, record: Record, attached: list[Thing], related: str) -> None:
        layout = RenderOptions(path, self._vault, self._options.dialect, self._options.plain)
        text = render(record, attached, related, layout, self._report)
        self._files.put(path, text.encode())
        if self._options.dialect is None and record.created_at and is_from_agentos(record):
            self._report.note(NOTE_TIMES)


def _related_before(places: list[NotePlace]) -> str:
    """Return the lines of related notes that a person wrote below a note that is rendered again."""
    tail = places[0].tail.replace("\r\n", "\n").removesuffix("\n") if places else ""
    return split_body("x" + tail, [], ["related"]).related


def is_unchanged(record: Record) -> bool:
    """Return True if a memory still equals its note as it was read."""
    places = places_of(record, TOOL, BYTES_KEY)
    return bool(places) and has_note_values(record, places, own_state(record))


def _description(record: Record) -> str:
    """Return the title or first line of a memory, without characters that break a link."""
    text = record.title or record.content.strip().partition("\n")[0]
    text = " ".join(text.translate(_BRACKETS).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


_BRACKETS = str.maketrans("[]|", "()/")
