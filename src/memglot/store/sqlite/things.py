"""Everything in the SQLite store that is not a record: one table for each kind, all with the same columns."""

from collections.abc import Iterator, Sequence
from typing import Any

from memglot.display import quoted, shorten
from memglot.model import Thing, Tombstone
from memglot.store.contract import ThingT
from memglot.store.sqlite.connection import Connection
from memglot.store.sqlite.failures import DamagedRow
from memglot.store.sqlite.large_rows import THING_COLUMNS, fits
from memglot.store.sqlite.rows import TABLES, listed, thing_keys, thing_of, thing_row
from memglot.store.sqlite.schema import REASON


class SqliteThings:
    """Relations, entities, tombstones and so on; see `memglot.store.contract.Things`."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._db = connection, connection.db

    def put(self, things: Sequence[Thing], batch: int | None = None) -> None:
        """Store things, replacing those with the same keys."""
        rows: dict[str, list[tuple[Any, ...]]] = {}
        for thing in things:
            rows.setdefault(TABLES[type(thing)], []).append(thing_row(thing, batch))
        columns = "(key, owner, second_key, doc, data, batch) VALUES (?, ?, ?, ?, ?, ?)"
        for table, found in rows.items():
            self._db.executemany(f"INSERT OR REPLACE INTO {table} {columns}", found)

    def remove(self, things: Sequence[Thing]) -> None:
        """Remove the stored things with the keys of these."""
        for thing in things:
            self._db.execute(f"DELETE FROM {TABLES[type(thing)]} WHERE key = ?", (thing_keys(thing)[0],))

    def select(self, kind: type[ThingT], owners: Sequence[str] | None = None) -> Iterator[ThingT]:
        """Yield the things of a kind, or those attached to the given records, ordered by key."""
        sql = f"SELECT key, doc, data FROM {TABLES[kind]}"
        bindings: tuple[str, ...] = ()
        conditions = [is_small] if (is_small := fits(self._connection, THING_COLUMNS)) else []
        if owners is not None:
            conditions.append("owner IN (SELECT value FROM json_each(?))")
            bindings = (listed(owners),)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return self._read(kind, f"{sql}{where} ORDER BY key", bindings)

    def _read(self, kind: type[ThingT], sql: str, bindings: Sequence[Any]) -> Iterator[ThingT]:
        """Yield the things in rows of key, document and bytes; skip rows that cannot be read."""
        return self._connection.readable(lambda row: _thing_of(kind, *row), sql, bindings, is_memory=False)

    def _read_all(self, kind: type[ThingT], sql: str, bindings: Sequence[Any]) -> Iterator[ThingT]:
        """Yield the things in rows that somebody asked for; they exist, so none is skipped."""
        return self._connection.read(lambda row: _thing_of(kind, *row), sql, bindings)

    def get(self, kind: type[ThingT], key: str) -> ThingT | None:
        """Return the thing with this key."""
        return next(self._read_all(kind, f"SELECT key, doc, data FROM {TABLES[kind]} WHERE key = ?", (key,)), None)

    def same_key(self, thing: ThingT) -> ThingT | None:
        """Return the stored thing with the key of this one."""
        return self.get(type(thing), thing_keys(thing)[0])

    def same_keys(self, things: Sequence[Thing]) -> list[Thing | None]:
        """Return the stored things with the keys of these, in the same order."""
        keys: dict[type[Any], list[str]] = {}
        for thing in things:
            keys.setdefault(type(thing), []).append(thing_keys(thing)[0])
        found: dict[tuple[type[Any], str], Thing] = {}
        for kind, wanted in keys.items():
            sql = f"SELECT key, doc, data FROM {TABLES[kind]} WHERE key IN (SELECT value FROM json_each(?))"
            for thing in self._read_all(kind, sql, (listed(wanted),)):
                found[kind, thing_keys(thing)[0]] = thing
        return [found.get((type(thing), thing_keys(thing)[0])) for thing in things]

    def batches_of(self, things: Sequence[Thing]) -> list[int | None]:
        """Return the batches that added the stored things with the keys of these, in the same order."""
        sql = "SELECT batch FROM {} WHERE key = ?"
        return [self._connection.value(sql.format(TABLES[type(thing)]), (thing_keys(thing)[0],)) for thing in things]

    def by_second_key(self, kind: type[ThingT], other: str) -> Iterator[ThingT]:
        """Yield the things with this second key."""
        sql = f"SELECT key, doc, data FROM {TABLES[kind]} WHERE second_key = ? ORDER BY key"
        return self._read(kind, sql, (other,))

    def problems(self) -> Iterator[str]:
        """Yield the things that cannot be read, or that do not match their keys."""
        for kind, table in TABLES.items():
            sql = f"SELECT key, owner, second_key, doc, data FROM {table} ORDER BY key"
            for *keys, doc, data in self._connection.rows(sql):
                try:
                    is_right = list(thing_keys(thing_of(kind, doc, data))) == keys
                except DamagedRow:
                    is_right = False
                if not is_right:
                    yield f"the {kind.__name__.lower()} `{shorten(str(keys[0]))}` was changed outside memglot"

    def by_reason(self, reasons: Sequence[str]) -> Iterator[Tombstone]:
        """Yield the tombstones with these reasons."""
        sql = f"SELECT key, doc, data FROM tombstones WHERE {REASON} IN (SELECT value FROM json_each(?)) ORDER BY key"
        return self._read(Tombstone, sql, (listed(reasons),))

    def count(self, kind: type[Thing]) -> int:
        """Return the number of things of a kind."""
        return int(self._connection.value(f"SELECT count(*) FROM {TABLES[kind]}"))

    def in_batches(self, batches: Sequence[int]) -> Iterator[Thing]:
        """Yield the things that these batches added and that still exist."""
        wanted = listed(batches)
        for kind, table in TABLES.items():
            sql = f"SELECT key, doc, data FROM {table} WHERE batch IN (SELECT value FROM json_each(?))"
            yield from self._read(kind, sql, (wanted,))


def _thing_of(kind: type[Any], key: Any, doc: Any, data: Any) -> Any:
    try:
        return thing_of(kind, doc, data)
    except DamagedRow as error:
        raise DamagedRow(f"{kind.__name__.lower()} {quoted(str(key))}: {error}") from None
