"""The indexes of the SQLite store: late ones, the full text, and the places of memories in their conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import apsw
import msgspec

from memglot.errors import DamagedStore
from memglot.store.sqlite.connection import CACHE, Connection
from memglot.store.sqlite.fts_query import is_word, is_written
from memglot.store.sqlite.rows import listed
from memglot.store.sqlite.schema import LATE_INDEXES, TEXT_INDEX, TOKENIZER
from memglot.text.dialogue import MAY_HAVE_THREAD, Turn, turn_of
from memglot.text.words import index_text, index_values, short_values

_TEXT_CHUNK, _TEXT_BYTES = 200_000, 64 << 20
"""At most so many records, and so much content, are indexed in one transaction: other writers wait for its end."""
_LARGE = 20_000
_WORDS = """
seq, memglot_words(content), iif(title IS NULL, NULL, memglot_words(title, content)),
iif(tags IS NULL, NULL, memglot_words(memglot_texts(tags), content)),
iif(tree GLOB '*[A-Z]*', memglot_words(tree), tree), iif(meta IS NULL, NULL, memglot_values(meta))
"""
_FILL = f"INSERT INTO record_text (rowid, content, title, tags, tree, meta) SELECT {_WORDS} FROM records"
_FAR = 64
"""A session that comes up again after so many other memories is ranked as another one of the same name."""
_STRETCH = 1 << 20
"""Positions in a thread go up by one; after such an interruption, to the next multiple of this."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Indexes(Connection):
    """The part of the store that keeps its indexes up to date."""

    def __init__(self, path: str, *, write: bool) -> None:
        self._loading = False
        self._loaded = 0
        self._kept_index = ""
        self._seen: set[str] = set()
        super().__init__(path, write=write)

    def _register(self) -> None:
        super()._register()
        seen = self._seen

        # It must not know of the store: a circle would keep the file open after the store is gone.
        def words(text: str | None, about: str | None = None) -> str | None:
            return index_text(text, about, seen)

        functions: dict[str, Any] = {
            "memglot_words": words,
            "memglot_texts": short_values,
            "memglot_values": index_values,
            "memglot_written": is_written,
            "memglot_word": is_word,
        }
        for name, function in functions.items():
            self.db.create_scalar_function(name, function, -1, deterministic=True)

    @contextmanager
    def loading(self, *, by_content: bool) -> Iterator[None]:
        """Let the late indexes and the full text lag behind inside; a cut-off load is completed by the next open."""
        self._loading = True
        self._loaded = 0
        self._kept_index = "records_content" if by_content else ""
        try:
            yield
        except KeyboardInterrupt:
            # Whoever stops a load does not want to wait; the next writing open completes it.
            raise
        except Exception:
            self._loading = False
            self.complete()
            raise
        finally:
            self._loading = False
        self.complete()

    def _lighten(self, coming: int) -> None:
        """Drop the late indexes once a load is large beside the store.

        Random keys make every batch touch nearly every page of an index: beyond a tenth of the store, building it
        anew at the end costs less.
        """
        before, self._loaded = self._loaded, self._loaded + coming
        there = self.newest()
        if before == 0 and there == 0 or before <= max(_LARGE, there // 10) < self._loaded:
            for name in LATE_INDEXES:
                if name != self._kept_index:
                    self.db.execute(f"DROP INDEX IF EXISTS {name}")

    def complete(self) -> None:
        """Create the late indexes that are missing, and index the text that is not indexed yet."""
        if not self._has_text():
            self.rebuild_text()
            return
        missing = self._missing_indexes()
        if missing:
            # The cache also bounds what building an index holds in memory: a small one keeps that flat.
            self.db.execute("PRAGMA cache_size = -8192")
        for name in missing:
            with self.writing():
                if name in self._missing_indexes():
                    self.db.execute(LATE_INDEXES[name])
            self.give_way()
        if missing:
            self.db.execute(f"PRAGMA cache_size = {CACHE}")
        if not self._value("SELECT value FROM keeping WHERE name = 'upgraded'"):
            self._upgrade_text()
        while self.newest() > self.indexed_to():
            with self.writing():
                self.index_text(self._fitting())
            self.give_way()

    def _fitting(self) -> int:
        """How many of the records that are not indexed yet are indexed at once."""
        start = self.indexed_to()
        weighed = (
            "SELECT seq, sum(octet_length(content)) OVER (ORDER BY seq) AS weight FROM records WHERE seq > ? LIMIT ?"
        )
        sql = f"SELECT coalesce(max(seq) FILTER (WHERE weight <= ?), min(seq)) FROM ({weighed})"
        return (self._value(sql, (_TEXT_BYTES, start, _TEXT_CHUNK)) or start + _TEXT_CHUNK) - start

    def _upgrade_text(self) -> None:
        """Fill the index of a store that an earlier version made, so that a kill costs little of what was done."""
        if self.newest() - self.indexed_to() > _LARGE:
            self.notes.append("the store was made by an earlier memglot: its full text index was made anew, once")
        while self.newest() > self.indexed_to():
            with self.writing():
                self.index_text(_LARGE)
            self.give_way()
        with self.writing():
            self.db.execute("UPDATE keeping SET value = 1 WHERE name = 'upgraded'")

    def index_text(self, limit: int) -> None:
        """Index the text of up to so many new records."""
        start = self.indexed_to()
        newest = self.newest()
        stop = min(newest, start + limit)
        if stop > start:
            many = stop - start > 1_000
            if many:
                self.db.execute("INSERT INTO record_text (record_text, rank) VALUES ('automerge', 0)")
            self.db.execute(f"{_FILL} WHERE seq > ? AND seq <= ?", (start, stop))
            if many:
                self.db.execute("INSERT INTO record_text (record_text, rank) VALUES ('automerge', 4)")
            self._place("seq > ? AND seq <= ?", (start, stop))
            self._keep_languages()
            self.db.execute("UPDATE keeping SET value = ? WHERE name = 'indexed_to'", (stop,))

    def reindex(self, seq: int) -> None:
        """Index the text of one record again. It keeps its place in a thread."""
        had = list(self._rows("SELECT thread, position FROM turns WHERE seq = ?", (seq,)))
        self.unindex([seq])
        self.db.execute(f"{_FILL} WHERE seq = ?", (seq,))
        self._place("seq = ?", (seq,))
        self._keep_languages()
        for thread, position in had:
            self.db.execute("UPDATE turns SET position = ? WHERE seq = ? AND thread = ?", (position, seq, thread))

    def unindex(self, numbers: Sequence[int]) -> None:
        """Forget the text and the places of records."""
        wanted = (listed(numbers),)
        these = "IN (SELECT value FROM json_each(?))"
        self.db.execute(f"DELETE FROM record_text WHERE rowid {these}", wanted)
        self.db.execute(f"DELETE FROM turns WHERE seq {these}", wanted)

    def rebuild_text(self) -> None:
        """Make the full text and the places anew from the records."""
        with self.writing():
            self._drop_text()
            self.db.execute(TEXT_INDEX)
            self.db.execute("DELETE FROM turns")
            self.db.execute("UPDATE keeping SET value = 0 WHERE name = 'indexed_to'")
        self.complete()

    def _drop_text(self) -> None:
        try:
            self.db.execute("DROP TABLE IF EXISTS record_text")
        except apsw.Error:
            # It is so damaged that SQLite cannot even open it in order to drop it.
            self.db.execute("PRAGMA writable_schema = ON")
            self.db.execute("DELETE FROM sqlite_schema WHERE name = 'record_text'")
            self.db.execute("PRAGMA writable_schema = RESET")
        for part in ("data", "idx", "content", "docsize", "config"):
            self.db.execute(f"DROP TABLE IF EXISTS record_text_{part}")

    def _has_text(self) -> bool:
        return self._value("SELECT 1 FROM sqlite_schema WHERE name = 'record_text'") is not None

    def languages(self) -> frozenset[str]:
        """The languages that the index holds stems of."""
        return frozenset(self._value("SELECT value FROM keeping WHERE name = 'languages'").split())

    def _keep_languages(self) -> None:
        if self._seen:
            known = self.languages()
            if not self._seen <= known:
                value = " ".join(sorted(known | self._seen))
                self.db.execute("UPDATE keeping SET value = ? WHERE name = 'languages'", (value,))
            self._seen.clear()

    def _place(self, where: str, bindings: tuple[int, ...]) -> None:
        """Find the places of records that belong to a conversation, a session or a note."""
        sql = (
            f"SELECT seq, scope, meta, rest, content FROM records WHERE ({where}) AND ({MAY_HAVE_THREAD}) ORDER BY seq"
        )
        last: dict[int, tuple[int, int]] = {}
        rows = []
        for seq, scope, meta, rest, content in self._rows(sql, bindings):
            source = _decode(rest).get("source") or {} if rest else {}
            turn = turn_of(scope, _decode(meta) if meta else {}, source, content)
            if turn is not None:
                position = self._next_position(turn, seq, last)
                rows.append((seq, turn.thread, position, turn.speaker, turn.words, turn.traits))
        self.db.executemany("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?)", rows)

    def _next_position(self, turn: Turn, seq: int, last: dict[int, tuple[int, int]]) -> int:
        known = last.get(turn.thread)
        if known is None:
            sql = "SELECT position, seq FROM turns WHERE thread = ? ORDER BY position DESC LIMIT 1"
            known = next(((before, number) for before, number in self._rows(sql, (turn.thread,))), None)
        position = 0 if known is None else known[0] + 1
        if known is not None and seq - known[1] > _FAR:
            position = (known[0] // _STRETCH + 1) * _STRETCH
        last[turn.thread] = position, seq
        return position

    def check_text(self) -> bool:
        """Tell whether the full text is whole and covers just the records that are there."""
        sql = (
            "SELECT (SELECT count(*) FROM record_text_docsize WHERE id NOT IN (SELECT seq FROM records)) + "
            "(SELECT count(*) FROM records WHERE seq NOT IN (SELECT id FROM record_text_docsize))"
        )
        try:
            if self.write:
                self.db.execute("INSERT INTO record_text (record_text) VALUES ('integrity-check')")
            return not self.db.execute(sql).get and self.finds_newest()
        except (apsw.CorruptError, apsw.SQLError, DamagedStore):
            return False

    @cached_property
    def _tokens(self) -> Callable[[str], list[str]]:
        """Cuts a text into words as the index does."""
        cut = self.db.fts5_tokenizer(*TOKENIZER)

        def tokens(text: str) -> list[str]:
            found: Any = cut(
                text.encode("utf-8", "replace"),
                apsw.FTS5_TOKENIZE_QUERY,
                None,
                include_offsets=False,
                include_colocated=False,
            )
            return list(found)

        return tokens

    def finds_newest(self) -> bool:
        """Tell whether the index finds the newest records by a word of theirs: a damaged one may just find nothing."""
        sql = (
            "SELECT seq, memglot_words(substr(content, 1, 2000)) FROM records WHERE seq <= ? ORDER BY seq DESC LIMIT 5"
        )
        for seq, words in self._rows(sql, (self.indexed_to(),)):
            # A piece of the text as it stands: the index may cut it into several words, but into some.
            piece = next((piece for piece in words.split() if len(piece) <= 100 and self._tokens(piece)), None)
            asked = "SELECT 1 FROM record_text WHERE record_text MATCH ? AND rowid = ?"
            if piece and self._value(asked, ('"' + piece.replace('"', '""') + '"', seq)) is None:
                return False
        return True

    def is_complete(self) -> bool:
        """Tell whether every index is there and covers every record."""
        return not self._missing_indexes() and self.is_indexed()

    def is_indexed(self) -> bool:
        """Tell whether the full text covers every record."""
        return bool(self.newest() <= self.indexed_to())

    def newest(self) -> int:
        """The number of the newest record; 0 without any."""
        return int(self._value("SELECT coalesce(max(seq), 0) FROM records"))

    def indexed_to(self) -> int:
        """The last record whose text is indexed."""
        return int(self._value("SELECT value FROM keeping WHERE name = 'indexed_to'"))

    def _missing_indexes(self) -> list[str]:
        found = {name for (name,) in self._rows("SELECT name FROM sqlite_schema WHERE type = 'index'")}
        return [name for name in LATE_INDEXES if name not in found]
