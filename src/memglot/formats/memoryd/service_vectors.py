"""Vectors of mcp-memory-service, read from the tables in which the extension sqlite-vec keeps them.

`memory_embeddings_rowids` says in which chunk and at which place the vector of a memory is. A chunk has the row numbers
of its places, one bit for each place that is in use, and the vectors one after the other.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

import apsw

VECTORS = "memory_embeddings"
BACKUP = "memory_embeddings_migration_backup"
"""A copy of the vectors, left by a migration of the service that was interrupted."""
_DIMENSIONS = re.compile(r"\b(?:FLOAT|FLOAT32|F32)\s*\[\s*(\d+)\s*\]", re.IGNORECASE)
_NUMBER, _ROWID = 4, 8
_CHUNKS = 4
"""Number of chunks held in memory; each has 1,024 vectors."""


class _Chunk(NamedTuple):
    in_use: bytes
    rowids: bytes
    vectors: bytes


class ServiceVectors:
    """The vectors of a database by the number of their memory; empty if the table has another layout."""

    def __init__(self, db: apsw.Connection, sql: str) -> None:
        self._db = db
        self.damaged = 0
        """Number of vectors that are listed, but cannot be read."""
        self.found = 0
        """Number of vectors of memories."""
        parts = {f"{VECTORS}_chunks", f"{VECTORS}_rowids", f"{VECTORS}_vector_chunks00"}
        marks = ", ".join("?" * len(parts))
        tables = db.execute(f"SELECT name FROM sqlite_schema WHERE name IN ({marks}, ?)", (*parts, BACKUP))
        names = {name for (name,) in tables}
        given = _DIMENSIONS.search(sql)
        self.dimensions = int(given[1]) if given else 0
        self.is_known = self.dimensions > 0 and parts <= names
        self._backup = BACKUP in names and self.dimensions > 0
        self._chunk = lru_cache(maxsize=_CHUNKS)(self._read_chunk)

    def count(self) -> int:
        """Return the number of vectors in the table, as far as it can be read."""
        try:
            return int(self._db.execute(f"SELECT count(*) FROM {VECTORS}_rowids").get) if self.is_known else 0
        except apsw.CorruptError:
            return 0

    def get(self, number: Any) -> bytes | None:
        """Return the vector of the memory with this number, if it has one, and count it as found."""
        if not isinstance(number, int):
            return None
        try:
            return self._stored(number) or self._backed_up(number)
        except (apsw.CorruptError, apsw.SQLError):
            self.damaged += 1
            return None

    def _backed_up(self, number: int) -> bytes | None:
        if self._backup:
            for (found,) in self._db.execute(f"SELECT content_embedding FROM {BACKUP} WHERE rowid = ?", (number,)):
                return found if isinstance(found, bytes) and len(found) == self.dimensions * _NUMBER else None
        return None

    def _stored(self, number: int) -> bytes | None:
        if not self.is_known:
            return None
        sql = f"SELECT chunk_id, chunk_offset FROM {VECTORS}_rowids WHERE rowid = ?"
        for place, offset in self._db.execute(sql, (number,)).fetchall():
            self.found += 1
            chunk = self._chunk(place)
            if chunk is not None and isinstance(offset, int) and 0 <= offset < len(chunk.rowids) // _ROWID:
                size = self.dimensions * _NUMBER
                vector = chunk.vectors[offset * size : (offset + 1) * size]
                in_use = chunk.in_use[offset // 8 : offset // 8 + 1]
                owner = chunk.rowids[offset * _ROWID : (offset + 1) * _ROWID]
                is_set = bool(in_use) and bool(in_use[0] >> offset % 8 & 1)
                if is_set and owner == number.to_bytes(_ROWID, "little", signed=True) and len(vector) == size:
                    return vector
            self.damaged += 1
        return None

    def _read_chunk(self, place: int) -> _Chunk | None:
        sql = (
            f"SELECT validity, rowids, vectors FROM {VECTORS}_chunks JOIN {VECTORS}_vector_chunks00 AS vectors "
            "ON vectors.rowid = chunk_id WHERE chunk_id = ?"
        )
        for in_use, rowids, vectors in self._db.execute(sql, (place,)).fetchall():
            if isinstance(in_use, bytes) and isinstance(rowids, bytes) and isinstance(vectors, bytes):
                return _Chunk(in_use, rowids, vectors)
        return None
