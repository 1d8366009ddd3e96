"""What a store's log tells to be deleted: nodes and relations leave no file behind, and must not come back."""

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
    """The deletions of a log that is read line by line, from its beginning to its end."""

    def __init__(self) -> None:
        self._gone = DiskMap()

    @classmethod
    def of_log(cls, folder: Path) -> Deletions:
        """Those of the log in a `.memory` folder."""
        found = cls()
        for _, line in StoreReader(folder).lines(EVENTS):
            found.see(line.decode("utf-8", "replace"))
        return found

    def see(self, text: str) -> None:
        """Take a line of the log; what is made anew is not deleted any more."""
        try:
            event = msgspec.json.decode(text, type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            return
        what, _, how = str(event.get("event")).partition(".")
        id = event.get("relation_id" if what == _RELATION else "id")
        if isinstance(id, str) and (how == "deleted" or id in self._gone):
            self._gone[id] = [event.get("timestamp"), str(event.get("reason") or "")] if how == "deleted" else None

    def at(self, id: str) -> int | None:
        """When something was deleted, in microseconds; `None` where it was not."""
        told = self._gone.get(id)
        try:
            return None if told is None or not isinstance(told[0], str) else parse_time(told[0])
        except BadRecord:
            return None

    def tombstones(self, space: str, is_there: Callable[[str], bool]) -> Iterator[Tombstone]:
        """The marks of nodes and relations that are deleted, and indeed not there."""
        for id in self._gone:
            at = self.at(id)
            is_relation = id.startswith("rel.")
            if at is None or is_there(id) or not (is_relation or is_id(id)):
                continue
            kind = _RELATION if is_relation else kind_of(id)
            reason = "" if is_relation else self._gone[id][1]
            yield Tombstone(id=derive_id(TOOL, space, id), content_hash="", kind=kind, deleted_at=at, reason=reason)
