"""The SQLite store: one file, no server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from memglot.errors import TargetExists
from memglot.notes import note_text_index
from memglot.store.sqlite.history import Track
from memglot.store.sqlite.search import Search
from memglot.store.sqlite.things import Things


class SqliteStore(Search, Things, Track):
    """Keeps memories in one SQLite file, or in memory; see `memglot.store.contract.Store`."""

    def verify(self, progress: Callable[[int], None] | None = None) -> Iterator[str]:
        """What is amiss; nothing for a whole store."""
        yield from self._damage()
        yield from self._amiss()
        if not self.is_complete() or not self.check_text():
            yield note_text_index()
        if not self.check_vectors():
            yield (
                "the vectors do not fit the memories; `memglot doctor --fix` drops what is wrong, then `memglot embed`"
            )

    def _damage(self) -> Iterator[str]:
        """What SQLite says of the file. The full text is checked by itself: it can be made anew."""
        try:
            found = [text for (text,) in self.db.execute("PRAGMA integrity_check(20)")]
        except apsw.SQLError:
            # A full text that cannot even be opened keeps this check from being made.
            return
        except apsw.Error as error:
            self._translate(error)
        for text in found:
            if text != "ok" and "fts5" not in text:
                yield f"the file is damaged: {text}"

    def repair(self) -> None:
        """Rebuild the indexes and the full text from the records."""
        self.rebuild_text()
        with self.writing():
            self.db.execute("REINDEX")
            self.mend_vectors()
        self.forget_damage()

    def copy_to(self, path: str) -> None:
        """Write a clean copy of the whole store to a new file."""
        if Path(path).exists():
            raise TargetExists(path)
        for _ in self._rows("VACUUM INTO ?", (path,)):
            pass
