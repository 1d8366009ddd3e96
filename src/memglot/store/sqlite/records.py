"""Records in the SQLite store."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from memglot.errors import DamagedStore
from memglot.model import DEFAULT_STATUS, DELETED, Record, content_hash
from memglot.store.contract import ContentKey, Counted
from memglot.store.query import Filter
from memglot.store.sqlite.connection import Connection
from memglot.store.sqlite.failures import DamagedRow
from memglot.store.sqlite.filters import condition
from memglot.store.sqlite.large_rows import fits
from memglot.store.sqlite.rows import (
    COLUMNS,
    DIGEST,
    INSERT,
    SEARCHED,
    TEXT,
    UPDATE,
    from_row,
    from_row_with_digest,
    listed,
    searched,
    to_row,
)
from memglot.store.sqlite.schema import RECORD_COLUMNS
from memglot.store.sqlite.text_index import TextIndex
from memglot.store.sqlite.vectors import SqliteVectors


class SqliteRecords:
    """The memories of a store; see `memglot.store.contract.Records`."""

    def __init__(self, connection: Connection, text: TextIndex, vectors: SqliteVectors) -> None:
        self._connection, self._db = connection, connection.db
        self._text, self._vectors = text, vectors

    def add(self, records: Sequence[Record], batch: int | None = None) -> bytes:
        """Add new records, in order, and return their joint digest."""
        if self._text.is_loading:
            self._text.drop_deferred(len(records))
        rows = [to_row(record, batch) for record in records]
        self._db.executemany(INSERT, rows)
        self._connection.add_to_state("records", len(rows))
        if not self._text.is_loading:
            self._text.add(len(rows))
        joint = sha256()
        for row in rows:
            joint.update(row[DIGEST])
        return joint.digest()

    def replace(self, *records: Record) -> None:
        """Replace the records with the same ids."""
        sql = f"SELECT seq, batch, {', '.join(SEARCHED)} FROM records WHERE id = ?"
        searched_anew, embedded_anew = [], []
        for record in records:
            ((seq, batch, *before),) = self._connection.rows(sql, (record.id,))
            row = to_row(record, batch)
            after = [row[place] for place in TEXT]
            self._db.execute(UPDATE, (*row, seq))
            # Most changes leave the searched fields alone, and indexing them again is most of the work.
            if before != after and searched(before) != searched(after):
                searched_anew.append(seq)
            if before[:2] != after[:2]:
                embedded_anew.append(seq)
        if searched_anew:
            indexed_to = self._text.indexed_to()
            self._text.update([seq for seq in searched_anew if seq <= indexed_to])
        if embedded_anew:
            self._vectors.remove(embedded_anew)

    def remove(self, ids: Sequence[str]) -> None:
        """Remove records; unknown ids are ignored."""
        sql = "SELECT seq FROM records WHERE id IN (SELECT value FROM json_each(?))"
        numbers = [seq for (seq,) in self._connection.rows(sql, (listed(ids),))]
        self._text.remove(numbers)
        self._vectors.remove(numbers)
        self._db.execute("DELETE FROM records WHERE seq IN (SELECT value FROM json_each(?))", (listed(numbers),))
        self._connection.add_to_state("records", -len(numbers))
        # A later record may reuse a number that is free again, and must be indexed then.
        self._connection.set_state(indexed_to=min(self._text.indexed_to(), self._text.newest()))

    def get(self, ids: Sequence[str]) -> list[Record]:
        """Return the records with these ids; unknown ids are ignored."""
        sql = f"SELECT {COLUMNS} FROM records WHERE id IN (SELECT value FROM json_each(?))"
        return list(self._connection.read(from_row, sql, (listed(ids),)))

    def known(self, ids: Sequence[str], scopes: Sequence[str] | None = None) -> set[str]:
        """Return those of the ids that exist; with `scopes`, only records in these scopes."""
        sql = "SELECT id FROM records WHERE id IN (SELECT value FROM json_each(?))"
        if scopes is None:
            return {id for (id,) in self._connection.rows(sql, (listed(ids),))}
        sql += " AND scope IN (SELECT value FROM json_each(?))"
        return {id for (id,) in self._connection.rows(sql, (listed(ids), listed(scopes)))}

    def ids_starting_with(self, prefix: str, limit: int) -> list[str]:
        """Return ids that start with a prefix, in order."""
        sql = "SELECT id FROM records WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id LIMIT ?2"
        return [id for (id,) in self._connection.rows(sql, (prefix, limit))]

    def ids_ending_with(self, endings: Sequence[str]) -> list[str]:
        """Return the ids that end with one of these texts, which have the same length, in order."""
        if not endings:
            return []
        sql = "SELECT id FROM records WHERE substr(id, ?) IN (SELECT value FROM json_each(?)) ORDER BY id"
        return [id for (id,) in self._connection.rows(sql, (-len(endings[0]), listed(endings)))]

    def ids_by_content(self, keys: Sequence[ContentKey]) -> dict[ContentKey, str]:
        """Return the first record for each content, kind and scope that exists; deleted ones are ignored."""
        wanted = set(keys)
        found: dict[ContentKey, str] = {}
        sql = (
            "SELECT content_hash, kind, scope, id FROM records WHERE substr(content_hash, 1, 8) IN "
            f"({', '.join('?' * len(wanted))}) AND status <> '{DELETED}' ORDER BY seq"
        )
        for hash, kind, scope, id in self._connection.rows(sql, [key[0][:8] for key in wanted]):
            if (hash, kind, scope) in wanted:
                found.setdefault((hash, kind, scope), id)
        return found

    def duplicates(self) -> Iterator[list[str]]:
        """Yield groups of ids of active records that have the same content, kind and scope."""
        sql = (
            "SELECT json_group_array(id) FROM records WHERE status = ? GROUP BY content_hash, kind, scope "
            "HAVING count(*) > 1 ORDER BY min(id)"
        )
        for (ids,) in self._connection.rows(sql, (DEFAULT_STATUS,)):
            yield sorted(msgspec.json.decode(ids, type=list[str]))

    def select(
        self,
        filter: Filter = Filter(),
        *,
        newest_first: bool = False,
        limit: int | None = None,
        offset: int = 0,
        with_digest: bool = False,
    ) -> Iterator[Record]:
        """Yield the records that match a filter, by `created_at`, then id."""
        where, bindings = condition(filter)
        if is_small := fits(self._connection, RECORD_COLUMNS):
            where = f"{where} AND {is_small}" if where else f"WHERE {is_small}"
        order = "DESC" if newest_first else "ASC"
        columns = f"{COLUMNS}, digest" if with_digest else COLUMNS
        sql = f"SELECT {columns} FROM records {where} ORDER BY created_at {order}, id {order} LIMIT ? OFFSET ?"
        return self._read(sql, (*bindings, -1 if limit is None else limit, offset))

    def in_order_of_arrival(self) -> Iterator[Record]:
        """Yield all records by their number."""
        return self._connection.read(from_row, f"SELECT {COLUMNS} FROM records NOT INDEXED ORDER BY seq")

    def ids_in_batches(self, batches: Sequence[int]) -> Iterator[str]:
        """Yield the ids of the records that these batches added and that still exist, in order of arrival."""
        sql = "SELECT id FROM records WHERE batch IN (SELECT value FROM json_each(?)) ORDER BY seq"
        return (id for (id,) in self._connection.rows(sql, (listed(batches),)))

    def _read(self, sql: str, bindings: Sequence[Any]) -> Iterator[Record]:
        read = from_row if "digest" not in sql else from_row_with_digest
        return self._connection.readable(read, sql, bindings, is_memory=True)

    def count(self, filter: Filter = Filter()) -> int:
        """Return the number of records that match a filter."""
        where, bindings = condition(filter)
        return int(self._connection.value(f"SELECT count(*) FROM records {where}", bindings))

    def count_by(self, field: Counted, filter: Filter = Filter()) -> Iterator[tuple[str, int]]:
        """Yield each tree path, scope, kind or tag that has records, with their number, in order."""
        where, bindings = condition(filter)
        if field == "tree":
            sql = f"SELECT tree, count(*) FROM records {where} GROUP BY tree ORDER BY tree"
        else:
            # In the order of an index that has these columns, so that no record is read.
            columns, value, source = "tags, kind, scope", str(field), ""
            if field == "tag":
                columns, value, source = "tags", "each.value", ", json_each(tags) AS each"
            groups = f"SELECT {columns}, count(*) AS number FROM records {where} GROUP BY {columns}"
            sql = f"SELECT {value}, sum(number) FROM ({groups}){source} GROUP BY 1 ORDER BY 1"
        rows = self._connection.rows(sql, bindings)
        return ((value, count) for value, count in rows if isinstance(value, str))

    def added_by(self, batch: int, after: int, count: int) -> tuple[list[str], bytes]:
        """Return the ids and the joint digest of those of `count` records after a number that a batch added."""
        sql = "SELECT id, digest FROM records WHERE seq > ?1 AND seq <= ?1 + ?2 AND batch = ?3 ORDER BY seq"
        rows = list(self._connection.rows(sql, (after, count, batch)))
        return [id for id, _ in rows], sha256(b"".join(digest for _, digest in rows)).digest()

    def batch_of(self, id: str) -> int | None:
        """Return the batch that added a record, if an import did."""
        found: int | None = self._connection.value("SELECT batch FROM records WHERE id = ?", (id,))
        return found

    def problems(self) -> Iterator[str]:
        """Yield the records whose digest is wrong, and whether any were added or removed outside memglot."""
        count = 0
        for id, *row in self._rows_and_faults():
            count += 1
            try:
                if not row:
                    yield id
                elif not _matches_digest(row):
                    yield f"memory {id} does not match its digest: it was changed outside memglot"
            except DamagedRow as error:
                yield f"{error}; it was changed outside memglot"
        expected = self._connection.get_state("records")
        if count != expected:
            yield f"found {count:,} memories instead of {expected:,}: some were added or removed outside memglot"

    def _rows_and_faults(self) -> Iterator[list[Any]]:
        """Yield the id and the row of each record; for a row that cannot be read, only the reason."""
        sql = f"SELECT seq, id, {COLUMNS}, content_hash, digest FROM records NOT INDEXED WHERE seq > ? ORDER BY seq"
        after = -1
        while True:
            try:
                for seq, *values in self._connection.rows(sql, (after,)):
                    after = seq
                    yield values
                return
            except DamagedStore as error:
                reason = error.reason
            # Also fails where a page is damaged, so that nobody knows which rows follow.
            after = self._connection.value("SELECT min(seq) FROM records NOT INDEXED WHERE seq > ?", (after,))
            if after is None:
                yield [reason]
                return
            yield [f"memory number {after:,} cannot be read: {reason}"]


def _matches_digest(row: Sequence[Any]) -> bool:
    """Return True if a row of `COLUMNS`, with the digest of its content and its own, matches both.

    Raise `DamagedRow` if it cannot be read.
    """
    *values, hash, digest = row
    record = from_row(values)
    return bool(content_hash(record.content) == hash and to_row(record, None)[DIGEST] == digest)
