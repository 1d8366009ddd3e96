"""Search in the SQLite store: full-text matches, and what is near a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, TypeVar

import apsw
import msgspec

from memglot.errors import DamagedStore, DamagedText
from memglot.model import DEFAULT_STATUS, DELETED, Record
from memglot.store.query import Filter, Match, Query, Signals, ThreadPosition
from memglot.store.sqlite.connection import Connection
from memglot.store.sqlite.failures import check_texts
from memglot.store.sqlite.filters import NOT_DELETED, condition
from memglot.store.sqlite.fts_query import Lookup, expression, hard_conditions
from memglot.store.sqlite.rows import COLUMNS, from_row, listed
from memglot.store.sqlite.text_index import NOTE_DAMAGED_INDEX, TextIndex
from memglot.text.words import index_text, index_values, short_values

_RANK = "bm25(record_text, 1.0, 3.0, 2.0, 1.0, 1.0)"
_TEXTS = "content, title, tags, tree, meta"
_WANTED = "(SELECT value AS wanted, key AS place FROM json_each(?))"
_ANY_DELETED = f"SELECT 1 FROM records WHERE status = '{DELETED}' LIMIT 1"
_IN_THREAD = """
SELECT DISTINCT other.seq, other.thread, other.position, other.speaker, other.words, other.traits
FROM json_each(?1) JOIN turns AS own ON own.seq = value
JOIN turns AS other ON other.thread = own.thread AND other.position BETWEEN own.position - ?2 AND own.position + ?2
"""
_STORED_NEXT_TO = """
SELECT own.seq, other.seq, other.seq - own.seq
FROM json_each(?1) JOIN records AS own ON own.seq = value
JOIN records AS other ON other.seq BETWEEN own.seq - ?2 AND own.seq + ?2 AND other.seq <> own.seq
WHERE other.scope = own.scope AND own.seq NOT IN (SELECT seq FROM turns) AND other.seq NOT IN (SELECT seq FROM turns)
"""
_RELATED = """
SELECT own.seq, other.seq FROM json_each(?1) JOIN records AS own ON own.seq = value
JOIN relations ON relations.owner = own.id JOIN records AS other ON other.id = relations.second_key
WHERE coalesce(relations.doc ->> '$.status', 'active') = 'active'
UNION
SELECT own.seq, other.seq FROM json_each(?1) JOIN records AS own ON own.seq = value
JOIN relations ON relations.second_key = own.id JOIN records AS other ON other.id = relations.owner
WHERE coalesce(relations.doc ->> '$.status', 'active') = 'active'
"""
_THERE = f"seq NOT IN (SELECT gone.seq FROM records AS gone WHERE gone.status = '{DELETED}')"

T = TypeVar("T")


class SqliteSearch:
    """Full-text search; see `memglot.store.contract.SearchIndex`."""

    def __init__(self, connection: Connection, text: TextIndex) -> None:
        self._connection, self._db, self._text = connection, connection.db, text
        self._is_damaged = False
        """Whether the text index was found to be damaged; then the texts themselves are searched."""
        self._last: tuple[tuple[Query, Filter], str, list[Any]] | None = None
        self._usable: bool | None = None
        """Whether the index can be used, if that was checked once for a complete search."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read from one snapshot inside. What reading needs is created before it begins."""
        _ = self._has_vocabulary
        with self._connection.reading():
            self._usable, self._last = self._text.is_indexed(), None
            try:
                yield
            finally:
                self._usable = None

    # Matches

    def match(self, query: Query, filter: Filter, limit: int, offset: int = 0) -> list[Match]:
        """Return the best keyword matches, best first, then newest first."""
        if not expression(query):
            # Characters that the index does not contain, such as emoji, are searched in the texts.
            sql = "SELECT seq FROM records WHERE {where} ORDER BY seq DESC LIMIT ? OFFSET ?"
            return [Match(seq, 1.0) for (seq,) in self.selected(query, filter, sql, after=(limit, offset))]

        def matches() -> list[Match]:
            if self._is_usable():
                found = self._match_indexed(query, filter, limit, offset)
                if found or offset or self._text.finds_newest():
                    return found
                raise DamagedText(self._connection.url)
            end = -1 if limit < 0 else offset + limit
            first = [] if self._is_damaged else self._match_indexed(query, filter, end, 0)
            best = max((match.score for match in first), default=1.0)
            found = [*first, *(Match(number, share * best) for number, share in self._match_scanned(query, filter))]
            found.sort(key=lambda match: (-match.score, -match.number))
            return found[offset:end] if limit >= 0 else found[offset:]

        return self._without_index_if_damaged(matches)

    def count_matches(self, query: Query, filter: Filter, among: Sequence[int] = ()) -> tuple[int, int]:
        """Return the number of all matches, and the number of those that are among some records."""
        if not expression(query):
            return self.count(query, filter), len(self.allowed(query, filter, among))

        def counts() -> tuple[int, int]:
            count, of_these = (0, 0) if self._is_damaged else self._count_indexed(query, filter, among)
            if not self._is_usable():
                found = {number for number, _ in self._match_scanned(query, filter)}
                count, of_these = count + len(found), of_these + len(found.intersection(among))
            return count, of_these

        return self._without_index_if_damaged(counts)

    def allowed(self, query: Query, filter: Filter, numbers: Sequence[int]) -> set[int]:
        """Return those of the records that `select` returns without a limit."""
        if self.selects_all(query, filter):
            return set(numbers)
        sql = "SELECT records.seq FROM json_each(?) JOIN records ON records.seq = value WHERE {where}"
        return {seq for (seq,) in self.selected(query, filter, sql, before=(listed(numbers),))}

    def select(self, query: Query, filter: Filter, limit: int, offset: int = 0) -> list[int]:
        """Return the records that match the filter and everything in the query but its terms, newest first."""
        sql = "SELECT seq FROM records WHERE {where} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?"
        return [seq for (seq,) in self.selected(query, filter, sql, after=(limit, offset))]

    def count(self, query: Query, filter: Filter) -> int:
        """Return the number of records that `select` returns without a limit."""
        ((count,),) = self.selected(query, filter, "SELECT count(*) FROM records WHERE {where}")
        return int(count)

    def selects_all(self, query: Query, filter: Filter) -> bool:
        """Return True if no record is excluded by the filter and the query."""
        where, _ = self._filtered(query, filter)
        return where == "1" or where == f"({NOT_DELETED})" and self._connection.value(_ANY_DELETED) is None

    def selected(
        self, query: Query, filter: Filter, sql: str, before: Sequence[Any] = (), after: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a statement whose `{where}` is the condition of `select`."""

        def selected() -> list[tuple[Any, ...]]:
            where, bindings = self._filtered(query, filter)
            return list(self._connection.rows(sql.format(where=where), (*before, *bindings, *after)))

        return self._without_index_if_damaged(selected)

    def _is_usable(self) -> bool:
        if self._is_damaged:
            return False
        return self._text.is_indexed() if self._usable is None else self._usable

    def trust_index(self) -> None:
        """Use the text index again after it was rebuilt."""
        self._is_damaged, self._last = False, None
        notes = self._connection.notes
        notes[:] = [note for note in notes if note != NOTE_DAMAGED_INDEX]

    def _without_index_if_damaged(self, ask: Callable[[], T]) -> T:
        """Run a query; if the index turns out to be damaged, run it again without the index."""
        try:
            return ask()
        except (apsw.CorruptError, apsw.SQLError, DamagedStore):
            if self._is_damaged:
                raise
            self._is_damaged, self._last = True, None
            self._connection.notes.append(NOTE_DAMAGED_INDEX)
            return ask()

    def _match_indexed(self, query: Query, filter: Filter, limit: int, offset: int) -> list[Match]:
        source, where, bindings = self._asked(query, filter)
        sql = (
            f"SELECT record_text.rowid, -{_RANK} AS score FROM {source} WHERE {where} "
            f"ORDER BY score DESC, 1 DESC LIMIT {limit} OFFSET {offset}"
        )
        return [Match(number, score) for number, score in self._connection.rows(sql, bindings)]

    def _count_indexed(self, query: Query, filter: Filter, among: Sequence[int]) -> tuple[int, int]:
        source, where, bindings = self._asked(query, filter)
        these = "record_text.rowid IN (SELECT value FROM json_each(?))"
        sql = f"SELECT count(*), coalesce(sum({these}), 0) FROM {source} WHERE {where}"
        ((count, of_these),) = self._connection.rows(sql, (listed(among), *bindings))
        return count, of_these

    def _asked(self, query: Query, filter: Filter) -> tuple[str, str, list[Any]]:
        """Return the tables, conditions and bindings of a search in the index."""
        hard, bindings = self._filtered(query, filter)
        if hard == f"({NOT_DELETED})":
            source = "record_text"
            hard = hard.replace("records.seq", "record_text.rowid", 1)
        else:
            source = "record_text JOIN records ON records.seq = record_text.rowid"
        return source, f"record_text MATCH ? AND {hard}", [expression(query), *bindings]

    def _filtered(self, query: Query, filter: Filter) -> tuple[str, list[Any]]:
        """Return the conditions of `select`. One search uses them several times, and its pattern has one time limit."""
        if self._last is None or self._last[0] != (query, filter):
            where, bindings = condition(filter, joined=True)
            hard = hard_conditions(query)
            where = " AND ".join([where, *(f"({sql})" for sql, _ in hard)])
            self._last = (query, filter), where, [*bindings, *(value for _, values in hard for value in values)]
        return self._last[1], list(self._last[2])

    def _match_scanned(self, query: Query, filter: Filter) -> list[tuple[int, float]]:
        """Return matches among the records that the index does not cover, with the share of query words in each."""
        where, bindings = self._filtered(query, filter)
        lookup = Lookup(query, self._text.tokens)
        sql = f"SELECT seq, {_TEXTS} FROM records WHERE seq > ? AND {where}"
        found = []
        after = 0 if self._is_damaged else self._text.indexed_to()
        for seq, cut in self._connection.read(self._cut, sql, (after, *bindings)):
            words = lookup.words_in(cut)
            # The conditions already require the quoted phrases.
            if words or query.phrases:
                found.append((seq, max(1, len(words)) / max(1, len(query.terms) + len(query.phrases))))
        return found

    def _cut(self, row: Sequence[Any]) -> tuple[int, list[str]]:
        """Return the number of a record and the words of its texts."""
        number, content, title, tags, tree, meta = row
        check_texts(row[1:])
        plain = (index_text(short_values(tags), content), index_text(tree), index_values(meta))
        parts = (index_text(content), index_text(title, content), *plain)
        # A word between the parts keeps a phrase from matching across two of them.
        return number, self._text.tokens(" \ue000 ".join(part for part in parts if part))

    def matched_words(self, query: Query, numbers: Sequence[int]) -> dict[int, list[str]]:
        """Return the words of a query that each of the records contains."""
        lookup = Lookup(query, self._text.tokens)
        sql = f"SELECT seq, {_TEXTS} FROM {_WANTED} JOIN records ON seq = wanted"
        found = self._connection.read(self._cut, sql, (listed(numbers),))
        return {seq: lookup.words_in(cut) for seq, cut in found}

    def frequencies(self, forms: Sequence[str]) -> tuple[list[int], int]:
        """Return the number of records that contain each word form, and the number of all records."""
        total = int(self._connection.get_state("records"))
        cut = [self._text.tokens(form) for form in forms]
        single = list({tokens[0] for tokens in cut if len(tokens) == 1})
        known: dict[str, int] = {}
        if single and self._has_vocabulary:
            sql = "SELECT term, doc FROM json_each(?) CROSS JOIN temp.vocabulary ON term = value"
            with suppress(apsw.CorruptError, apsw.SQLError):
                known = {str(term): int(count) for term, count in self._db.execute(sql, (listed(single),))}
        return [known.get(tokens[0], 0) if len(tokens) == 1 else 0 for tokens in cut], total

    @cached_property
    def _has_vocabulary(self) -> bool:
        try:
            self._db.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, record_text, row)")
        except (apsw.CorruptError, apsw.SQLError):
            return False
        return True

    def languages(self) -> frozenset[str]:
        """Return the languages, besides English, whose stems are in the index."""
        return self._text.languages()

    # Records by number

    def newest(self) -> int:
        """Return the number of the newest record; 0 if there is none."""
        return self._text.newest()

    def records_at(self, numbers: Sequence[int]) -> list[Record]:
        """Return the records with these numbers, in the same order; unknown numbers are ignored."""
        sql = f"SELECT {COLUMNS} FROM {_WANTED} JOIN records ON seq = wanted ORDER BY place"
        return list(self._connection.readable(from_row, sql, (listed(numbers),), is_memory=True))

    def numbers_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the records with these ids."""
        sql = "SELECT id, seq FROM records WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self._connection.rows(sql, (listed(ids),)))

    # Neighbours

    def places(self, numbers: Sequence[int], reach: int) -> list[ThreadPosition]:
        """Return the positions of records in their threads, with up to `reach` neighbours on each side."""
        return list(map(ThreadPosition._make, self._connection.rows(_IN_THREAD, (listed(numbers), reach))))

    def stored_next_to(self, numbers: Sequence[int], reach: int) -> list[tuple[int, int, int]]:
        """Return (number, other, distance) for records outside threads that arrived next to each other in a scope."""
        return [
            (own, other, distance)
            for own, other, distance in self._connection.rows(_STORED_NEXT_TO, (listed(numbers), reach))
        ]

    def around(self, number: int, count: int) -> list[int]:
        """Return up to `count` records before and after one, in its thread or else in its scope."""
        for thread, position in self._connection.rows("SELECT thread, position FROM turns WHERE seq = ?", (number,)):
            sql = (
                f"SELECT seq FROM turns WHERE thread = ? AND position {{}} ? AND {_THERE} "
                "ORDER BY position {} LIMIT ?"
            )
            bindings: tuple[object, ...] = (thread, position, count)
            break
        else:
            scope = self._connection.value("SELECT scope FROM records WHERE seq = ?", (number,))
            sql = (
                f"SELECT seq FROM records WHERE scope = ? AND seq {{}} ? AND {_THERE} "
                "AND seq NOT IN (SELECT seq FROM turns) ORDER BY seq {} LIMIT ?"
            )
            bindings = (scope, number, count)
        before = [seq for (seq,) in self._connection.rows(sql.format("<", "DESC"), bindings)]
        after = [seq for (seq,) in self._connection.rows(sql.format(">", "ASC"), bindings)]
        return [*reversed(before), *after]

    def related(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Return pairs of one of the records and a record connected to it by an active relation."""
        if self._connection.value("SELECT 1 FROM relations LIMIT 1") is None:
            return []
        return [(own, other) for own, other in self._connection.rows(_RELATED, (listed(numbers),)) if own != other]

    def signals(self, numbers: Sequence[int]) -> dict[int, Signals]:
        """Return the status, age, strength and access count of records."""
        sql = (
            "SELECT seq, status, created_at, other_fields ->> '$.strength', "
            "coalesce(other_fields ->> '$.access_count', 0) "
            "FROM json_each(?) JOIN records ON seq = value"
        )
        return {seq: _signals_of(values) for seq, *values in self._connection.rows(sql, (listed(numbers),))}

    def speakers(self, names: Sequence[str]) -> set[str]:
        """Return those of the case-folded names that are speakers in a conversation."""
        sql = (
            "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM turns WHERE speaker = value AND speaker <> '')"
        )
        return {name for (name,) in self._connection.rows(sql, (listed(names),))}


def _signals_of(values: list[Any]) -> Signals:
    """Return the signals of a record; those of a row that cannot be read, which is reported later, do not matter."""
    try:
        return msgspec.convert(values, Signals)
    except msgspec.ValidationError:
        return Signals(DEFAULT_STATUS, 0, None, 0)
