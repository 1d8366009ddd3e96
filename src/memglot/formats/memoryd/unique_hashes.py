"""Hashes for mcp-memory-service, which keeps one memory for each `content_hash` and never checks it."""

from __future__ import annotations

from hashlib import sha256
from types import TracebackType
from typing import Any, Protocol

from memglot.disk import DiskMap
from memglot.formats.memoryd.values import v5_content_hash
from memglot.model import Record

_KEY = b'"content_hash":"'
_READ = 0
"""Mark of a hash that the service gave."""


class _Body(Protocol):
    def seek(self, offset: int, whence: int = 0, /) -> int: ...

    def write(self, data: bytes, /) -> int: ...


class UniqueHashes:
    """Gives every row of a file a hash of its own.

    A hash that was read stays. The first memory with a text gets the hash of the service, and others with that text get
    one that follows from their id, so that the next export gives them the same.
    """

    def __init__(self, body: _Body) -> None:
        self._body = body
        self._owners = DiskMap()
        """By hash: the place of a computed hash in the body with the id of its memory, or the mark of a read one."""

    def __enter__(self) -> UniqueHashes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owners.close()

    def choose(self, record: Record, read: Any) -> Any:
        """Return the hash of a record; `read` is the one that the service gave it, if any."""
        if read is not None and (owner := self._owners.get(str(read))) != _READ:
            if owner is not None:
                self._replace(str(read), *owner)
            self._owners[str(read)] = _READ
            return read
        return self._next(v5_content_hash(record.content), record.id)

    def set_place(self, record: Record, hash: Any, row: bytes, offset: int) -> None:
        """Remember where a computed hash is; its row begins at an offset of the body."""
        if str(hash) not in self._owners:
            self._owners[hash] = [offset + row.index(_KEY) + len(_KEY), record.id]

    def _replace(self, hash: str, offset: int, id: str) -> None:
        """Give a row that is already written another hash, because its hash was read for a later row."""
        other = self._next(hash, id)
        self._body.seek(offset)
        self._body.write(other.encode())
        self._body.seek(0, 2)
        self._owners[other] = [offset, id]

    def _next(self, hash: str, id: str) -> str:
        while hash in self._owners:
            hash = sha256(f"{hash}\0{id}".encode()).hexdigest()
        return hash
