"""Restore notes byte for byte: keep the text around the content while the memory is unchanged."""

from __future__ import annotations

import re
from collections.abc import Container
from hashlib import sha256
from typing import Any

import msgspec

from memglot.formats.core.encoding import encode_text
from memglot.model import REPLACEMENT, Record, canonical_value, to_builtins

_DIGESTED = (
    "title",
    "kind",
    "scope",
    "tree",
    "triggers",
    "meta",
    "temporal",
    "status",
    "strength",
    "confidence",
    "last_accessed",
    "access_count",
    "source",
)


class NotePlace(msgspec.Struct, omit_defaults=True):
    """The path of a note, and the text of its file before and after the content."""

    path: str
    head: str = ""
    tail: str = ""
    of: str = ""
    tags: list[str] = []
    empty: bool = False
    vault: str = ""
    nul: list[int] = []
    """Positions of NUL characters in the text, where the memory has U+FFFD."""
    encoding: str = ""
    """Encoding of the file, if it is not UTF-8."""

    def data(self, content: str) -> bytes:
        """Return the bytes of the note with this content."""
        text = self.head + ("" if self.empty else content) + self.tail
        for at in self.nul:
            if text[at : at + 1] == REPLACEMENT:
                text = f"{text[:at]}\0{text[at + 1 :]}"
        return encode_text(text, self.encoding)


def nul_positions(text: str) -> list[int]:
    """Return the positions of the NUL characters in the text of a note."""
    return [match.start() for match in re.finditer("\0", text)] if "\0" in text else []


def note_digest(record: Record, own: Any = None) -> str:
    """Return a short digest of all values in a note except its tags, which duplicates may extend."""
    digest = sha256(record.content.encode())
    digest.update(canonical_value([*(getattr(record, field) for field in _DIGESTED), own]))
    return digest.hexdigest()[:16]


def places_of(record: Record, tool: str, bytes_key: str) -> tuple[NotePlace | None, list[NotePlace]]:
    """Return the note of a memory, if it is one, and the other notes with its text; skip values that are not valid."""
    own = record.extra.get(tool)
    if not isinstance(own, dict):
        return None, []
    around = record.extra.get(bytes_key)
    first = _place({**(around if isinstance(around, dict) else {}), "path": own.get("path")})
    others = own["places"] if isinstance(own.get("places"), list) else []
    return first, [place for value in others if (place := _place(value)) is not None]


def _place(value: Any) -> NotePlace | None:
    try:
        return msgspec.convert(value, NotePlace)
    except msgspec.ValidationError:
        return None


def is_as_read(record: Record, tool: str, bytes_key: str, own: Any = None) -> bool:
    """Return True if a memory still has the values of its note."""
    first, others = places_of(record, tool, bytes_key)
    if first is None or not first.of or first.of != note_digest(record, own):
        return False
    return set(record.tags) == {tag for place in (first, *others) for tag in place.tags}


def first_vault(record: Record, bytes_key: str, vault: str) -> str:
    """Return the vault that a note was first read from, which a folder's proof carries; otherwise this one."""
    carried = record.extra.get(bytes_key)
    first = carried.get("vault") if isinstance(carried, dict) else None
    return first if isinstance(first, str) else vault


def note_slot(record: Record, known: Container[str], bytes_key: str) -> dict[str, Any]:
    """Return the carry slot of a note that must not change: its ids, times, and values of other tools.

    `known` are the keys of `extra` that a reader sets itself.
    """
    found: dict[str, Any] = {"id": record.id, "created_at": record.created_at}
    if record.updated_at != record.created_at:
        found["updated_at"] = record.updated_at
    if record.foreign:
        found["foreign"] = to_builtins(record.foreign)
    if record.clocks:
        found["clocks"] = record.clocks
    extra = {key: value for key, value in record.extra.items() if key not in known and key != bytes_key}
    around = record.extra.get(bytes_key)
    if isinstance(around, dict):
        # A note that was read by itself was in no vault, and the folder that it is written to is none for it either.
        extra[bytes_key] = {"vault": around.get("vault", "")}
    if extra:
        found["extra"] = extra
    return found
