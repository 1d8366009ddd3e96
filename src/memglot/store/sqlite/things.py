"""How the SQLite store keeps whatever is not a record: one table a kind, all of one shape."""

from collections.abc import Iterator, Sequence
from typing import Any

from memglot.model import Thing
from memglot.store.contract import ThingT
from memglot.store.sqlite.connection import Connection
from memglot.store.sqlite.rows import TABLES, listed, thing_keys, thing_of, thing_row


class Things(Connection):
    """The part of the store that keeps relations, entities, tombstones and the like."""

    def put(self, things: Sequence[Thing], batch: int | None = None) -> None:
        """Keep things, each in the place of the one with its key."""
        rows: dict[str, list[tuple[Any, ...]]] = {}
        for thing in things:
            rows.setdefault(TABLES[type(thing)], []).append(thing_row(thing, batch))
        columns = "(key, owner, other, doc, data, batch) VALUES (?, ?, ?, ?, ?, ?)"
        for table, found in rows.items():
            self.db.executemany(f"INSERT OR REPLACE INTO {table} {columns}", found)

    def take(self, things: Sequence[Thing]) -> None:
        """Forget things."""
        for thing in things:
            self.db.execute(f"DELETE FROM {TABLES[type(thing)]} WHERE key = ?", (thing_keys(thing)[0],))

    def things(self, kind: type[ThingT], owners: Sequence[str] | None = None) -> Iterator[ThingT]:
        """All things of a kind, or those that hang on the given records."""
        sql = f"SELECT doc, data FROM {TABLES[kind]}"
        bindings: tuple[str, ...] = ()
        if owners is not None:
            sql += " WHERE owner IN (SELECT value FROM json_each(?))"
            bindings = (listed(owners),)
        for doc, data in self._rows(f"{sql} ORDER BY key", bindings):
            yield thing_of(kind, doc, data)

    def thing(self, kind: type[ThingT], key: str) -> ThingT | None:
        """The thing with that key."""
        for doc, data in self._rows(f"SELECT doc, data FROM {TABLES[kind]} WHERE key = ?", (key,)):
            found: ThingT = thing_of(kind, doc, data)
            return found
        return None

    def kept(self, thing: ThingT) -> ThingT | None:
        """What is kept under the key of this thing."""
        return self.thing(type(thing), thing_keys(thing)[0])

    def all_kept(self, things: Sequence[Thing]) -> list[Thing | None]:
        """What is kept under the keys of these things, in their order."""
        keys: dict[type[Any], list[str]] = {}
        for thing in things:
            keys.setdefault(type(thing), []).append(thing_keys(thing)[0])
        found: dict[tuple[type[Any], str], Thing] = {}
        for kind, wanted in keys.items():
            sql = f"SELECT key, doc, data FROM {TABLES[kind]} WHERE key IN (SELECT value FROM json_each(?))"
            for key, doc, data in self._rows(sql, (listed(wanted),)):
                found[kind, key] = thing_of(kind, doc, data)
        return [found.get((type(thing), thing_keys(thing)[0])) for thing in things]

    def origins(self, things: Sequence[Thing]) -> list[int | None]:
        """The batches that inserted what is kept under the keys of these things, in their order."""
        sql = "SELECT batch FROM {} WHERE key = ?"
        return [self._value(sql.format(TABLES[type(thing)]), (thing_keys(thing)[0],)) for thing in things]

    def mentions(self, kind: type[ThingT], other: str) -> Iterator[ThingT]:
        """Things by their second key."""
        sql = f"SELECT doc, data FROM {TABLES[kind]} WHERE other = ? ORDER BY key"
        for doc, data in self._rows(sql, (other,)):
            yield thing_of(kind, doc, data)

    def count_things(self, kind: type[Thing]) -> int:
        """How many there are."""
        return int(self._value(f"SELECT count(*) FROM {TABLES[kind]}"))

    def things_in_batches(self, batches: Sequence[int]) -> Iterator[Thing]:
        """The things that these batches inserted and that are still there."""
        wanted = listed(batches)
        for kind, table in TABLES.items():
            sql = f"SELECT doc, data FROM {table} WHERE batch IN (SELECT value FROM json_each(?))"
            for doc, data in self._rows(sql, (wanted,)):
                yield thing_of(kind, doc, data)
