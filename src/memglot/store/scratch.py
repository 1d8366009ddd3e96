"""A table on disk for work that would not fit in memory; it is gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw


class Scratch:
    """Values by key. Values that nobody took come out in the order they were put in."""

    def __enter__(self) -> Scratch:
        # An empty name is a private database on disk that SQLite deletes when it is closed.
        self._db = apsw.Connection("")
        self._db.execute("CREATE TABLE kept (key TEXT UNIQUE, value BLOB); CREATE TABLE taken (key TEXT UNIQUE); BEGIN")
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def put(self, key: str, value: bytes) -> bool:
        """Keep a value; tell whether its key was free."""
        self._db.execute("INSERT OR IGNORE INTO kept VALUES (?, ?)", (key, value))
        return self._db.changes() > 0

    def get(self, key: str) -> bytes | None:
        """The value with this key, which stays."""
        rows: list[Any] = self._db.execute("SELECT value FROM kept WHERE key = ?", (key,)).fetchall()
        return bytes(rows[0][0]) if rows else None

    def was_taken(self, key: str) -> bool:
        """Tell whether a value with this key was taken out before."""
        return bool(self._db.execute("SELECT 1 FROM taken WHERE key = ?", (key,)).fetchall())

    def take(self, key: str) -> bytes | None:
        """Take a value out."""
        rows: list[Any] = self._db.execute("DELETE FROM kept WHERE key = ? RETURNING value", (key,)).fetchall()
        if rows:
            self._db.execute("INSERT INTO taken VALUES (?)", (key,))
        return bytes(rows[0][0]) if rows else None

    def rest(self) -> Iterator[bytes]:
        """The values that are left."""
        rows: Any = self._db.execute("SELECT value FROM kept ORDER BY rowid")
        for (value,) in rows:
            yield bytes(value)
