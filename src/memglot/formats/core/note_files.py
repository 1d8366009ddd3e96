"""Find a path for each note in a folder that is free and valid on this system."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Container, Iterator
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import msgspec

from memglot.disk import DiskList, DiskMap
from memglot.formats.core.file_names import FileSystem, folded_path, safe_path
from memglot.formats.core.note_folder import NoteFolder
from memglot.formats.core.note_layout import NotePlace
from memglot.formats.core.sidecar import decode_item, encode_item
from memglot.model import Record, Thing

_EXTENSIONS = (".md", ".markdown")


def digest_file(path: Path) -> str | None:
    """Return the digest of a note's bytes, for notes that must be restored byte for byte."""
    try:
        with open(path, "rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


class BundleList:
    """Memories on disk, each with a path and its attached items."""

    def __init__(self) -> None:
        self._bundles: DiskList[Any] = DiskList()

    def append(self, path: str, record: Record, attached: list[Thing]) -> None:
        """Add a memory."""
        self._bundles.append([path, *(encode_item(item).decode() for item in (record, *attached))])

    def __iter__(self) -> Iterator[tuple[str, Record, list[Thing]]]:
        for path, *lines in self._bundles:
            record, *attached = (decode_item(line.encode()) for line in lines)
            assert isinstance(record, Record)
            yield path, record, [item for item in attached if not isinstance(item, Record)]


class NoteFiles:
    """Writes notes at the paths where they were read, and others at paths that are made up when those are known."""

    def __init__(self, notes: NoteFolder, folder: Path, vault: str) -> None:
        self._notes, self._vault = notes, vault
        self._taken = DiskMap()
        self._numbers = DiskMap()
        """The last number that a name got."""
        self._folders: set[str] = set()
        self._later: DiskList[Any] = DiskList()
        self.postponed = BundleList()
        """Memories that get a path when all notes that were read have theirs: that path, or a similar one."""
        self._system = FileSystem(folder)

    def keep(self, path: str, vault: str = "") -> str | None:
        """Reserve the path where a note was read; `None` if it is taken, or if this system cannot hold it."""
        key = self._system.key(path)
        if (
            not is_note_path(path)
            or not self._system.can_hold(path)
            or key in self._taken
            or key in self._folders
            or self._is_below(key)
        ):
            return None
        self._reserve(path, vault)
        return path

    def make(self, path: str, vault: str = "") -> str:
        """Reserve a path for a note without one: a similar one if it is taken on any system."""
        *folders, name = safe_path(path).split("/")
        place = ""
        for folder in folders:
            place = self._free(place + folder, "", self._taken) + "/"
        stem, dot, extension = name.rpartition(".")
        path = self._free(place + stem, dot + extension, self._taken, self._folders)
        self._reserve(path, vault)
        return path

    def make_folder(self, path: str) -> str:
        """Reserve a folder with a safe path that no note is in yet: a similar one if it is taken on any system."""
        place = self._free(path, "", self._taken, self._folders)
        for key in (self._system.key(place), _folded(place)):
            self._folders.add(key)
        return place

    def _free(self, stem: str, extension: str, *taken: Container[str]) -> str:
        path = stem + extension
        # Thousands of notes of a conversation may have the same name.
        number = start = self._numbers.get(_folded(path), 1)
        if number > 1:
            path = f"{stem} {number}{extension}"
        while any(key in keys for key in (self._system.key(path), _folded(path)) for keys in taken):
            number += 1
            path = f"{stem} {number}{extension}"
        if number > start:
            self._numbers[_folded(stem + extension)] = number
        return path

    def _reserve(self, path: str, vault: str) -> None:
        for key in (self._system.key(path), _folded(path)):
            self._taken[key] = vault
            parent = key.rpartition("/")[0]
            while parent and parent not in self._folders:
                self._folders.add(parent)
                parent = parent.rpartition("/")[0]

    def _is_below(self, key: str) -> bool:
        """Return True if a folder of the path is already the path of a note."""
        parent = key.rpartition("/")[0]
        while parent:
            if parent in self._taken:
                return True
            parent = parent.rpartition("/")[0]
        return False

    def later(self, places: list[NotePlace], content: str, slot: dict[str, Any] | None = None) -> None:
        """Write more notes with the same content after all memories that were notes have their paths.

        `slot` has what makes their memory another one than the notes say.
        """
        for place in places:
            self._later.append({"place": msgspec.to_builtins(place), "content": content, "slot": slot or {}})

    def raw(self, place: NotePlace, data: bytes) -> None:
        """Write a note that is not text after all others, unless one of them has its path."""
        self._later.append({"place": msgspec.to_builtins(place), "data": b64encode(data).decode()})

    def put_places(self) -> None:
        """Write the notes that were left for later, unless a memory has their path."""
        homeless: DiskList[Any] = DiskList()
        for value in self._later:
            place = msgspec.convert(value["place"], NotePlace)
            if self._taken.get(self._system.key(place.path)) == place.vault and place.vault:
                continue
            if (path := self.keep(place.path, place.vault)) is not None:
                self._put_place(path, place, value)
            else:
                homeless.append(value)
        for value in homeless:
            place = msgspec.convert(value["place"], NotePlace)
            self._put_place(self.make(place.path, place.vault), place, value)

    def _put_place(self, path: str, place: NotePlace, value: dict[str, Any]) -> None:
        data = b64decode(value["data"]) if "data" in value else place.data(value["content"])
        slot = dict(value.get("slot", {}))
        if "content" in value and (slot or place.vault not in ("", self._vault)):
            slot["vault"] = place.vault or self._vault
        self.put(path, data, slot, counts=False)

    def put(
        self,
        path: str,
        text: bytes,
        slot: dict[str, Any] | None = None,
        *,
        counts: bool = True,
        is_known: Callable[[Path], bool] | None = None,
    ) -> None:
        """Write a note at a free path; `is_known` returns True for an edited note that was imported."""
        self._notes.put(path, text, sha256(text).digest(), slot, counts=counts, is_known=is_known)

    def close(self) -> None:
        """Delete the files on disk."""
        self._taken.close()
        self._numbers.close()


def _folded(path: str) -> str:
    """Return the key of a path for systems that ignore case and normalization; it is never the key of another."""
    return "\0" + folded_path(path)


def is_note_path(path: str) -> bool:
    """Return True if a path stays in its folder and is that of a note."""
    parts = path.split("/")
    return path.lower().endswith(_EXTENSIONS) and all(part and not part.startswith(".") for part in parts)
