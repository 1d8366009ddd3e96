"""Indexes of the SQLite store: deferred ones, the text index, and the positions of memories in conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import apsw
import msgspec

from memglot.errors import DamagedStore
from memglot.store.sqlite.connection import CACHE, Connection
from memglot.store.sqlite.failures import FAILURES, check_texts, of_texts
from memglot.store.sqlite.fts_query import is_word, is_written
from memglot.store.sqlite.rows import listed
from memglot.store.sqlite.schema import COUNTS, DEFERRED_INDEXES, TEXT_INDEX, TOKENIZER
from memglot.text.dialogue import MAY_HAVE_THREAD, Turn, turn_of
from memglot.text.words import index_text, index_values, short_values

_TEXT_CHUNK, _TEXT_BYTES = 10_000, 4 << 20
"""Maximum number of records and bytes of content indexed in one transaction; other writers wait for its end."""
_LARGE = 20_000
_FEW = 100
"""Number of records up to which parts of the text index are merged when records are removed."""
_MERGED_PAGES = 200
"""Number of pages of the text index merged in one transaction."""
_NO_CRISIS = 1_999
"""Maximum number of parts of the text index before SQLite merges all of them at once, which takes seconds."""
_WORDS = """
seq, memglot_words(content), iif(title IS NULL, NULL, memglot_words(title, content)),
iif(tags IS NULL, NULL, memglot_words(memglot_texts(tags), content)),
iif(tree GLOB '*[A-Z]*', memglot_words(tree), tree), iif(meta IS NULL, NULL, memglot_values(meta))
"""
_FILL = f"INSERT INTO record_text (rowid, content, title, tags, tree, meta) SELECT {_WORDS} FROM records"
_SESSION_GAP = 64
"""A session that continues after this many other memories is ranked as another session of the same name."""
_SESSION_STRIDE = 1 << 20
"""Positions in a thread grow by one, and after such a gap to the next multiple of this number."""
_SAMPLE = 1_000
"""Number of records that a check looks up in the text index."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


NOTE_DAMAGED_INDEX = "the full-text index does not match the memories; run `memglot doctor --fix` to rebuild it"
"""Note about a full-text index that must be rebuilt."""


