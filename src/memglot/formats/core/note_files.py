"""Find a path for each note in a folder that is free and valid on this system."""

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

# While a file is replaced, its temporary name is a little longer.
_MAX_NAME_BYTES = 240
_MAX_DEPTH = 40


def digest_file(path: Path) -> str | None:
    """Return the digest of a note's bytes, for notes that must be restored byte for byte."""
    try:
        with open(path, "rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


class NoteFiles:
    """Writes notes at the paths they ask for, or at similar ones if these are taken."""

    def __init__(self, notes: NoteFolder, folder: Path) -> None:
        self._notes = notes
        self._taken = DiskMap()
        self._folders: set[str] = set()
        self._later: DiskList[Any] = DiskList()
        self._is_case_sensitive = _is_case_sensitive(folder)

    def free(self, path: str, fallback: str, vault: str = "") -> str:
        """Reserve a free path: the one asked for, if it is valid on this system."""
        path = path if is_valid_path(path) and not self._is_below_note(path) else fallback
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
        return path if self._is_case_sensitive else unicodedata.normalize("NFC", path).lower()

    def _is_below_note(self, path: str) -> bool:
        """Return True if a folder of the path is already the path of a note."""
        parent = path.rpartition("/")[0]
        while parent:
            if self._key(parent) in self._taken:
                return True
            parent = parent.rpartition("/")[0]
        return False

    def later(self, places: list[NotePlace], content: str, fallback: str) -> None:
        """Write more notes with the same content after all memories have their paths."""
        for place in places:
            value = {"place": msgspec.to_builtins(place), "content": content, "fallback": fallback}
            self._later.append(value)

    def raw(self, place: NotePlace, data: bytes, fallback: str) -> None:
        """Write a note that is not text, unless a memory has its path."""
        if self._taken.get(self._key(place.path)) != place.vault:
            self.put(self.free(place.path, fallback, place.vault), data, counts=False)

    def finish(self) -> None:
        """Write the notes that were left for later, unless a memory has their path."""
        for value in self._later:
            place = msgspec.convert(value["place"], NotePlace)
            if self._taken.get(self._key(place.path)) == place.vault and place.vault:
                continue
            path = self.free(place.path, value["fallback"], place.vault)
            self.put(path, place.data(value["content"]), counts=False)
        self._taken.close()

    def put(self, path: str, text: bytes, slot: dict[str, Any] | None = None, *, counts: bool = True) -> None:
        """Write a note at a free path."""
        self._notes.put(path, text, sha256(text).digest(), slot, counts=counts)


def _is_case_sensitive(folder: Path) -> bool:
    """Return True if file names are case-sensitive in a folder; try it out."""
    place = folder.resolve()
    while not place.is_dir():
        place = place.parent
    try:
        with tempfile.NamedTemporaryFile(prefix=".mEmGlOt", dir=place) as file:
            return not os.path.exists(os.path.join(place, os.path.basename(file.name).swapcase()))
    except OSError:
        return False


def is_valid_path(path: str) -> bool:
    """Return True if a path stays in its folder, is not hidden, and is valid on this system."""
    parts = path.split("/")
    if "\0" in path or not path.lower().endswith((".md", ".markdown")) or not path.isprintable():
        return False
    if len(parts) > _MAX_DEPTH or os.name == "nt" and any(character in path for character in '\\:*?"<>|'):
        return False
    return all(part and not part.startswith(".") and len(part.encode()) <= _MAX_NAME_BYTES for part in parts)
