"""Ids that were written for memories and entities, so that relations can be written after both of their ends."""

from __future__ import annotations

from memglot.disk import DiskMap


class WrittenIds:
    """A map from our ids to the ids or names in the file, for memories and for entities."""

    def __init__(self) -> None:
        self._records, self._entities = DiskMap(), DiskMap()

    def add(self, id: str, written: str, *, entity: bool = False) -> None:
        """Record what was written for an id."""
        (self._entities if entity else self._records)[id] = written

    def get(self, id: str, *, entity: bool) -> str | None:
        """Return what was written for an id."""
        found: str | None = (self._entities if entity else self._records).get(id)
        return found

    def close(self) -> None:
        """Delete the files."""
        self._records.close()
        self._entities.close()
