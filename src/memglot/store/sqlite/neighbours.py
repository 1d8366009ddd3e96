"""What lies near a record in the SQLite store: in its conversation, in order of arrival, by a relation."""

from __future__ import annotations

from collections.abc import Sequence

from memglot.model import DELETED
from memglot.store.query import Place, Signals
from memglot.store.sqlite.records import Records
from memglot.store.sqlite.rows import listed

_BESIDE = """
SELECT DISTINCT other.seq, other.thread, other.position, other.speaker, other.words, other.traits
FROM json_each(?1) JOIN turns AS own ON own.seq = value
JOIN turns AS other ON other.thread = own.thread AND other.position BETWEEN own.position - ?2 AND own.position + ?2
"""
_ARRIVED = """
SELECT own.seq, other.seq, other.seq - own.seq
FROM json_each(?1) JOIN records AS own ON own.seq = value
JOIN records AS other ON other.seq BETWEEN own.seq - ?2 AND own.seq + ?2 AND other.seq <> own.seq
WHERE other.scope = own.scope AND own.seq NOT IN (SELECT seq FROM turns) AND other.seq NOT IN (SELECT seq FROM turns)
"""
_RELATED = """
SELECT own.seq, other.seq FROM json_each(?1) JOIN records AS own ON own.seq = value
JOIN relations ON relations.owner = own.id JOIN records AS other ON other.id = relations.other
WHERE coalesce(relations.doc ->> '$.status', 'active') = 'active'
UNION
SELECT own.seq, other.seq FROM json_each(?1) JOIN records AS own ON own.seq = value
JOIN relations ON relations.other = own.id JOIN records AS other ON other.id = relations.owner
WHERE coalesce(relations.doc ->> '$.status', 'active') = 'active'
"""
_THERE = f"seq NOT IN (SELECT gone.seq FROM records AS gone WHERE gone.status = '{DELETED}')"


class Nearby(Records):
    """The part of the store that knows what stands next to what."""

    def numbers_of(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of the records with these ids."""
        sql = "SELECT id, seq FROM records WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self._rows(sql, (listed(ids),)))

    def places(self, numbers: Sequence[int], reach: int) -> list[Place]:
        """Where records stand, with their neighbours in the same stretch of a thread."""
        return list(map(Place._make, self._rows(_BESIDE, (listed(numbers), reach))))

    def arrivals(self, numbers: Sequence[int], reach: int) -> list[tuple[int, int, int]]:
        """For records of no thread, those that came next to them in their scope."""
        return [(own, other, distance) for own, other, distance in self._rows(_ARRIVED, (listed(numbers), reach))]

    def around(self, number: int, count: int) -> list[int]:
        """The numbers of up to `count` records stored before and after one."""
        for thread, position in self._rows("SELECT thread, position FROM turns WHERE seq = ?", (number,)):
            sql = (
                f"SELECT seq FROM turns WHERE thread = ? AND position {{}} ? AND {_THERE} "
                "ORDER BY position {} LIMIT ?"
            )
            bindings: tuple[object, ...] = (thread, position, count)
            break
        else:
            scope = self._value("SELECT scope FROM records WHERE seq = ?", (number,))
            sql = (
                f"SELECT seq FROM records WHERE scope = ? AND seq {{}} ? AND {_THERE} "
                "AND seq NOT IN (SELECT seq FROM turns) ORDER BY seq {} LIMIT ?"
            )
            bindings = (scope, number, count)
        before = [seq for (seq,) in self._rows(sql.format("<", "DESC"), bindings)]
        after = [seq for (seq,) in self._rows(sql.format(">", "ASC"), bindings)]
        return [*reversed(before), *after]

    def related(self, numbers: Sequence[int]) -> list[tuple[int, int]]:
        """Pairs of a record among some and one that an active relation ties to it."""
        if self._value("SELECT 1 FROM relations LIMIT 1") is None:
            return []
        return [(own, other) for own, other in self._rows(_RELATED, (listed(numbers),)) if own != other]

    def signals(self, numbers: Sequence[int]) -> dict[int, Signals]:
        """What records say of themselves."""
        sql = (
            "SELECT seq, status, created_at, rest ->> '$.strength', coalesce(rest ->> '$.access_count', 0) "
            "FROM json_each(?) JOIN records ON seq = value"
        )
        return {seq: Signals(*values) for seq, *values in self._rows(sql, (listed(numbers),))}

    def speakers(self, names: Sequence[str]) -> set[str]:
        """Those among some folded names that somebody speaks under."""
        sql = (
            "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM turns WHERE speaker = value AND speaker <> '')"
        )
        return {name for (name,) in self._rows(sql, (listed(names),))}
