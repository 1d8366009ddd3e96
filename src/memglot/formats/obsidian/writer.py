"""Writer of a vault: unchanged notes as they were, others rendered, with links between them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from memglot.disk import DiskGroups, DiskList, DiskMap
from memglot.formats.base import WriteOptions
from memglot.formats.core.carry import Bundle, pack_found
from memglot.formats.core.file_names import safe_name
from memglot.formats.core.note_files import BundleList, NoteFiles, digest_file, is_note_path
from memglot.formats.core.note_folder import NoteFolder
from memglot.formats.core.note_layout import NotePlace, is_as_read, note_slot, places_of
from memglot.formats.core.sidecar import decode_item, encode_item
from memglot.formats.core.trace import NOTE_TIMES, is_from_agentos, written_id
from memglot.formats.obsidian.chat_names import ChatPaths, chat_name, conversation_of
from memglot.formats.obsidian.conversation_note import layout_of, render_conversation
from memglot.formats.obsidian.links import is_in_text
from memglot.formats.obsidian.note import BYTES_KEY, TOOL, default_path, split_body
from memglot.formats.obsidian.patch import patch, retag
from memglot.formats.obsidian.reader import ImportedNotes, own_state
from memglot.formats.obsidian.render import RenderOptions, is_empty, render
from memglot.model import Blob, Item, Record, Relation, Thing
from memglot.report import Report

_LONGEST = 80


class VaultWriter:
    """Writes memories as notes; those with related notes wait until all notes have names."""

    def __init__(self, notes: NoteFolder, folder: Path, vault: str, report: Report, options: WriteOptions) -> None:
        self._notes, self._vault, self._report, self._options = notes, vault, report, options
        self._files = NoteFiles(notes, folder, vault)
        self._names = DiskMap()
        self._waiting = BundleList()
        self._bytes: DiskList[Any] = DiskList()
        self._imported = ImportedNotes(folder, vault)
        self._chats = ChatPaths(self._files, notes.names_before)

    def add_leftover(self, item: Item, report: Report) -> None:
        """Keep a note that is not text for its path, and any other item without a note."""
        path = item.row.get("path") if isinstance(item, Blob) and isinstance(item.row, dict) else None
        if isinstance(item, Blob) and (item.tool, item.table) == (TOOL, "notes") and isinstance(path, str):
            # It is written only if no memory uses the path: the note may be text by now.
            vault = item.key.removesuffix(path).removesuffix("/")
            self._bytes.append({"path": path, "vault": vault, "data": b64encode(item.data or b"").decode()})
        self._notes.add_leftover(item, report)

    def add(self, bundle: Bundle) -> None:
        """Write the note of a memory that was one, or postpone it."""
        record, attached, _ = bundle
        own, others = places_of(record, TOOL, BYTES_KEY)
        if others and not is_unchanged(record):
            others = [retag(place, record) for place in others]
            # Otherwise a reader would take the other notes for another memory.
            self._files.later(others, record.content, {"kind": record.kind, "scope": record.scope})
        else:
            self._files.later(others, record.content)
        path = self._files.keep(own.path, own.vault) if own is not None else None
        if path is None:
            fallback = default_path(record, written_id(record), self._options.dialect)
            place = own.path if own is not None and is_note_path(own.path) else fallback
            self._files.postponed.append(place, record, attached)
            return
        assert own is not None
        self._name(record, path, path.rpartition(".")[0])
        fresh = [item for item in attached if isinstance(item, Relation) and not is_in_text(item)]
        if not fresh and is_unchanged(record):
            rest: list[Thing] = [item for item in attached if not isinstance(item, Relation)]
            content = "" if is_empty(record) else record.content
            slot = note_slot(record, {TOOL, "agentos"}, BYTES_KEY)
            slot = pack_found(slot, record, rest, self._report, self._options.plain)
            self._files.put(path, own.data(content), slot)
        else:
            self._write(path, record, attached)

    def finish(self) -> None:
        """Write the notes that were postponed."""
        for value in self._bytes:
            self._files.raw(NotePlace(path=value["path"], vault=value["vault"]), b64decode(value["data"]))
        self._files.put_places()
        if self._options.one_note_per is not None:
            self._write_conversations()
        for _, record, _ in self._files.postponed:
            if self._is_chat(record) and self._options.one_note_per is None:
                legacy = default_path(record, written_id(record))
                self._chats.keep(record, legacy if self._notes.was_written(legacy) else None)
        self._chats.keep_rest()
        for path, record, attached in self._files.postponed:
            is_chat = self._is_chat(record)
            if is_chat and self._options.one_note_per is not None:
                continue
            path = self._chats.path_of(record) if is_chat else self._files.make(path)
            # The name of a chat's note is not unique.
            self._name(
                record, path, path.removesuffix(".md") if is_chat else path.rpartition("/")[2].rpartition(".")[0]
            )
            self._notes.add_name(record.id, path)
            self._write(path, record, attached)
        self._chats.close()
        for path, record, attached in self._waiting:
            self._render(path, record, attached, self._related(attached, _related_before(record)))
        self._files.close()
        self._names.close()
        self._imported.close()

    def _write_conversations(self) -> None:
        """Write each conversation as one note, in the order of their first memories."""
        conversations = DiskGroups()
        order: dict[str, None] = {}
        for _, record, attached in self._files.postponed:
            if self._is_chat(record):
                key = str(conversation_of(record))
                order[key] = None
                conversations.add(key, [encode_item(item).decode() for item in (record, *attached)])
        for key in order:
            bundles: list[tuple[Record, list[Thing]]] = []
            for lines in conversations.get(key):
                memory, *others = (decode_item(line.encode()) for line in lines)
                assert isinstance(memory, Record)
                bundles.append((memory, [item for item in others if not isinstance(item, Record)]))
            self._write_conversation(bundles)
        conversations.close()

    def _write_conversation(self, bundles: list[tuple[Record, list[Thing]]]) -> None:
        layout = next((found for record, _ in bundles if (found := layout_of(record)) is not None), None)
        known = [layout.path] if layout is not None and is_note_path(layout.path) else []
        before = self._notes.names_before
        known += [path for record, _ in bundles if (path := before.get(record.id)) is not None and path.count("/") == 1]
        first = bundles[0][0]
        path = next((kept for path in dict.fromkeys(known) if (kept := self._files.keep(path)) is not None), None)
        if path is None:
            path = self._files.make(f"{safe_name(first.kind)}/{chat_name(first)}.md")
        head = layout.head if layout is not None else ""
        text = render_conversation(bundles, head, self._report, plain=self._options.plain)
        seen = layout.seen if layout is not None else ""
        self._files.put(path, text.encode(), is_known=lambda place: _starts_with(digest_file(place), seen))
        self._notes.count += len(bundles) - 1
        for record, _ in bundles:
            self._notes.add_name(record.id, path)

    def _is_chat(self, record: Record) -> bool:
        """Return True for a memory of a chat without a note of its own. AgentOS's program wants ids as names."""
        own, _ = places_of(record, TOOL, BYTES_KEY)
        has_place = own is not None and is_note_path(own.path)
        return self._options.dialect is None and conversation_of(record) is not None and not has_place

    def _name(self, record: Record, path: str, link: str) -> None:
        self._names[record.id] = [link, _description(record)]

    def _write(self, path: str, record: Record, attached: list[Thing]) -> None:
        """Write a note, or let it wait until the notes that it links to have names."""
        fresh = (item for item in attached if isinstance(item, Relation) and not is_in_text(item))
        if any(not relation.object.entity for relation in fresh):
            self._waiting.append(path, record, attached)
        else:
            self._render(path, record, attached, _related_before(record))

    def _related(self, attached: list[Thing], before: str) -> str:
        """Return one line per related note, after the existing lines."""
        lines = before.split("\n") if before else []
        for relation in attached:
            if isinstance(relation, Relation) and not relation.object.entity and not is_in_text(relation):
                found = self._names.get(relation.object.id)
                if found is not None and not any(line.startswith(f"- [[{found[0]}]]") for line in lines):
                    lines.append(f"- [[{found[0]}]]" + (f" — {found[1]}" if found[1] else ""))
        return "\n".join(dict.fromkeys(lines))

    def _render(self, path: str, record: Record, attached: list[Thing], related: str) -> None:
        own, _ = places_of(record, TOOL, BYTES_KEY)
        is_known = None if own is None else partial(self._imported.has_note, own, path)
        if own is not None:
            own = msgspec.structs.replace(own, path=path)
            fresh = related if related != _related_before(record) else ""
            patched = patch(record, attached, own, fresh, self._vault, self._report, plain=self._options.plain)
            if patched is not None:
                self._files.put(path, *patched, is_known=is_known)
                return
        layout = RenderOptions(path, self._vault, self._options.dialect, self._options.plain)
        text = render(record, attached, related, layout, self._report)
        self._files.put(path, text.encode(), is_known=is_known)
        if self._options.dialect is None and record.created_at and is_from_agentos(record):
            self._report.note(NOTE_TIMES)


def _starts_with(digest: str | None, start: str) -> bool:
    return digest is not None and bool(start) and digest.startswith(start)


def _related_before(record: Record) -> str:
    """Return the lines of related notes that a person wrote below a note that is rendered again."""
    own, _ = places_of(record, TOOL, BYTES_KEY)
    tail = own.tail.replace("\r\n", "\n").removesuffix("\n") if own is not None else ""
    return split_body("x" + tail, [], ["related"]).related


def is_unchanged(record: Record) -> bool:
    """Return True if a memory still equals its note as it was read."""
    return is_as_read(record, TOOL, BYTES_KEY, own_state(record))


def _description(record: Record) -> str:
    """Return the title or first line of a memory, without characters that break a link."""
    text = record.title or record.content.strip().partition("\n")[0]
    text = " ".join(text.translate(_BRACKETS).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


_BRACKETS = str.maketrans("[]|", "()/")
