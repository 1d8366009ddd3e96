"""Values by name, kept on disk: paths that are taken, what a proof carries, how a note is linked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

_BATCH = 1_000


class DiskMap(Mapping[str, Any]):
    """A map of names to JSON values that holds no more than a batch in memory."""

    def __init__(self, pairs: Iterable[tuple[str, Any]] = ()) -> None:
        import apsw

        # An empty name is a database of its own in a temporary file, gone when it is closed.
        self._db = apsw.Connection("")
        self._db.execute("CREATE TABLE found (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID; BEGIN")
        self._waiting: dict[str, str] = {}
        self._length = 0
        for name, value in pairs:
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        self._waiting[name] = msgspec.json.encode(value).decode()
        self._length += 1
        if len(self._waiting) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        self._db.executemany("INSERT OR REPLACE INTO found VALUES (?, ?)", self._waiting.items())
        self._waiting = {}

    def __getitem__(self, name: str) -> Any:
        if name in self._waiting:
            return msgspec.json.decode(self._waiting[name])
        for (text,) in self._db.execute("SELECT value FROM found WHERE name = ?", (name,)):
            return msgspec.json.decode(text)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        self._flush()
        for (name,) in self._db.execute("SELECT name FROM found ORDER BY name"):
            yield name

    def __len__(self) -> int:
        return self._length

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()
