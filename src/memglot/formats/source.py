"""Source: one input to read, be it a file, standard input or text in memory, and how folders are walked for them."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from memglot.errors import Unreadable
from memglot.notes import note_left_out, note_links
from memglot.report import Report

BOM = b"\xef\xbb\xbf"
FOLDER_PROOF = ".memglot.json"
BESIDE = ".memglot.ndjson"
_BUFFER = 1 << 17
_HEAD = 1 << 16


class Source:
    """One input. `stream` reads it once from its start, after a byte order mark; `head` shows its first bytes."""

    def __init__(self, name: str, stream: BinaryIO, *, path: Path | None = None, size: int | None = None) -> None:
        self.name = name
        self._again: Callable[[], BinaryIO] | None = None
        self.path = path
        self.size = size
        head = stream.read(_HEAD)
        self.start = len(BOM) if head.startswith(BOM) else 0
        self.head = head[self.start :]
        self._replay = _Replay(self.head, stream)
        self.stream = io.BufferedReader(self._replay, _BUFFER)

    @classmethod
    def file(cls, path: Path, name: str | None = None) -> Source:
        """The file at `path`; raises `Unreadable`."""
        shown = name or str(path)
        try:
            stream = open(path, "rb", buffering=0)
            if os.path.isdir(path):
                raise Unreadable(shown, "it is a folder")
            source = cls(shown, stream, path=path, size=os.fstat(stream.fileno()).st_size)
            if path.is_file():
                source._again = lambda: open(path, "rb")
            return source
        except OSError as error:
            raise Unreadable(shown, (error.strerror or str(error)).lower()) from error

    @classmethod
    def text(cls, content: bytes, name: str = "content") -> Source:
        """Text that is in memory already."""
        source = cls(name, io.BytesIO(content), size=len(content))
        source._again = lambda: io.BytesIO(content)
        return source

    def reopen(self) -> BinaryIO | None:
        """The same bytes from their start once more; `None` for a stream that comes only once."""
        return self._again() if self._again is not None else None

    @property
    def extension(self) -> str:
        """The last part of the name after a dot, in lower case; empty when there is none."""
        return os.path.splitext(self.path.name if self.path else "")[1].lower()

    @property
    def consumed(self) -> int:
        """How many bytes were read so far."""
        return self._replay.consumed

    def is_blank(self) -> bool:
        """Tell whether there is nothing but white space in it, as far as the head shows."""
        return len(self.head) < _HEAD - len(BOM) and not self.head.strip()

    def whole(self) -> bytes:
        """All of it at once, for formats of one memory a file."""
        return self.stream.read()

    def close(self) -> None:
        """Let go of the file."""
        self.stream.close()


class _Replay(io.RawIOBase):
    """A stream whose first bytes were read already, whole again."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest
        self.consumed = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._head:
            piece, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        else:
            piece = self._rest.read(len(buffer)) or b""
        buffer[: len(piece)] = piece
        self.consumed += len(piece)
        return len(piece)

    def close(self) -> None:
        self._rest.close()
        super().close()


def walk(folder: Path, extensions: frozenset[str], report: Report) -> Iterator[Path]:
    """The files below `folder` with a known extension, in the order of their paths.

    Hidden files and folders are passed over and links are never followed, so that nothing outside the folder is read.
    """
    left_out: list[str] = []
    links: list[str] = []
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        if place != folder and not os.path.isdir(place):
            yield place
            continue
        found = []
        for entry in _entries(place, report):
            if entry.name.startswith(".") or entry.name.endswith(BESIDE):
                continue
            if entry.is_symlink():
                links.append(os.path.relpath(entry.path, folder))
            elif entry.is_dir(follow_symlinks=False):
                found.append(Path(entry.path))
            elif os.path.splitext(entry.name)[1] in extensions and entry.is_file(follow_symlinks=False):
                found.append(Path(entry.path))
            else:
                left_out.append(os.path.relpath(entry.path, folder))
        waiting += reversed(found)
    if left_out:
        report.note(note_left_out(sorted(left_out)))
    if links:
        report.note(note_links(sorted(links)))


def _entries(folder: Path, report: Report) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            # A folder sorts by its name and a slash, as the whole path of a file in it would.
            return sorted(entries, key=lambda entry: entry.name + "/" * entry.is_dir(follow_symlinks=False))
    except OSError as error:
        report.fault(Unreadable(str(folder), (error.strerror or str(error)).lower()))
        return []
