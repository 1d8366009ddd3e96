"""What a store's log tells to be deleted: nodes leave no file behind, and must not come back from an older copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from memglot.errors import BadRecord
from memglot.formats._notes.shelf import DiskMap
from memglot.formats._repo.ids import is_id, kind_of
from memglot.formats._repo.nodes import TOOL
from memglot.model import Tombstone, derive_id, parse_time

_ENDS = "memory.deleted"


class Deletions:
    """The deletions of a log that is read line by line, from its beginning to its end."""

    def __init__(self) -> None:
        self._gone = DiskMap()

    def see(self, text: str) -> None:
        """Take a line that is an event; a node that is made anew is not deleted any more."""
        if '"memory.' not in text:
            return
        event: dict[str, Any] = msgspec.json.decode(text)
        id = event.get("id")
        if isinstance(id, str) and is_id(id):
            gone = event.get("event") == _ENDS
            if gone or id in self._gone:
                self._gone[id] = [event["timestamp"], str(event.get("reason") or "")] if gone else None

    def tombstones(self, space: str, is_there: Callable[[str], bool]) -> Iterator[Tombstone]:
        """The marks of nodes that are deleted, and indeed not there."""
        for id in self._gone:
            told = self._gone[id]
            if told is None or is_there(id):
                continue
            try:
                at = parse_time(told[0])
            except BadRecord:
                continue
            own = derive_id(TOOL, space, id)
            yield Tombstone(id=own, content_hash="", kind=kind_of(id), deleted_at=at, reason=told[1])
