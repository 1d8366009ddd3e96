"""The SQLite store: one file, no server."""

from collections.abc import Callable, Iterator
from pathlib import Path

from memglot.errors import TargetExists
from memglot.notes import note_damage, note_text_index, note_vectors
from memglot.store.sqlite.search import Search
from memglot.store.sqlite.things import Things
from memglot.store.sqlite.track import Track


class SqliteStore(Search, Things, Track):
    """Keeps memories in one SQLite file, or in memory; see `memglot.store.contract.Store`."""

    def verify(self, progress: Callable[[int], None] | None = None) -> Iterator[str]:
        """What is amiss; nothing for a whole store."""
        damage = [text for (text,) in self._rows("PRAGMA integrity_check(20)") if text != "ok"]
        # The full text can be made anew, so damage to it is none to the memories.
        elsewhere = [text for text in damage if "record_text" not in text]
        yield from map(note_damage, elsewhere)
        yield from self._amiss()
        if len(elsewhere) < len(damage) or not self.is_complete() or not self.check_text():
            yield note_text_index()
        if not self.check_vectors():
            yield note_vectors()

    def repair(self) -> None:
        """Rebuild the indexes and the full text from the records."""
        with self.writing():
            self.db.execute("REINDEX")
            self.mend_vectors()
        self.rebuild_text()

    def copy_to(self, path: str) -> None:
        """Write a clean copy of the whole store to a new file."""
        if Path(path).exists():
            raise TargetExists(path)
        for _ in self._rows("VACUUM INTO ?", (path,)):
            pass
