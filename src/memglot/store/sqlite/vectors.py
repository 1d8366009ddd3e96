"""How the SQLite store keeps vectors: those of one model at a time, each beside the record it was made of."""

from collections.abc import Iterator, Sequence

from memglot.store.query import VectorState
from memglot.store.sqlite.rows import listed
from memglot.store.sqlite.text_index import Indexes


class Vectors(Indexes):
    """The part of the store that keeps what memories mean."""

    def vector_state(self) -> VectorState:
        """Which model the vectors are of, how many there are, and marks that tell when they changed."""
        sql = "SELECT name, value FROM keeping WHERE name LIKE 'vector_%' OR name = 'records'"
        found = dict(self._rows(sql))
        return VectorState(
            model=found["vector_model"],
            dimensions=int(found["vector_dimensions"]),
            count=int(found["vector_count"]),
            missing=int(found["records"]) - int(found["vector_count"]),
            changes=int(found["vector_changes"]),
        )

    def use_model(self, model: str, dimensions: int) -> None:
        """Forget the vectors of any other model: two models never mix."""
        state = self.vector_state()
        if (state.model, state.dimensions) != (model, dimensions):
            self.db.execute("DELETE FROM vectors")
            self._keep(vector_model=model, vector_dimensions=dimensions, vector_count=0)
            self._changed()

    def put_vectors(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Keep the vectors of records, by their numbers, each in the place of the one before."""
        newest = self._value("SELECT coalesce(max(seq), 0) FROM vectors")
        numbers = listed(number for number, _ in vectors)
        sql = "SELECT count(*) FROM vectors WHERE seq IN (SELECT value FROM json_each(?))"
        had = self._value(sql, (numbers,))
        self.db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", vectors)
        self._count(len(vectors) - had)
        if any(number <= newest for number, _ in vectors):
            self._changed()

    def forget_vectors(self, numbers: Sequence[int]) -> None:
        """Forget the vectors of records whose text changed or that are gone."""
        wanted = listed(numbers)
        self.db.execute("DELETE FROM vectors WHERE seq IN (SELECT value FROM json_each(?))", (wanted,))
        gone = self.db.changes()
        if gone:
            self._count(-gone)
            self._changed()

    def vectors(
        self, after: int = 0, among: Sequence[int] | None = None, limit: int = -1
    ) -> Iterator[tuple[int, bytes]]:
        """The vectors of records that came after a number, or of some, in the order of their numbers."""
        if among is None:
            return self._pairs("SELECT seq, vector FROM vectors WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))
        wanted = listed(sorted(among))
        sql = "SELECT seq, vector FROM json_each(?) JOIN vectors ON seq = value"
        return self._pairs(sql, (wanted,))

    def _pairs(self, sql: str, bindings: tuple[object, ...]) -> Iterator[tuple[int, bytes]]:
        return ((seq, vector) for seq, vector in self._rows(sql, bindings))

    def without_vector(self, after: int, limit: int, among: Sequence[int] | None = None) -> list[tuple[int, str]]:
        """Records without a vector from a number on, or among some, with the text to be embedded."""
        sql = (
            "SELECT seq, iif(title IS NULL, content, title || char(10) || content) FROM records "
            "WHERE seq > ? AND seq NOT IN (SELECT seq FROM vectors)"
        )
        bindings: list[object] = [after]
        if among is not None:
            sql += " AND seq IN (SELECT value FROM json_each(?))"
            bindings.append(listed(among))
        return [(seq, text) for seq, text in self._rows(f"{sql} ORDER BY seq LIMIT ?", (*bindings, limit))]

    def check_vectors(self) -> bool:
        """Tell whether every vector belongs to a record and has the model's length, and whether they are counted."""
        state = self.vector_state()
        sql = "SELECT count(*) FROM vectors"
        odd = f"{sql} WHERE seq NOT IN (SELECT seq FROM records) OR length(vector) <> ?"
        return not self._value(odd, (state.dimensions,)) and self._value(sql) == state.count

    def mend_vectors(self) -> None:
        """Drop vectors that belong to no record or are of another length, and count the others."""
        odd = "DELETE FROM vectors WHERE seq NOT IN (SELECT seq FROM records) OR length(vector) <> ?"
        self.db.execute(odd, (self.vector_state().dimensions,))
        self._keep(vector_count=self._value("SELECT count(*) FROM vectors"))
        self._changed()

    def _count(self, change: int) -> None:
        self.db.execute("UPDATE keeping SET value = value + ? WHERE name = 'vector_count'", (change,))

    def _changed(self) -> None:
        self.db.execute("UPDATE keeping SET value = value + 1 WHERE name = 'vector_changes'")

    def _keep(self, **values: str | int) -> None:
        rows = [(value, name) for name, value in values.items()]
        self.db.executemany("UPDATE keeping SET value = ? WHERE name = ?", rows)
