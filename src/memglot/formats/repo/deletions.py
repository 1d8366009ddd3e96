"""Deletions in the event log of a store: deleted nodes and relations leave no file, and must not come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from memglot.disk import DiskMap
from memglot.errors import BadRecord
from memglot.formats.repo.nodes import TOOL
from memglot.model import Tombstone, derive_id, parse_time
from memglot.project.storage.ids import is_id, kind_of
from memglot.project.storage.paths import EVENTS
from memglot.project.storage.reader import StoreReader

_RELATION = "relation"


class Deletions:
    """The deletions in a log, which is added line by line from its start."""

    def __init__(self) -> None:
        self._deleted = DiskMap()

    @classmethod
    def of_log(cls, folder: Path) -> Deletions:
        """Return the deletions in the log of a `.memory` folder."""
        found = cls()
        for _, line in StoreReader(folder).lines(EVENTS):
            found.add_line(line.decode("utf-8", "replace"))
        return found

    def add_line(self, text: str) -> None:
        """Add a line of the log; something created again is no longer deleted."""
        try:
            event = msgspec.json.decode(text, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            return
        what, _, how = str(event.get("event")).partition(".")
        id = event.get("relation_id" if what == _RELATION else "id")
        if isinstance(id, str) and (how == "deleted" or id in self._deleted):
            self._deleted[id] = [event.get("timestamp"), str(event.get("reason") or "")] if how == "deleted" else None

    def deleted_at(self, id: str) -> int | None:
        """Return when a node or relation was deleted, in microseconds; None if it was not."""
        event = self._deleted.get(id)
        try:
            return None if event is None or not isinstance(event[0], str) else parse_time(event[0])
        except BadRecord:
            return None

    def tombstones(self, space: str, is_existing: Callable[[str], bool]) -> Iterator[Tombstone]:
        """Yield the tombstones of deleted nodes and relations that do not exist."""
        for id in self._deleted:
            at = self.deleted_at(id)
            is_relation = id.startswith("rel.")
            if at is None or is_existing(id) or not (is_relation or is_id(id)):
                continue
            kind = _RELATION if is_relation else kind_of(id)
            reason = "" if is_relation else self._deleted[id][1]
            yield Tombstone(id=derive_id(TOOL, space, id), content_hash="", kind=kind, deleted_at=at, reason=reason)
