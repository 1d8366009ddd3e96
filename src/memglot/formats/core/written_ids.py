"""Which id was written for which memory: kept on disk, so that edges can be written after all their ends."""

from __future__ import annotations

from memglot.disk import DiskMap


class Places:
    """A map from our ids to those in the file, for memories and for entities."""

    def __init__(self) -> None:
        self._records, self._entities = DiskMap(), DiskMap()

    def add(self, id: str, written: str, *, entity: bool = False) -> None:
        """Remember what was written for an id."""
        (self._entities if entity else self._records)[id] = written

    def find(self, id: str, *, entity: bool) -> str | None:
        """What was written for an id."""
        found: str | None = (self._entities if entity else self._records).get(id)
        return found

    def close(self) -> None:
        """Let go of the files."""
        self._records.close()
        self._entities.close()
