"""Vectors of a brain: all of one size, that of its model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import apsw

from memglot.disk import DiskList
from memglot.formats.agentos.sqlite_schema import TRACES
from memglot.formats.agentos.sqlite_tables import TableWriter
from memglot.model import Embedding


class VectorSizes:
    """Counts the sizes of vectors while traces are written, and removes those that do not fit."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._sizes: dict[str, Counter[int]] = {}
        self._rows: DiskList[Any] = DiskList()

    def add(self, brain: str, record: str, vector: Any) -> None:
        """Add the vector of the trace that was inserted last."""
        # AgentOS's older vectors are JSON text, and are kept as they are.
        if isinstance(vector, bytes) and vector and not len(vector) % 4:
            size = len(vector) // 4
            self._sizes.setdefault(brain, Counter())[size] += 1
            self._rows.append([brain, record, size, self._db.last_insert_rowid()])

    def remove_others(self, tables: TableWriter) -> Iterator[Embedding]:
        """Remove the vectors that do not have the size of their brain, and yield them."""
        expected = {brain: self._expected(brain, tables) for brain in self._sizes}
        if all(len(sizes) == 1 for sizes in self._sizes.values()):
            return
        for brain, record, size, number in self._rows:
            if size != expected[brain]:
                sql = f"SELECT embedding FROM {TRACES} WHERE rowid = ?"
                vector: Any
                ((vector,),) = self._db.execute(sql, (number,)).fetchall()
                self._db.execute(f"UPDATE {TRACES} SET embedding = NULL WHERE rowid = ?", (number,))
                yield Embedding(record=record, vector=vector, dimensions=size)

    def _expected(self, brain: str, tables: TableWriter) -> int:
        """Return the size in the brain's settings, if it has such vectors, else the most common one."""
        sizes = self._sizes[brain]
        setting = str(tables.read_setting(brain, "embedding_dimensions"))
        return next((size for size in sizes if str(size) == setting), max(sizes, key=lambda size: (sizes[size], size)))
