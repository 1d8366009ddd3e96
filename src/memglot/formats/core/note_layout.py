"""How a note comes back as it was: the text around its content, kept while the memory says what the note said."""

from __future__ import annotations

from collections.abc import Container
from hashlib import sha256
from typing import Any

import msgspec

from memglot.model import Record, canonical_value, to_builtins

_MIRRORED = (
    *("title", "kind", "scope", "tree", "triggers", "meta", "temporal", "status", "strength"),
    *("confidence", "last_accessed", "access_count", "source"),
)


class NotePlace(msgspec.Struct, omit_defaults=True):
    """Where a note lies, and what its file has before and after the content."""

    path: str
    head: str = ""
    tail: str = ""
    of: str = ""
    tags: list[str] = []
    empty: bool = False
    vault: str = ""

    def text(self, content: str) -> str:
        """The file of the note with this content."""
        return self.head + ("" if self.empty else content) + self.tail


def mirror(record: Record, own: Any = None) -> str:
    """A short digest of all that a note says of its memory, save its tags, which doubles may add to."""
    whole = sha256(record.content.encode())
    whole.update(canonical_value([*(getattr(record, field) for field in _MIRRORED), own]))
    return whole.hexdigest()[:16]


def places_of(record: Record, tool: str, residue: str) -> list[NotePlace]:
    """The notes of a memory, its own first; what is no place is passed over."""
    own = record.extra.get(tool)
    if not isinstance(own, dict):
        return []
    around = record.extra.get(residue)
    found = [{"path": own.get("path"), **(around if isinstance(around, dict) else {})}]
    found += own["places"] if isinstance(own.get("places"), list) else []
    places = []
    for value in found:
        try:
            places.append(msgspec.convert(value, NotePlace))
        except msgspec.ValidationError:
            continue
    return places


def is_untouched(record: Record, places: list[NotePlace], own: Any = None) -> bool:
    """Tell whether the memory still says what its first note says."""
    tags = {tag for place in places for tag in place.tags}
    return bool(places[0].of) and places[0].of == mirror(record, own) and set(record.tags) == tags


def first_vault(record: Record, residue: str, vault: str) -> str:
    """The vault that a note was first read from, which a folder's proof carries; else the present one."""
    carried = record.extra.get(residue)
    first = carried.get("vault") if isinstance(carried, dict) else None
    return first if isinstance(first, str) else vault


def note_slot(record: Record, told: Container[str], residue: str) -> dict[str, Any]:
    """What a note that stays as it is cannot say: its ids, its times, and what other tools keep of it.

    `told` are the keys of `extra` that a reader finds out by itself.
    """
    found: dict[str, Any] = {"id": record.id, "created_at": record.created_at}
    if record.updated_at != record.created_at:
        found["updated_at"] = record.updated_at
    if record.foreign:
        found["foreign"] = to_builtins(record.foreign)
    if record.clocks:
        found["clocks"] = record.clocks
    extra = {key: value for key, value in record.extra.items() if key not in told and key != residue}
    around = record.extra.get(residue)
    if isinstance(around, dict) and "vault" in around:
        extra[residue] = {"vault": around["vault"]}
    if extra:
        found["extra"] = extra
    return found