class TextIndex:
    """Keeps the indexes of a store up to date."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._db = connection, connection.db
        self.is_loading = False
        self._loaded = 0
        self._kept_index = ""
        self._seen_languages: set[str] = set()
        self._register()

    def _register(self) -> None:
        """Define the SQL functions that fill and check the index."""
        seen = self._seen_languages

        # It must not refer to `self`: a reference cycle would keep the file open after the store is gone.
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
            self._db.create_scalar_function(name, of_texts(function), -1, deterministic=True)

    @contextmanager
    def loading(self, *, by_content: bool) -> Iterator[None]:
        """Let the deferred indexes and the text index fall behind; the next open completes an interrupted load."""
        self.is_loading = True
        self._loaded = 0
        self._kept_indexes = {"records_content"} if by_content else set()
        if self._connection.value("SELECT 1 FROM imported_digests LIMIT 1"):
            self._kept_indexes.add("imported_digests_digest")
        try:
            yield
        except KeyboardInterrupt:
            # A user who stops a load does not want to wait; the next open for writing completes it.
            raise
        except Exception:
            self.is_loading = False
            self.complete()
            raise
        finally:
            self.is_loading = False
        self.complete()

    def drop_deferred(self, added: int) -> None:
        """Drop the deferred indexes once a load is large compared to the store.

        Random keys make every batch touch nearly every page of an index: beyond a tenth of the store, rebuilding it
        at the end costs less.
        """
        before, self._loaded = self._loaded, self._loaded + added
        stored = self.newest()
        if before == 0 and stored == 0 or before <= max(_LARGE, stored // 10) < self._loaded:
            for name in DEFERRED_INDEXES:
                if name not in self._kept_indexes:
                    self._db.execute(f"DROP INDEX IF EXISTS {name}")

    def complete(self) -> None:
        """Create missing deferred indexes, and index the text that is not indexed yet."""
        if not self._has_table():
            self.rebuild()
            return
        missing = self._missing_indexes()
        if missing:
            # The cache also limits the memory for building an index, so keep it small.
            self._db.execute("PRAGMA cache_size = -8192")
        for name in missing:
            with self._connection.writing():
                if name in self._missing_indexes():
                    self._db.execute(DEFERRED_INDEXES[name])
            self._connection.give_way()
        if missing:
            self._db.execute(f"PRAGMA cache_size = {CACHE}")
        if not self._connection.get_state("upgraded"):
            self._upgrade()
        is_long = self.newest() - self.indexed_to() > _TEXT_CHUNK
        while self.newest() > self.indexed_to():
            with self._connection.writing():
                self.add(self._next_chunk())
            self._connection.give_way()
        if is_long:
            self._merge_parts()

    def _merge_parts(self) -> None:
        """Merge the parts that many transactions left in the text index, which makes searches faster."""
        before = -1
        # SQLite changes one row of its own even if there is nothing to merge.
        while self._db.total_changes() - before > 1:
            before = self._db.total_changes()
            with self._connection.writing():
                self._set_text_index("merge", _MERGED_PAGES)
            self._connection.give_way()

    def _set_text_index(self, name: str, value: int) -> None:
        """Change a setting of the text index, or run one of its commands."""
        self._db.execute("INSERT INTO record_text (record_text, rank) VALUES (?, ?)", (name, value))

    def _next_chunk(self) -> int:
        """Return how many of the unindexed records to index in the next transaction."""
        start = self.indexed_to()
        sizes = "SELECT seq, sum(octet_length(content)) OVER (ORDER BY seq) AS size FROM records WHERE seq > ? LIMIT ?"
        sql = f"SELECT coalesce(max(seq) FILTER (WHERE size <= ?), min(seq)) FROM ({sizes})"
        return (self._connection.value(sql, (_TEXT_BYTES, start, _TEXT_CHUNK)) or start + _TEXT_CHUNK) - start

    def _upgrade(self) -> None:
        """Fill the index of a store made by an earlier version, in steps, so that an interruption loses little."""
        if self.newest() - self.indexed_to() > _LARGE:
            self._connection.notes.append("upgraded the store from an earlier memglot and rebuilt its text index")
        while self.newest() > self.indexed_to():
            with self._connection.writing():
                self.add(self._next_chunk())
            self._connection.give_way()
        with self._connection.writing():
            self._connection.set_state(upgraded=1)

    def add(self, limit: int) -> None:
        """Index the text of up to `limit` new records."""
        start = self.indexed_to()
        newest = self.newest()
        stop = min(newest, start + limit)
        if stop > start:
            many = stop - start > 1_000
            if many:
                self._set_text_index("automerge", 0)
                self._set_text_index("crisismerge", _NO_CRISIS)
            self._db.execute(f"{_FILL} WHERE seq > ? AND seq <= ?", (start, stop))
            if many:
                self._set_text_index("automerge", 4)
            self._add_turns("seq > ? AND seq <= ?", (start, stop))
            self._store_languages()
            self._connection.set_state(indexed_to=stop)

    def update(self, numbers: Sequence[int]) -> None:
        """Index the text of records again. They keep their positions in threads."""
        these, wanted = "seq IN (SELECT value FROM json_each(?))", (listed(numbers),)
        had = list(self._connection.rows(f"SELECT position, seq, thread FROM turns WHERE {these}", wanted))
        self.remove(numbers)
        self._db.execute(f"{_FILL} WHERE {these}", wanted)
        self._add_turns(these, wanted)
        self._store_languages()
        self._db.executemany("UPDATE turns SET position = ? WHERE seq = ? AND thread = ?", had)

    def remove(self, numbers: Sequence[int]) -> None:
        """Remove the text and the positions of records."""
        wanted = (listed(numbers),)
        these = "IN (SELECT value FROM json_each(?))"
        many = len(numbers) > _FEW
        if many:
            # Otherwise every batch of a large deletion merges parts of the index that lost a tenth of their records.
            self._set_text_index("automerge", 0)
            self._set_text_index("deletemerge", 0)
        self._db.execute(f"DELETE FROM record_text WHERE rowid {these}", wanted)
        if many:
            self._set_text_index("deletemerge", 10)
            self._set_text_index("automerge", 4)
        self._db.execute(f"DELETE FROM turns WHERE seq {these}", wanted)

    def rebuild(self) -> None:
        """Rebuild the text index and the positions from the records."""
        with self._connection.writing():
            self._drop_table()
            self._db.execute(TEXT_INDEX)
            self._db.execute("DELETE FROM turns")
            self._connection.set_state(indexed_to=0)
        self.complete()

    def _drop_table(self) -> None:
        try:
            self._db.execute("DROP TABLE IF EXISTS record_text")
        except apsw.Error:
            # The index is so damaged that SQLite cannot open it to drop it.
            self._db.execute("PRAGMA writable_schema = ON")
            self._db.execute("DELETE FROM sqlite_schema WHERE name = 'record_text'")
            self._db.execute("PRAGMA writable_schema = RESET")
        for part in ("data", "idx", "content", "docsize", "config"):
            self._db.execute(f"DROP TABLE IF EXISTS record_text_{part}")

    def _has_table(self) -> bool:
        return self._connection.value("SELECT 1 FROM sqlite_schema WHERE name = 'record_text'") is not None

    def languages(self) -> frozenset[str]:
        """Return the languages, besides English, whose stems are in the index."""
        return frozenset(self._connection.get_state("languages").split())

    def _store_languages(self) -> None:
        if self._seen_languages:
            known = self.languages()
            if not self._seen_languages <= known:
                self._connection.set_state(languages=" ".join(sorted(known | self._seen_languages)))
            self._seen_languages.clear()

    def _add_turns(self, where: str, bindings: tuple[int | str, ...]) -> None:
        """Store the positions of records that belong to a conversation, a session or a note."""
        sql = (
            "SELECT seq, scope, meta, other_fields, content FROM records "
            f"WHERE ({where}) AND ({MAY_HAVE_THREAD}) ORDER BY seq"
        )
        last: dict[int, tuple[int, int]] = {}
        rows = []
        for seq, scope, meta, other_fields, content in self._connection.rows(sql, bindings):
            check_texts((scope, meta, other_fields, content))
            source = _decode(other_fields).get("source") or {} if other_fields else {}
            turn = turn_of(scope, _decode(meta) if meta else {}, source, content)
            if turn is not None:
                position = self._next_position(turn, seq, last)
                rows.append((seq, turn.thread, position, turn.speaker, turn.words, turn.traits))
        self._db.executemany("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?)", rows)

    def _next_position(self, turn: Turn, seq: int, last: dict[int, tuple[int, int]]) -> int:
        known = last.get(turn.thread)
        if known is None:
            sql = "SELECT position, seq FROM turns WHERE thread = ? ORDER BY position DESC LIMIT 1"
            known = next(((before, number) for before, number in self._connection.rows(sql, (turn.thread,))), None)
        position = 0 if known is None else known[0] + 1
        if known is not None and seq - known[1] > _SESSION_GAP:
            position = (known[0] // _SESSION_STRIDE + 1) * _SESSION_STRIDE
        last[turn.thread] = position, seq
        return position

    def is_intact(self) -> bool:
        """Return True if the text index covers exactly the records that it should cover so far, and finds them."""
        sql = (
            "SELECT (SELECT count(*) FROM record_text_docsize WHERE id NOT IN (SELECT seq FROM records)) + "
            "(SELECT count(*) FROM records WHERE seq <= ? AND seq NOT IN (SELECT id FROM record_text_docsize))"
        )
        try:
            return not self._db.execute(sql, (self.indexed_to(),)).get and self._finds_sample()
        except (*FAILURES, DamagedStore):
            return False

    @cached_property
    def tokens(self) -> Callable[[str], list[str]]:
        """The function that splits a text into words as the index does."""
        cut = self._db.fts5_tokenizer(*TOKENIZER)

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
        """Return True if the index finds the newest records by one of their words: a damaged index may find nothing."""
        return self._finds("SELECT seq FROM records WHERE seq <= ? ORDER BY seq DESC LIMIT 5", (self.indexed_to(),))

    def _finds_sample(self) -> bool:
        """Return True if the index finds records from everywhere in the store; of a small store, all of them."""
        end = self.indexed_to()
        numbers = range(1, end + 1, 1 + end // _SAMPLE)
        return self._finds("SELECT value FROM json_each(?)", (listed(numbers),))

    def _finds(self, numbers: str, bindings: tuple[object, ...]) -> bool:
        sql = f"SELECT seq, memglot_words(substr(content, 1, 2000)) FROM records WHERE seq IN ({numbers})"
        for seq, words in self._connection.rows(sql, bindings):
            # A piece of the text as written: the index may split it into several words, but into at least one.
            piece = next((piece for piece in (words or "").split() if len(piece) <= 100 and self.tokens(piece)), None)
            sql = "SELECT 1 FROM record_text WHERE record_text MATCH ? AND rowid = ?"
            if piece and self._connection.value(sql, ('"' + piece.replace('"', '""') + '"', seq)) is None:
                return False
        return True

    def is_complete(self) -> bool:
        """Return True if every index that searches use exists and covers every record."""
        return not set(self._missing_indexes()) - {COUNTS} and self.is_indexed()

    def is_indexed(self) -> bool:
        """Return True if the text index covers every record."""
        return bool(self.newest() <= self.indexed_to())

    def newest(self) -> int:
        """Return the number of the newest record; 0 if there is none."""
        return int(self._connection.value("SELECT coalesce(max(seq), 0) FROM records"))

    def indexed_to(self) -> int:
        """Return the number of the last record whose text is indexed."""
        return int(self._connection.get_state("indexed_to"))

    def _missing_indexes(self) -> list[str]:
        found = {name for (name,) in self._connection.rows("SELECT name FROM sqlite_schema WHERE type = 'index'")}
        return [name for name in DEFERRED_INDEXES if name not in found]
