"""How the SQLite store keeps records."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import apsw
import msgspec

from memglot.model import DEFAULT_STATUS, DELETED, Record, content_hash
from memglot.store.contract import ContentKey
from memglot.store.query import Filter
from memglot.store.sqlite.filters import condition
from memglot.store.sqlite.rows import (
    COLUMNS,
    DIGEST,
    INSERT,
    SEARCHED,
    TEXT,
    UPDATE,
    from_row,
    from_sealed_row,
    listed,
    searched,
    to_row,
)
from memglot.store.sqlite.vectors import Vectors


class Records(Vectors):
    """The part of the store that keeps records."""

    def add(self, records: Sequence[Record], batch: int | None = None) -> bytes:
        """Keep new records and return their joint digest."""
        if self._loading:
            self._lighten(len(records))
        rows = [to_row(record, batch) for record in records]
        self.db.executemany(INSERT, rows)
        self._counted(len(rows))
        if not self._loading:
            self.index_text(len(rows))
        whole = sha256()
        for row in rows:
            whole.update(row[DIGEST])
        return whole.digest()

    def replace(self, record: Record) -> None:
        """Put a record in the place of the one with its id."""
        sql = f"SELECT seq, batch, {', '.join(SEARCHED)} FROM records WHERE id = ?"
        ((seq, batch, *before),) = self._rows(sql, (record.id,))
        row = to_row(record, batch)
        after = [row[place] for place in TEXT]
        self.db.execute(UPDATE, (*row, seq))
        # What is searched seldom changes with the rest, and indexing it again is most of the work.
        if before != after and searched(before) != searched(after) and seq <= self.indexed_to():
            self.reindex(seq)
        if before[:2] != after[:2]:
            self.forget_vectors([seq])

    def remove(self, ids: Sequence[str]) -> None:
        """Forget records."""
        sql = "SELECT seq FROM records WHERE id IN (SELECT value FROM json_each(?))"
        numbers = [seq for (seq,) in self._rows(sql, (listed(ids),))]
        self.unindex(numbers)
        self.forget_vectors(numbers)
        self.db.execute("DELETE FROM records WHERE seq IN (SELECT value FROM json_each(?))", (listed(numbers),))
        self._counted(-len(numbers))
        # A later record may get a number that is free again, and must be indexed then.
        newest = "(SELECT coalesce(max(seq), 0) FROM records)"
        self.db.execute(f"UPDATE keeping SET value = min(value, {newest}) WHERE name = 'indexed_to'")

    def _counted(self, change: int) -> None:
        self.db.execute("UPDATE keeping SET value = value + ? WHERE name = 'records'", (change,))

    def get(self, ids: Sequence[str]) -> list[Record]:
        """The records with these ids."""
        sql = f"SELECT {COLUMNS} FROM records WHERE id IN (SELECT value FROM json_each(?))"
        return [from_row(row) for row in self._rows(sql, (listed(ids),))]

    def known(self, ids: Sequence[str], scopes: Sequence[str] | None = None) -> set[str]:
        """Which of these ids are there, or are records of one of these scopes."""
        sql = "SELECT id FROM records WHERE id IN (SELECT value FROM json_each(?))"
        if scopes is None:
            return {id for (id,) in self._rows(sql, (listed(ids),))}
        sql += " AND scope IN (SELECT value FROM json_each(?))"
        return {id for (id,) in self._rows(sql, (listed(ids), listed(scopes)))}

    def starting_with(self, prefix: str, limit: int) -> list[str]:
        """Ids that begin so."""
        sql = "SELECT id FROM records WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id LIMIT ?2"
        return [id for (id,) in self._rows(sql, (prefix, limit))]

    def ids_of_contents(self, keys: Sequence[ContentKey]) -> dict[ContentKey, str]:
        """The first record of each content, kind and scope that is there; deleted ones are passed over."""
        wanted = set(keys)
        found: dict[ContentKey, str] = {}
        sql = (
            "SELECT content_hash, kind, scope, id FROM records WHERE substr(content_hash, 1, 8) IN "
            f"({', '.join('?' * len(wanted))}) AND status <> '{DELETED}' ORDER BY seq"
        )
        for hash, kind, scope, id in self._rows(sql, [key[0][:8] for key in wanted]):
            if (hash, kind, scope) in wanted:
                found.setdefault((hash, kind, scope), id)
        return found

    def doubles(self) -> Iterator[list[str]]:
        """The ids of active records that share their content, kind and scope."""
        sql = (
            "SELECT json_group_array(id) FROM records WHERE status = ? GROUP BY content_hash, kind, scope "
            "HAVING count(*) > 1 ORDER BY min(id)"
        )
        for (ids,) in self._rows(sql, (DEFAULT_STATUS,)):
            yield sorted(msgspec.json.decode(ids, type=list[str]))

    def records(
        self,
        filter: Filter = Filter(),
        *,
        newest_first: bool = False,
        limit: int | None = None,
        offset: int = 0,
        sealed: bool = False,
    ) -> Iterator[Record]:
        """Records by `created_at`, then id."""
        where, bindings = condition(filter)
        way = "DESC" if newest_first else "ASC"
        columns = f"{COLUMNS}, digest" if sealed else COLUMNS
        sql = f"SELECT {columns} FROM records {where} ORDER BY created_at {way}, id {way} LIMIT ? OFFSET ?"
        return self._read(sql, (*bindings, -1 if limit is None else limit, offset))

    def in_batches(self, batches: Sequence[int]) -> Iterator[Record]:
        """The records that these batches inserted, in the order they came."""
        sql = f"SELECT {COLUMNS} FROM records WHERE batch IN (SELECT value FROM json_each(?)) ORDER BY seq"
        return self._read(sql, (listed(batches),))

    def _read(self, sql: str, bindings: Sequence[Any]) -> Iterator[Record]:
        read = from_row if "digest" not in sql else from_sealed_row
        try:
            for row in self.db.execute(sql, bindings):
                yield read(row)
        except apsw.Error as error:
            self._translate(error)

    def count(self, filter: Filter = Filter()) -> int:
        """How many records `records` would give."""
        where, bindings = condition(filter)
        return int(self._value(f"SELECT count(*) FROM records {where}", bindings))

    def branches(self, filter: Filter = Filter()) -> Iterator[tuple[str, int]]:
        """The tree paths that have records of their own, with their number."""
        where, bindings = condition(filter)
        sql = f"SELECT tree, count(*) FROM records {where} GROUP BY tree"
        return ((tree, count) for tree, count in self._rows(sql, bindings))

    def scopes(self, filter: Filter = Filter()) -> Iterator[tuple[str, int]]:
        """The scopes that have records, with their number."""
        where, bindings = condition(filter)
        sql = f"SELECT scope, count(*) FROM records {where} GROUP BY scope ORDER BY scope"
        return ((scope, count) for scope, count in self._rows(sql, bindings))

    def _amiss(self) -> Iterator[str]:
        """Records whose hash or digest does not fit them, and those that came or went behind our back."""
        sql = f"SELECT {COLUMNS}, content_hash, digest FROM records ORDER BY seq"
        count = 0
        for *row, hash, digest in self._rows(sql):
            count += 1
            try:
                record = from_row(row)
            except msgspec.MsgspecError:
                yield _altered(str(row[0]))
                continue
            if content_hash(record.content) != hash or to_row(record, None)[DIGEST] != digest:
                yield _altered(record.id)
        said = self._value("SELECT value FROM keeping WHERE name = 'records'")
        if count != said:
            yield (
                f"the store should hold {said:,} memories and holds {count:,}: some were added or removed "
                "outside memglot"
            )


def _altered(id: str) -> str:
    """A record that was changed behind our back."""
    return f"memory {id} does not fit its digest: it was altered outside memglot"
