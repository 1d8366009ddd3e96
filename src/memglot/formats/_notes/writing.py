"""Writes notes into a folder, each at a path of its own that the system can hold."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from memglot.formats._notes.place import Place
from memglot.formats._notes.shelf import DiskMap
from memglot.formats.folder import Notes
from memglot.report import Spool

_LONGEST = 200


def digest_file(path: Path) -> str | None:
    """The digest of a note's bytes: what must come back byte for byte is proved by its bytes."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


class NoteFiles:
    """Puts notes at the paths they ask for, or beside them where another note was first."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._taken = DiskMap()
        self._later: Spool[Any] = Spool()

    def free(self, path: str, fallback: str) -> str:
        """A path that no other note has; the one asked for, if the system can hold it."""
        path = path if can_hold(path) else fallback
        stem, dot, extension = path.rpartition(".")
        number = 1
        # Systems that do not tell upper from lower case must hold both notes too.
        while path.casefold() in self._taken:
            number += 1
            path = f"{stem} {number}{dot}{extension}"
        self._taken[path.casefold()] = 1
        return path

    def later(self, places: list[Place], content: str) -> None:
        """Write further notes of a content, once all memories have their places."""
        for place in places:
            self._later.append({"place": msgspec.to_builtins(place), "content": content})

    def finish(self) -> None:
        """Write the notes that were left for later, unless a memory of its own stands there by now."""
        for value in self._later:
            place = msgspec.convert(value["place"], Place)
            if can_hold(place.path) and place.path.casefold() not in self._taken:
                self.put(self.free(place.path, place.path), place.text(value["content"]).encode(), counts=False)
        self._taken.close()

    def put(self, path: str, text: bytes, slot: dict[str, Any] | None = None, *, counts: bool = True) -> None:
        """Write a note at a free path."""
        self._notes.put(path, text, sha256(text).digest(), slot, counts=counts)


def can_hold(path: str) -> bool:
    """Tell whether a path stays in its folder, is not hidden, and can be a file on this system."""
    parts = path.split("/")
    if "\\" in path or "\0" in path or not path.lower().endswith((".md", ".markdown")):
        return False
    return all(part and not part.startswith(".") and len(part.encode()) <= _LONGEST for part in parts)
