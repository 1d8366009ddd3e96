"""Simulate power cuts: replay recorded calls, and drop what was not synced when the power failed.

What a disk holds after a cut is, for each file, its content at the last sync with any of the later writes, each
complete or torn at a sector, and of the names in a folder those at the last sync of the folder with any number of the
later changes, in their order.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from machine import Event, Kind

_SECTOR = 512


@dataclass
class _File:
    """The content of a file: what is on disk for certain, and the changes since."""

    synced: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Offset and data of each write; no data means that the file was truncated there."""

    def sync(self) -> None:
        for offset, data in self.pending:
            _apply(self.synced, offset, data)
        self.pending.clear()

    def after_cut(self, source: random.Random, loss: float) -> bytes:
        content = bytearray(self.synced)
        for offset, data in self.pending:
            if source.random() < loss:
                continue
            if data is not None and source.random() < loss:
                data = data[: source.randrange(0, len(data) + 1) // _SECTOR * _SECTOR]
            _apply(content, offset, data)
        return bytes(content)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    if data is not None:
        content[offset : offset + len(data)] = data


class Disk:
    """A disk that forgets what was not synced."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._files: dict[int, _File] = {}
        self._names: dict[str, int] = {}
        """The file of each path, for certain; 0 for a folder."""
        self._pending: list[Event] = []
        """Changes of names that are not on disk yet, with the numbers of their files here."""
        self._numbers: dict[int, int] = {}
        """The present file of each inode; a system gives the inode of a removed file to a new one."""
        self.marks = 0
        """Number of commands that had reported success."""
        for path in sorted(root.rglob("*")):
            if path.is_dir():
                self._names[str(path)] = 0
            else:
                self._names[str(path)] = self._new_file(path.stat().st_ino, path.read_bytes())

    def replay(self, events: Iterable[Event]) -> None:
        """Make recorded changes."""
        for event in events:
            match event.kind:
                case Kind.MARK:
                    self.marks = event.offset
                case Kind.WRITE:
                    self._file(event).pending.append((event.offset, event.data))
                case Kind.TRUNCATE:
                    self._file(event).pending.append((event.offset, None))
                case Kind.SYNC:
                    self._sync(event)
                case Kind.FAILED:
                    pass
                case _:
                    if event.kind is Kind.CREATE:
                        self._new_file(event.inode)
                    if event.kind is Kind.MAKE_FOLDER:
                        self._numbers.pop(event.inode, None)
                    self._pending.append(event._replace(inode=self._numbers.get(event.inode, 0)))

    def _new_file(self, inode: int, content: bytes = b"") -> int:
        number = self._numbers[inode] = len(self._files) + 1
        self._files[number] = _File(bytearray(content))
        return number

    def _file(self, event: Event) -> _File:
        return self._files[self._numbers[event.inode]]

    def _sync(self, event: Event) -> None:
        if not event.inode:
            for file in self._files.values():
                file.sync()
            self._commit_names(len(self._pending))
            return
        if event.inode in self._numbers:
            self._file(event).sync()
            return
        # A folder: its names are on disk now, and so are earlier changes elsewhere that they depend on.
        last = max((n for n, found in enumerate(self._pending) if event.path in _folders(found)), default=-1)
        self._commit_names(last + 1)

    def _commit_names(self, count: int) -> None:
        for found in self._pending[:count]:
            _rename(self._names, found)
        del self._pending[:count]

    def cut(self, target: Path, source: random.Random, loss: float) -> None:
        """Write what is left after a power cut to a new folder; `loss` is the share of unsynced changes to drop."""
        names = dict(self._names)
        kept = len(self._pending) if source.random() >= loss else source.randrange(0, len(self._pending) + 1)
        for found in self._pending[:kept]:
            _rename(names, found)
        target.mkdir()
        contents = {
            number: file.after_cut(source, loss) for number, file in self._files.items() if number in names.values()
        }
        for name, number in sorted(names.items()):
            path = target / Path(name).relative_to(self._root)
            if not number:
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents.get(number, b""))


def _folders(event: Event) -> set[str]:
    """Return the folders whose names an event changes."""
    return {str(Path(path).parent) for path in (event.path, event.other) if path}


def _rename(names: dict[str, int], event: Event) -> None:
    """Make a change of names."""
    match event.kind:
        case Kind.CREATE:
            names[event.path] = event.inode
        case Kind.MAKE_FOLDER:
            names[event.path] = 0
        case Kind.UNLINK | Kind.REMOVE_FOLDER:
            names.pop(event.path, None)
        case Kind.LINK:
            names[event.other] = event.inode
        case Kind.RENAME:
            for name in [found for found in names if found == event.path or found.startswith(event.path + "/")]:
                names[event.other + name[len(event.path) :]] = names.pop(name)
