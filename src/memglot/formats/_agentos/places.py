"""Which id was written for which memory: kept on disk, so that edges can be written after all their ends."""

from __future__ import annotations

from collections.abc import Iterator

_BATCH = 1_000


class Places:
    """A map from our ids to those in the file; it holds no more than a batch in memory."""

    def __init__(self) -> None:
        import apsw

        # An empty name is a database of its own in a temporary file, gone when it is closed.
        self._db = apsw.Connection("")
        self._db.execute("CREATE TABLE places (id TEXT PRIMARY KEY, written TEXT, entity INT) WITHOUT ROWID; BEGIN")
        self._waiting: list[tuple[str, str, bool]] = []

    def add(self, id: str, written: str, *, entity: bool = False) -> None:
        """Remember what was written for an id."""
        self._waiting.append((id, written, entity))
        if len(self._waiting) >= _BATCH:
            self._flush()

    def find(self, id: str, *, entity: bool) -> str | None:
        """What was written for an id."""
        self._flush()
        found = self._db.execute("SELECT written FROM places WHERE id = ? AND entity = ?", (id, entity))
        return next((written for (written,) in found), None)

    def _flush(self) -> None:
        if self._waiting:
            self._db.executemany("INSERT OR REPLACE INTO places VALUES (?, ?, ?)", self._waiting)
            self._waiting = []

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def __iter__(self) -> Iterator[tuple[str, str]]:
        self._flush()
        yield from self._db.execute("SELECT id, written FROM places")
