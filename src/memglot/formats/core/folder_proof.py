"""`.memglot.json`: the proof of a folder of notes, with the items that belong to no note."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from memglot.errors import BadRecord, Unreadable
from memglot.formats.core.sidecar import LineProver, decode_item
from memglot.formats.core.source import FOLDER_PROOF
from memglot.model import Item
from memglot.report import Proof


class _Proof(msgspec.Struct):
    format: str
    count: int
    digest: str
    files: dict[str, str] = {}
    beside: list[Any] = []
    beside_digest: str = ""
    slots: dict[str, Any] = {}
    names: dict[str, str] = {}


class FolderProof:
    """What `.memglot.json` says about a folder."""

    def __init__(self, path: Path, head: _Proof, reformatted: bool) -> None:
        self._path = path
        self._head = head
        self._reformatted = reformatted
        self.format = head.format
        self.end = Proof(head.count, head.digest)

    @classmethod
    def at(cls, folder: Path) -> FolderProof | None:
        """Return the proof in a folder, or `None`. Raise `Unreadable` if it is damaged."""
        path = folder / FOLDER_PROOF
        if not path.is_file() or path.is_symlink():
            return None
        try:
            with open(path, "rb") as file:
                first = file.readline().rstrip()
            if first.endswith(b'"files":{'):
                return cls(path, msgspec.json.decode(first + b"}}", type=_Proof), False)
            # Somebody reformatted it, so it cannot be read line by line.
            return cls(path, msgspec.json.decode(path.read_bytes(), type=_Proof), True)
        except (msgspec.MsgspecError, UnicodeDecodeError, OSError, RecursionError) as error:
            raise _damaged(path, error) from error

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield the notes and the digests of their records. Raise `Unreadable`."""
        if self._reformatted:
            yield from self._head.files.items()
            return
        for line in self._section(b'"files":{', b"},"):
            try:
                yield entry_of(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
                raise _damaged(self._path, error) from error

    def slots(self) -> Iterator[tuple[str, Any]]:
        """Yield the carry slots of notes that must not change. Raise `Unreadable`."""
        if self._reformatted:
            yield from self._head.slots.items()
            return
        for line in self._section(b'"slots":{', b"},"):
            try:
                yield from msgspec.json.decode(b"{" + line + b"}", type=dict[str, Any]).items()
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise _damaged(self._path, error) from error

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield the ids of memories whose notes memglot named, with their paths. Raise `Unreadable`."""
        if self._reformatted:
            yield from self._head.names.items()
            return
        for line in self._section(b'"names":{', b"},"):
            try:
                yield entry_of(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
                raise _damaged(self._path, error) from error

    def items(self) -> Iterator[Item | BadRecord]:
        """Yield the items that belong to no note, or the error of a line."""
        for line in self._leftover_lines():
            try:
                yield decode_item(line)
            except BadRecord as error:
                yield error

    def leftovers_are_intact(self) -> bool:
        """Return True if the items that belong to no note are unchanged."""
        found = LineProver()
        for path, slot in self.slots():
            found.add(msgspec.json.encode({path: slot})[1:-1])
        for line in self._leftover_lines():
            found.add(line)
        return self._head.beside_digest == found.end().digest

    def _leftover_lines(self) -> Iterator[bytes]:
        if self._reformatted:
            return map(msgspec.json.encode, self._head.beside)
        return self._section(b'"beside":[', b"]}")

    def _section(self, start: bytes, stop: bytes) -> Iterator[bytes]:
        inside = False
        with open(self._path, "rb") as file:
            for line in file:
                line = line.rstrip()
                if inside and line.startswith(stop):
                    return
                if inside:
                    yield line.removesuffix(b",")
                elif line.endswith(start):
                    inside = True


def _damaged(path: Path, error: Exception) -> Unreadable:
    return Unreadable(str(path), f"damaged ({error})", "delete it to import the folder without its proof")


def entry_of(line: bytes) -> tuple[str, str]:
    """Return the path and the digest in a line of the proof."""
    ((path, digest),) = msgspec.json.decode(b"{" + line + b"}", type=dict[str, str]).items()
    return path, digest
