"""Search in the SQLite store: which records match by their words, and how well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, TypeVar

import apsw

from memglot.errors import DamagedStore, DamagedText
from memglot.model import DELETED, Record
from memglot.notes import note_text_index
from memglot.store.query import Filter, Match, Query
from memglot.store.sqlite.filters import NOT_DELETED, condition
from memglot.store.sqlite.fts_query import Lookup, expression, hard_conditions
from memglot.store.sqlite.neighbours import Nearby
from memglot.store.sqlite.rows import COLUMNS, from_row, listed
from memglot.text.words import index_text, index_values, short_values

_RANK = "bm25(record_text, 1.0, 3.0, 2.0, 1.0, 1.0)"
_TEXTS = "content, title, tags, tree, meta"
_WANTED = "(SELECT value AS wanted, key AS place FROM json_each(?))"
_ANY_DELETED = f"SELECT 1 FROM records WHERE status = '{DELETED}' LIMIT 1"
T = TypeVar("T")


class Search(Nearby):
    """The part of the store that finds records by their text."""

    _broken = False
    """Whether the index was found to be damaged; then the texts themselves are searched."""
    _last: tuple[tuple[Query, Filter], str, list[Any]] | None = None
    _usable: bool | None = None
    """Whether the index can be used, where that was asked once for a whole search."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let all that is read inside be of one moment. What reading needs is made before it begins."""
        _ = self._has_vocabulary
        with super().reading():
            self._usable, self._last = self.is_indexed(), None
            try:
                yield
            finally:
                self._usable = None

    def match(self, query: Query, filter: Filter, limit: int, offset: int = 0) -> list[Match]:
        """The best matches by words, best first, then newest first."""
        if not expression(query):
            # Signs that no index knows, such as an emoji, are looked for in the texts.
            sql = "SELECT seq FROM records WHERE {where} ORDER BY seq DESC LIMIT ? OFFSET ?"
            return [Match(seq, 1.0) for (seq,) in self._selected(query, filter, sql, after=(limit, offset))]

        def matches() -> list[Match]:
            if self._is_usable():
                found = self._match_indexed(query, filter, limit, offset)
                if found or offset or self.finds_newest():
                    return found
                raise DamagedText(self.url)
            end = -1 if limit < 0 else offset + limit
            first = [] if self._broken else self._match_indexed(query, filter, end, 0)
            best = max((match.score for match in first), default=1.0)
            found = [*first, *(Match(number, share * best) for number, share in self._match_scanned(query, filter))]
            found.sort(key=lambda match: (-match.score, -match.number))
            return found[offset:end] if limit >= 0 else found[offset:]

        return self._mended(matches)

    def count_matches(self, query: Query, filter: Filter, among: Sequence[int] = ()) -> tuple[int, int]:
        """How many `match` would give without a limit, and how many of these are among some records."""
        if not expression(query):
            return self.count_allowed(query, filter), len(self.allowed(query, filter, among))

        def counts() -> tuple[int, int]:
            count, of_these = (0, 0) if self._broken else self._count_indexed(query, filter, among)
            if not self._is_usable():
                found = {number for number, _ in self._match_scanned(query, filter)}
                count, of_these = count + len(found), of_these + len(found.intersection(among))
            return count, of_these

        return self._mended(counts)

    def allowed(self, query: Query, filter: Filter, numbers: Sequence[int]) -> set[int]:
        """Those among some records that the filter and all but the terms of the query let through."""
        if self._lets_all_through(query, filter):
            return set(numbers)
        sql = "SELECT records.seq FROM json_each(?) JOIN records ON records.seq = value WHERE {where}"
        return {seq for (seq,) in self._selected(query, filter, sql, before=(listed(numbers),))}

    def numbers(self, query: Query, filter: Filter, limit: int, offset: int = 0) -> list[int]:
        """The numbers of records, newest first, that the filter and all but the terms of a query let through."""
        sql = "SELECT seq FROM records WHERE {where} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?"
        return [seq for (seq,) in self._selected(query, filter, sql, after=(limit, offset))]

    def count_allowed(self, query: Query, filter: Filter) -> int:
        """How many `numbers` would give without a limit."""
        ((count,),) = self._selected(query, filter, "SELECT count(*) FROM records WHERE {where}")
        return int(count)

    def count_vectors(self, query: Query, filter: Filter) -> int:
        """How many records with a vector the filter and all but the terms of a query let through."""
        if self._lets_all_through(query, filter):
            return self.vector_state().count
        sql = "SELECT count(*) FROM vectors JOIN records ON records.seq = vectors.seq WHERE {where}"
        ((count,),) = self._selected(query, filter, sql)
        return int(count)

    def _lets_all_through(self, query: Query, filter: Filter) -> bool:
        where, _ = self._filtered(query, filter)
        return where == f"({NOT_DELETED})" and self._value(_ANY_DELETED) is None

    def _selected(
        self, query: Query, filter: Filter, sql: str, before: Sequence[Any] = (), after: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement under the conditions of a query and a filter, with bindings around theirs."""

        def selected() -> list[tuple[Any, ...]]:
            where, bindings = self._filtered(query, filter)
            return list(self._rows(sql.format(where=where), (*before, *bindings, *after)))

        return self._mended(selected)

    def _is_usable(self) -> bool:
        if self._broken:
            return False
        return self.is_indexed() if self._usable is None else self._usable

    def forget_damage(self) -> None:
        """Trust the index again, once it was made anew."""
        self._broken, self._last = False, None
        self.notes = [note for note in self.notes if note != note_text_index()]

    def _mended(self, ask: Callable[[], T]) -> T:
        """Ask; where the index turns out to be damaged, ask again without it."""
        try:
            return ask()
        except (apsw.CorruptError, apsw.SQLError, DamagedStore):
            if self._broken:
                raise
            self._broken, self._last = True, None
            self.notes.append(note_text_index())
            return ask()

    def _match_indexed(self, query: Query, filter: Filter, limit: int, offset: int) -> list[Match]:
        source, where, bindings = self._asked(query, filter)
        sql = (
            f"SELECT record_text.rowid, -{_RANK} AS score FROM {source} WHERE {where} "
            f"ORDER BY score DESC, 1 DESC LIMIT {limit} OFFSET {offset}"
        )
        return [Match(number, score) for number, score in self._rows(sql, bindings)]

    def _count_indexed(self, query: Query, filter: Filter, among: Sequence[int]) -> tuple[int, int]:
        source, where, bindings = self._asked(query, filter)
        these = "record_text.rowid IN (SELECT value FROM json_each(?))"
        sql = f"SELECT count(*), coalesce(sum({these}), 0) FROM {source} WHERE {where}"
        ((count, of_these),) = self._rows(sql, (listed(among), *bindings))
        return count, of_these

    def _asked(self, query: Query, filter: Filter) -> tuple[str, str, list[Any]]:
        """Where to look and under which conditions, by way of the index."""
        hard, bindings = self._filtered(query, filter)
        if hard == f"({NOT_DELETED})":
            source = "record_text"
            hard = hard.replace("records.seq", "record_text.rowid", 1)
        else:
            source = "record_text JOIN records ON records.seq = record_text.rowid"
        return source, f"record_text MATCH ? AND {hard}", [expression(query), *bindings]

    def _filtered(self, query: Query, filter: Filter) -> tuple[str, list[Any]]:
        """What must hold for a record to be found at all. A search asks several times, and shares a pattern's time."""
        if self._last is None or self._last[0] != (query, filter):
            where, bindings = condition(filter, joined=True)
            hard = hard_conditions(query)
            where = " AND ".join([where, *(f"({sql})" for sql, _ in hard)])
            self._last = (query, filter), where, [*bindings, *(value for _, values in hard for value in values)]
        return self._last[1], list(self._last[2])

    def _match_scanned(self, query: Query, filter: Filter) -> list[tuple[int, float]]:
        """Those that match among the texts that no index covers, with the share of the query's words that they have."""
        where, bindings = self._filtered(query, filter)
        lookup = Lookup(query, self._tokens)
        sql = f"SELECT seq, {_TEXTS} FROM records WHERE seq > ? AND {where}"
        found = []
        for seq, *texts in self._rows(sql, (0 if self._broken else self.indexed_to(), *bindings)):
            words = lookup.words_in(self._cut(texts))
            # What is written in quotes is there, or the conditions would have left the record out.
            if words or query.phrases:
                found.append((seq, max(1, len(words)) / max(1, len(query.terms) + len(query.phrases))))
        return found

    def _cut(self, texts: Sequence[str | None]) -> list[str]:
        content, title, tags, tree, meta = texts
        plain = (index_text(short_values(tags), content), index_text(tree), index_values(meta))
        parts = (index_text(content), index_text(title, content), *plain)
        # A word between the parts keeps a phrase from reaching from one into the next.
        return self._tokens(" \ue000 ".join(part for part in parts if part))

    def matched(self, query: Query, numbers: Sequence[int]) -> dict[int, list[str]]:
        """Which words of a query each of some records holds."""
        lookup = Lookup(query, self._tokens)
        sql = f"SELECT seq, {_TEXTS} FROM {_WANTED} JOIN records ON seq = wanted"
        return {seq: lookup.words_in(self._cut(texts)) for seq, *texts in self._rows(sql, (listed(numbers),))}

    def frequencies(self, forms: Sequence[str]) -> tuple[list[int], int]:
        """How many records hold each form of a word, and how many records there are."""
        whole = int(self._value("SELECT value FROM keeping WHERE name = 'records'"))
        cut = [self._tokens(form) for form in forms]
        single = list({tokens[0] for tokens in cut if len(tokens) == 1})
        known: dict[str, int] = {}
        if single and self._has_vocabulary:
            sql = "SELECT term, doc FROM json_each(?) CROSS JOIN temp.vocabulary ON term = value"
            with suppress(apsw.CorruptError, apsw.SQLError):
                known = {str(term): int(count) for term, count in self.db.execute(sql, (listed(single),))}
        return [known.get(tokens[0], 0) if len(tokens) == 1 else 0 for tokens in cut], whole

    @cached_property
    def _has_vocabulary(self) -> bool:
        try:
            self.db.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, record_text, row)")
        except (apsw.CorruptError, apsw.SQLError):
            return False
        return True

    def at(self, numbers: Sequence[int]) -> list[Record]:
        """The records with these numbers, in their order."""
        sql = f"SELECT {COLUMNS} FROM {_WANTED} JOIN records ON seq = wanted ORDER BY place"
        return [from_row(row) for row in self._rows(sql, (listed(numbers),))]
