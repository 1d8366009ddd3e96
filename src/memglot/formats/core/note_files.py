"""Writes notes into a folder, each at a path of its own that the system can hold."""

from __future__ import annotations

import os
import tempfile
import unicodedata
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import msgspec

from memglot.disk import DiskList, DiskMap
from memglot.formats.core.note_folder import NoteFolder
from memglot.formats.core.note_layout import NotePlace

# The name of a file that is being replaced is a little longer while that goes on.
_LONGEST = 240
_DEEPEST = 40


def digest_file(path: Path) -> str | None:
    """The digest of a note's bytes: what must come back byte for byte is proved by its bytes."""
    try:
        with open(path, "rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


class NoteFiles:
    """Puts notes at the paths they ask for, or beside them where another note was first."""

    def __init__(self, notes: NoteFolder, folder: Path) -> None:
        self._notes = notes
        self._taken = DiskMap()
        self._folders: set[str] = set()
        self._later: DiskList[Any] = DiskList()
        self._tells_case = _tells_case(folder)

    def free(self, path: str, fallback: str, vault: str = "") -> str:
        """A path that no other note has; the one asked for, if the system can hold it."""
        path = path if can_hold(path) and not self._clashes(path) else fallback
        stem, dot, extension = path.rpartition(".")
        number = 1
        while self._key(path) in self._taken or self._key(path) in self._folders:
            number += 1
            path = f"{stem} {number}{dot}{extension}"
        self._taken[self._key(path)] = vault
        parent = path.rpartition("/")[0]
        while parent and self._key(parent) not in self._folders:
            self._folders.add(self._key(parent))
            parent = parent.rpartition("/")[0]
        return path

    def _key(self, path: str) -> str:
        return path if self._tells_case else unicodedata.normalize("NFC", path).lower()

    def _clashes(self, path: str) -> bool:
        """Tell whether a folder of the path is a note already."""
        parent = path.rpartition("/")[0]
        while parent:
            if self._key(parent) in self._taken:
                return True
            parent = parent.rpartition("/")[0]
        return False

    def later(self, places: list[NotePlace], content: str, fallback: str) -> None:
        """Write further notes of a content, once all memories have their places."""
        for place in places:
            value = {"place": msgspec.to_builtins(place), "content": content, "fallback": fallback}
            self._later.append(value)

    def raw(self, place: NotePlace, data: bytes, fallback: str) -> None:
        """Write a note that is no text, unless a memory stands in its place by now."""
        if self._taken.get(self._key(place.path)) != place.vault:
            self.put(self.free(place.path, fallback, place.vault), data, counts=False)

    def finish(self) -> None:
        """Write the notes that were left for later, unless a memory of its own stands there by now."""
        for value in self._later:
            place = msgspec.convert(value["place"], NotePlace)
            if self._taken.get(self._key(place.path)) == place.vault and place.vault:
                continue
            path = self.free(place.path, value["fallback"], place.vault)
            self.put(path, place.text(value["content"]).encode(), counts=False)
        self._taken.close()

    def put(self, path: str, text: bytes, slot: dict[str, Any] | None = None, *, counts: bool = True) -> None:
        """Write a note at a free path."""
        self._notes.put(path, text, sha256(text).digest(), slot, counts=counts)


def _tells_case(folder: Path) -> bool:
    """Tell whether the system tells upper from lower case in names, by trying."""
    place = folder.resolve()
    while not place.is_dir():
        place = place.parent
    try:
        with tempfile.NamedTemporaryFile(prefix=".mEmGlOt", dir=place) as file:
            return not os.path.exists(os.path.join(place, os.path.basename(file.name).swapcase()))
    except OSError:
        return False


def can_hold(path: str) -> bool:
    """Tell whether a path stays in its folder, is not hidden, and can be a file on this system."""
    parts = path.split("/")
    if "\0" in path or not path.lower().endswith((".md", ".markdown")) or not path.isprintable():
        return False
    if len(parts) > _DEEPEST or os.name == "nt" and any(sign in path for sign in '\\:*?"<>|'):
        return False
    return all(part and not part.startswith(".") and len(part.encode()) <= _LONGEST for part in parts)
