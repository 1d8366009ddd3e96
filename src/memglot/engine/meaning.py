"""Meaning: the vectors of a store, held in memory, and what a question is near to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from memglot.embed import BUILT_IN, Embedder, embedder
from memglot.errors import MemglotError, UnknownEmbedder
from memglot.notes import note_not_embedded, note_stale_vectors
from memglot.settings import BATCH_SIZE
from memglot.store.asking import VectorState
from memglot.store.contract import Store

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Numbers = NDArray[numpy.int64]

_MOST = 300_000
"""Beyond so many vectors, those of candidates are read one by one rather than all of them held in memory."""
_SAMPLE = 5_000


class Embedded(msgspec.Struct):
    """How many memories were given a vector, of which model, and how many have one now."""

    embedded: int
    model: str
    dimensions: int
    total: int


class Near:
    """How near the memories of a store are to a question."""

    def __init__(self, numbers: Numbers, cosines: Floats, mean: float, deviation: float) -> None:
        self._numbers, self._cosines = numbers, cosines
        self._mean, self._deviation = mean, deviation

    def best(self, count: int, offset: int = 0) -> list[int]:
        """The numbers of the nearest memories, nearest first."""
        import numpy

        wanted = min(offset + count, len(self._cosines))
        if not wanted:
            return []
        places = numpy.argpartition(-self._cosines, wanted - 1)[:wanted]
        order = numpy.lexsort((-self._numbers[places], -self._cosines[places]))
        return [int(number) for number in self._numbers[places[order]][offset:]]

    def of(self, numbers: Sequence[int]) -> dict[int, tuple[float, float]]:
        """The cosine of each memory, and by how many standard deviations it lies above the average one."""
        import numpy

        if not len(self._numbers):
            return {}
        wanted = numpy.asarray(numbers, dtype=numpy.int64)
        places = numpy.minimum(numpy.searchsorted(self._numbers, wanted), len(self._numbers) - 1)
        there = self._numbers[places] == wanted
        cosines = self._cosines[places]
        above = (cosines - self._mean) / self._deviation
        rows = zip(wanted.tolist(), there.tolist(), cosines.tolist(), above.tolist(), strict=True)
        return {number: (cosine, high) for number, known, cosine, high in rows if known}


class Meaning:
    """The vectors of a store. They are read once, and again when they changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._embedder: Embedder | None = None
        self._state: VectorState | None = None
        self._numbers: Numbers
        self._rows: Floats
        self._filled = 0

    def state(self) -> VectorState:
        """What the store knows of its vectors; asking loads nothing."""
        return self._store.vector_state()

    def near(self, text: str, weigh: Callable[[Sequence[str]], Sequence[float]]) -> Near | None:
        """How near each memory is to a question; nothing where no vector can tell."""
        import numpy

        state = self.state()
        model = self._known(state) if state.count else None
        if model is None:
            return None
        self._refresh(state)
        query = model.embed_query(text, weigh)
        if not query.any() or not self._filled:
            return None
        # Faster than a product of matrices, for which the library would start threads.
        cosines = numpy.vecdot(self._rows[: self._filled], query)
        mean, deviation = float(cosines.mean()), float(cosines.std()) or 1.0
        return Near(self._numbers[: self._filled], numpy.asarray(cosines), mean, deviation)

    def _known(self, state: VectorState) -> Embedder | None:
        """The model of the vectors, if it is here: a plugin may be gone, or the built-in one have changed."""
        try:
            return self._model(state.model)
        except UnknownEmbedder:
            return None

    def is_stale(self) -> bool:
        """Tell whether there are vectors that nothing here can be compared with."""
        state = self.state()
        return bool(state.count) and self._known(state) is None

    def embed_new(self, ids: Sequence[str]) -> None:
        """Give vectors to memories that were just written. What stands in the way is noted: they are kept anyway."""
        if self.is_stale():
            self._store.notes.append(note_stale_vectors(self.state().model))
            return
        try:
            with self._store.writing():
                numbers = list(self._store.numbers_of(ids).values())
                self._embed(self._store.without_vector(0, len(numbers), numbers))
        except MemglotError as error:
            self._store.notes.append(note_not_embedded(str(error)))

    def embed(
        self, model: str | None = None, *, again: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> Embedded:
        """Give vectors to all memories that have none, batch by batch: what was done stays done when it is stopped."""
        state = self.state()
        wanted = self._model(model or (None if self.is_stale() else state.model or None))
        with self._store.writing():
            if again:
                self._store.use_model("", 0)
            self._store.use_model(wanted.name, wanted.dimensions)
        whole = self.state().missing
        done = after = 0
        while True:
            with self._store.writing():
                texts = self._store.without_vector(after, BATCH_SIZE)
                self._embed(texts)
            if not texts:
                break
            done, after = done + len(texts), texts[-1][0]
            if progress is not None:
                progress(done, max(whole, done))
        state = self.state()
        return Embedded(embedded=done, model=state.model, dimensions=state.dimensions, total=state.count)

    def _embed(self, texts: Sequence[tuple[int, str]]) -> None:
        if texts:
            model = self._model(self.state().model or None)
            self._store.use_model(model.name, model.dimensions)
            vectors = packed(model.embed([text for _, text in texts]))
            self._store.put_vectors([(number, vector) for (number, _), vector in zip(texts, vectors, strict=True)])

    def _model(self, name: str | None) -> Embedder:
        if self._embedder is None or self._embedder.name != (name or BUILT_IN):
            self._embedder = embedder(name)
        return self._embedder

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
        """Read the vectors that came since."""
        import numpy

        found = [pair for pair in self._store.vectors(after) if len(pair[1]) == dimensions]
        if not found:
            return
        rows = unpacked(b"".join(vector for _, vector in found), dimensions)
        end = self._filled + len(found)
        if end > len(self._numbers):
            self._rows = numpy.concatenate([self._rows[: self._filled], rows, numpy.empty_like(rows)])
            more = numpy.empty(2 * len(found), dtype=numpy.int64)
            self._numbers = numpy.concatenate([self._numbers[: self._filled], more])
        self._rows[self._filled : end] = rows
        self._numbers[self._filled : end] = [number for number, _ in found]
        self._filled = end


def packed(vectors: Floats) -> list[bytes]:
    """Vectors as the store keeps them: a byte for each number, as great as they can be."""
    import numpy

    largest = numpy.maximum(numpy.abs(vectors).max(axis=1, keepdims=True), 1e-12)
    bytes_of = numpy.rint(vectors * (127 / largest)).astype(numpy.int8)
    return [row.tobytes() for row in bytes_of]


def unpacked(data: bytes, dimensions: int) -> Floats:
    """Vectors from the bytes of many, each of length 1, or of none."""
    import numpy

    rows = numpy.frombuffer(data, dtype=numpy.int8).reshape(-1, dimensions).astype(numpy.float32)
    lengths = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0] = 1
    rows /= lengths[:, None]
    return rows
