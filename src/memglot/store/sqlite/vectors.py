"""Vectors in the SQLite store: those of one model at a time, by the number of their record."""

from collections.abc import Iterator, Sequence

from memglot.store.query import Filter, Query, VectorState
from memglot.store.sqlite.connection import Connection
from memglot.store.sqlite.rows import listed
from memglot.store.sqlite.search import SqliteSearch


class SqliteVectors:
    """Vectors for semantic search; see `memglot.store.contract.VectorTable`."""

    def __init__(self, connection: Connection, search: SqliteSearch) -> None:
        self._connection, self._db, self._search = connection, connection.db, search

    def state(self) -> VectorState:
        """Return the model and the number of vectors."""
        names = ("vector_model", "vector_dimensions", "vector_count", "vector_changes", "records")
        found = self._connection.get_states(*names)
        return VectorState(
            model=found["vector_model"],
            dimensions=found["vector_dimensions"],
            count=found["vector_count"],
            missing=found["records"] - found["vector_count"],
            changes=found["vector_changes"],
        )

    def use_model(self, model: str, dimensions: int) -> None:
        """Delete the vectors of any other model: two models never mix."""
        state = self.state()
        if (state.model, state.dimensions) != (model, dimensions):
            self._db.execute("DELETE FROM vectors")
            self._connection.set_state(vector_model=model, vector_dimensions=dimensions, vector_count=0)
            self._changed()

    def put(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Store vectors of records, replacing previous ones."""
        newest = self._connection.value("SELECT coalesce(max(seq), 0) FROM vectors")
        numbers = listed(number for number, _ in vectors)
        sql = "SELECT count(*) FROM vectors WHERE seq IN (SELECT value FROM json_each(?))"
        had = self._connection.value(sql, (numbers,))
        self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", vectors)
        self._connection.add_to_state("vector_count", len(vectors) - had)
        if any(number <= newest for number, _ in vectors):
            self._changed()

    def remove(self, numbers: Sequence[int]) -> None:
        """Remove the vectors of records whose text changed or that no longer exist."""
        wanted = listed(numbers)
        self._db.execute("DELETE FROM vectors WHERE seq IN (SELECT value FROM json_each(?))", (wanted,))
        gone = self._db.changes()
        if gone:
            self._connection.add_to_state("vector_count", -gone)
            self._changed()

    def select(
        self, after: int = 0, among: Sequence[int] | None = None, limit: int = -1
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the vectors of records after a number, or among some, ordered by number."""
        if among is None:
            return self._pairs("SELECT seq, vector FROM vectors WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))
        wanted = listed(sorted(among))
        sql = "SELECT seq, vector FROM json_each(?) JOIN vectors ON seq = value"
        return self._pairs(sql, (wanted,))

    def _pairs(self, sql: str, bindings: tuple[object, ...]) -> Iterator[tuple[int, bytes]]:
        return ((seq, vector) for seq, vector in self._connection.rows(sql, bindings))

    def missing(self, after: int, limit: int, among: Sequence[int] | None = None) -> list[tuple[int, str]]:
        """Return records without a vector, after a number or among some, with the text to embed."""
        sql = (
            "SELECT seq, iif(title IS NULL, content, title || char(10) || content) FROM records "
            "WHERE seq > ? AND seq NOT IN (SELECT seq FROM vectors)"
        )
        bindings: list[object] = [after or self._before_missing()]
        if among is not None:
            sql += " AND seq IN (SELECT value FROM json_each(?))"
            bindings.append(listed(among))
        return [(seq, text) for seq, text in self._connection.rows(f"{sql} ORDER BY seq LIMIT ?", (*bindings, limit))]

    def _before_missing(self) -> int:
        """Return the newest vector if exactly the records after it have none, so that no others need be looked at."""
        newest = self._connection.value("SELECT coalesce(max(seq), 0) FROM vectors")
        missing = self.state().missing
        sql = "SELECT count(*) FROM (SELECT 1 FROM records WHERE seq > ? LIMIT ?)"
        return newest if self._connection.value(sql, (newest, missing + 1)) == missing else 0

    def count(self, query: Query, filter: Filter) -> int:
        """Return the number of records with a vector among those that a query and a filter select."""
        if self._search.selects_all(query, filter):
            return self.state().count
        sql = "SELECT count(*) FROM vectors JOIN records ON records.seq = vectors.seq WHERE {where}"
        ((count,),) = self._search.selected(query, filter, sql)
        return int(count)

    def problems(self) -> Iterator[str]:
        """Yield a problem unless each vector has a record and the right length, and their count is right."""
        state = self.state()
        sql = "SELECT count(*) FROM vectors"
        odd = f"{sql} WHERE seq NOT IN (SELECT seq FROM records) OR length(vector) <> ?"
        if self._connection.value(odd, (state.dimensions,)) or self._connection.value(sql) != state.count:
            yield "the vectors do not match the memories; run `memglot doctor --fix`, then `memglot embed`"

    def repair(self) -> None:
        """Delete vectors without a record or of a wrong length, and count the others."""
        odd = "DELETE FROM vectors WHERE seq NOT IN (SELECT seq FROM records) OR length(vector) <> ?"
        self._db.execute(odd, (self.state().dimensions,))
        self._connection.set_state(vector_count=self._connection.value("SELECT count(*) FROM vectors"))
        self._changed()

    def _changed(self) -> None:
        self._connection.add_to_state("vector_changes", 1)
