"""Compare the vectors of a store with that of a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import islice
from threading import Thread
from typing import TYPE_CHECKING

from memglot.store.contract import Store
from memglot.store.query import VectorState

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Numbers = NDArray[numpy.int64]

_MAX_IN_MEMORY = 300_000
"""Maximum number of vectors held in memory; beyond it they are read from the store as needed."""
_THREAD_FROM = 20_000
_NEAREST = 200
_SAMPLE, _BLOCK, _AT_ONCE = 4_000, 20_000, 4_096


class LoadedSimilarity:
    """Similarity of all memories to a query, with all vectors in memory; large stores are compared in a thread."""

    def __init__(self, numbers: Numbers, rows: Floats, query: Floats) -> None:
        self._numbers, self._rows, self._query = numbers, rows, query
        self._cosines: Floats
        self._mean, self._deviation = 0.0, 1.0
        self._nearest: Numbers
        self._thread: Thread | None = None
        if len(numbers) > _THREAD_FROM:
            self._thread = Thread(target=self._compare, daemon=True)
            self._thread.start()
        else:
            self._compare()

    def _compare(self) -> None:
        import numpy

        # Faster than a matrix product, for which NumPy would start threads of its own.
        self._cosines = numpy.vecdot(self._rows, self._query)
        self._mean, self._deviation = float(self._cosines.mean()), float(self._cosines.std()) or 1.0
        self._nearest = self._ordered(_NEAREST)

    def _ordered(self, count: int) -> Numbers:
        import numpy

        count = min(count, len(self._cosines))
        places = numpy.argpartition(-self._cosines, count - 1)[:count]
        order = numpy.lexsort((-self._numbers[places], -self._cosines[places]))
        return self._numbers[places[order]]

    def _wait(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def best(self, count: int, offset: int = 0) -> list[int]:
        """Return the numbers of the nearest memories, nearest first."""
        self._wait()
        wanted = offset + count
        nearest = self._nearest if wanted <= len(self._nearest) else self._ordered(wanted)
        found: list[int] = nearest[offset:wanted].tolist()
        return found

    def best_of(self, numbers: Sequence[int], count: int) -> list[int]:
        """Return the nearest of some memories, nearest first."""
        import numpy

        self._wait()
        places = numpy.flatnonzero(numpy.isin(self._numbers, numpy.asarray(numbers, dtype=numpy.int64)))
        order = numpy.lexsort((-self._numbers[places], -self._cosines[places]))[:count]
        found: list[int] = self._numbers[places[order]].tolist()
        return found

    def of(self, numbers: Sequence[int]) -> dict[int, tuple[float, float]]:
        """Return the cosine of each memory, and its standard deviations above the average."""
        import numpy

        self._wait()
        wanted = numpy.asarray(numbers, dtype=numpy.int64)
        places = numpy.minimum(numpy.searchsorted(self._numbers, wanted), len(self._numbers) - 1)
        there = self._numbers[places] == wanted
        cosines = self._cosines[places]
        above = (cosines - self._mean) / self._deviation
        rows = zip(wanted.tolist(), there.tolist(), cosines.tolist(), above.tolist(), strict=True)
        return {number: (cosine, high) for number, known, cosine, high in rows if known}


class StreamedSimilarity:
    """Similarity of memories to a query, reading vectors from the store as needed."""

    def __init__(self, store: Store, query: Floats, sample: Floats) -> None:
        import numpy

        self._store, self._query = store, query
        cosines = numpy.vecdot(sample, query)
        self._mean, self._deviation = float(cosines.mean()), float(cosines.std()) or 1.0

    def best(self, count: int, offset: int = 0) -> list[int]:
        """Return the numbers of the nearest memories, nearest first; reads all vectors."""
        found = nlargest(offset + count, self._all())
        return [number for _, number in found[offset:]]

    def _all(self) -> Iterator[tuple[float, int]]:
        after = 0
        while block := list(self._store.vectors.select(after, limit=_BLOCK)):
            after = block[-1][0]
            yield from ((cosine, number) for number, cosine in self._cosines_of(block))

    def best_of(self, numbers: Sequence[int], count: int) -> list[int]:
        """Return the nearest of some memories, nearest first."""
        found = self._cosines_of(list(self._store.vectors.select(among=numbers)))
        return [number for _, number in nlargest(count, ((cosine, number) for number, cosine in found))]

    def of(self, numbers: Sequence[int]) -> dict[int, tuple[float, float]]:
        """Return the cosine of each memory, and its standard deviations above the average."""
        found = self._cosines_of(list(self._store.vectors.select(among=numbers)))
        return {number: (cosine, (cosine - self._mean) / self._deviation) for number, cosine in found}

    def _cosines_of(self, pairs: Sequence[tuple[int, bytes]]) -> list[tuple[int, float]]:
        import numpy

        kept = [pair for pair in pairs if len(pair[1]) == len(self._query)]
        if not kept:
            return []
        cosines = numpy.vecdot(unpack_vectors(b"".join(vector for _, vector in kept), len(self._query)), self._query)
        return [(number, cosine) for (number, _), cosine in zip(kept, cosines.tolist(), strict=True)]


class VectorCache:
    """The vectors of a store in memory, read once and again when they change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._state: VectorState | None = None
        self._numbers: Numbers
        self._rows: Floats
        self._filled = 0
        self._sampled: tuple[tuple[str, int], Floats] | None = None

    def similarity(self, query: Floats, state: VectorState) -> LoadedSimilarity | StreamedSimilarity | None:
        """Return the similarity of each memory to a query vector; `None` without vectors."""
        found: LoadedSimilarity | StreamedSimilarity | None = None
        if state.count > _MAX_IN_MEMORY:
            found = StreamedSimilarity(self._store, query, self._sample(state))
        else:
            self._refresh(state)
            if self._filled:
                found = LoadedSimilarity(self._numbers[: self._filled], self._rows[: self._filled], query)
        if self._store.is_writing:
            # The transaction may be rolled back.
            self._state = self._sampled = None
        return found

    def _sample(self, state: VectorState) -> Floats:
        """Return vectors from all over the store, to estimate the average."""
        mark = state.model, state.changes
        if self._sampled is None or self._sampled[0] != mark:
            newest = self._store.search.newest()
            found = self._store.vectors.select(among=range(1, newest + 1, max(1, newest // _SAMPLE)))
            data = b"".join(vector for _, vector in found if len(vector) == state.dimensions)
            self._sampled = mark, unpack_vectors(data, state.dimensions)
        return self._sampled[1]

    def _refresh(self, state: VectorState) -> None:
        import numpy

        before = self._state
        if before is None or (before.model, before.changes) != (state.model, state.changes):
            self._filled = 0
            room = max(1_024, state.count + state.count // 8)
            self._rows = numpy.empty((room, state.dimensions), dtype=numpy.float32)
            self._numbers = numpy.empty(room, dtype=numpy.int64)
        self._state = state
        if self._filled < state.count:
            self._read(int(self._numbers[self._filled - 1]) if self._filled else 0, state.dimensions)

    def _read(self, after: int, dimensions: int) -> None:
        """Read new vectors in blocks, so that their bytes are not in memory twice."""
        import numpy

        found = (pair for pair in self._store.vectors.select(after) if len(pair[1]) == dimensions)
        while block := list(islice(found, _AT_ONCE)):
            end = self._filled + len(block)
            if end > len(self._numbers):
                room = max(2 * len(self._numbers), end)
                rows, numbers = self._rows, self._numbers
                self._rows = numpy.empty((room, dimensions), dtype=numpy.float32)
                self._numbers = numpy.empty(room, dtype=numpy.int64)
                self._rows[: self._filled] = rows[: self._filled]
                self._numbers[: self._filled] = numbers[: self._filled]
            self._rows[self._filled : end] = unpack_vectors(b"".join(vector for _, vector in block), dimensions)
            self._numbers[self._filled : end] = [number for number, _ in block]
            self._filled = end


def pack_vectors(vectors: Floats) -> list[bytes]:
    """Return vectors as the store keeps them: one byte per number, scaled to the full range."""
    import numpy

    largest = numpy.maximum(numpy.abs(vectors).max(axis=1, keepdims=True), 1e-12)
    bytes_of = numpy.rint(vectors * (127 / largest)).astype(numpy.int8)
    return [row.tobytes() for row in bytes_of]


def unpack_vectors(data: bytes, dimensions: int) -> Floats:
    """Return vectors from their bytes, each of length 1 or all zeros."""
    import numpy

    rows = numpy.frombuffer(data, dtype=numpy.int8).reshape(-1, dimensions).astype(numpy.float32)
    lengths = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0] = 1
    rows /= lengths[:, None]
    return rows
