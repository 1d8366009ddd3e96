"""Semantic search: the model of a store, vectors for its memories, and their similarity to a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from memglot.display import plural
from memglot.embed import BUILT_IN, Embedder, embedder
from memglot.errors import FailedEmbedder, MemglotError, UnknownEmbedder
from memglot.report import Stopped
from memglot.search.vectors import LoadedSimilarity, StreamedSimilarity, VectorCache, pack_vectors
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store
from memglot.store.query import Filter, Query, VectorState

_EVERY = Filter(with_deleted=True)


class EmbedResult(msgspec.Struct):
    """Result of building vectors: how many were added, of which model, and how many there are now."""

    embedded: int
    model: str
    dimensions: int
    total: int


class SemanticIndex:
    """The vectors of a store, read once and again when they change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._embedder: Embedder | None = None
        self._vectors = VectorCache(store)

    def state(self) -> VectorState:
        """Return the state of the vectors without loading them."""
        return self._store.vectors.state()

    def similarity(
        self, text: str, weigh: Callable[[Sequence[str]], Sequence[float]]
    ) -> LoadedSimilarity | StreamedSimilarity | None:
        """Return the similarity of each memory to a text; `None` if there are no usable vectors."""
        state = self.state()
        model = self._current_model(state) if state.count else None
        if model is None:
            return None
        query = model.embed_query(text, weigh)
        return self._vectors.similarity(query, state) if query.any() else None

    def _current_model(self, state: VectorState) -> Embedder | None:
        """Return the model of the vectors if it is installed and unchanged."""
        try:
            model = self._model(state.model)
        except (UnknownEmbedder, FailedEmbedder):
            return None
        return model if model.dimensions == state.dimensions else None

    def _default_model(self) -> Embedder:
        """Return the model of the store; the built-in one if that is not installed or there is none."""
        try:
            return self._model(self.state().model or None)
        except UnknownEmbedder:
            return self._model(None)

    def is_stale(self) -> bool:
        """Return True if the store has vectors of a model that is not available."""
        state = self.state()
        return bool(state.count) and self._current_model(state) is None

    def embed_new(self, ids: Sequence[str]) -> None:
        """Add vectors for new memories; a note reports an error, since the memories are stored anyway."""
        if self.is_stale():
            self._store.notes.append(note_stale_vectors(self.state().model))
            return
        try:
            with self._store.writing():
                numbers = list(self._store.search.numbers_of(ids).values())
                self._embed(self._store.vectors.missing(0, len(numbers), numbers))
        except MemglotError as error:
            self._store.notes.append(f"stored without a vector, so semantic search does not find it: {error}")

    def missing(self) -> int:
        """Return the number of memories without a vector."""
        missing = self.state().missing
        if missing > 0 and self._store.hidden is not None:
            missing = self._store.records.count(_EVERY) - self._store.vectors.count(Query(), _EVERY)
        return max(missing, 0)

    def complete(
        self, *, at_most: int | None = None, progress: Callable[[int, int], None] | None = None
    ) -> tuple[int, str | None]:
        """Build the missing vectors after an import, which is complete also if this fails.

        Return how many were built, and a note if memories are left without one. With `at_most`, nothing is built if
        more are missing.
        """
        missing, note = self.missing(), None
        if not missing:
            return 0, None
        try:
            if self.is_stale():
                return 0, note_stale_vectors(self.state().model)
            if at_most is None or missing <= at_most:
                self.embed(progress=progress)
        except Stopped:
            pass
        except MemglotError as error:
            note = f"building vectors failed: {error}"
        left = self.missing()
        if left:
            note = note_missing_vectors(left) if note is None else f"{note}; {note_missing_vectors(left)}"
        return max(missing - left, 0), note

    def embed_restored(self, ids: Sequence[str]) -> None:
        """Add vectors for restored memories, if the store has any."""
        if self.state().count:
            self.embed_new(ids)

    def embed(
        self, model: str | None = None, *, again: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> EmbedResult:
        """Add vectors for all memories without one, in batches; finished batches stay if it is stopped."""
        wanted = self._model(model) if model else self._default_model()
        if wanted.name != self.state().model or again:
            # A model that does not work must not delete the vectors that are there.
            wanted.embed(["a"])
        with self._store.writing():
            if again:
                self._store.vectors.use_model("", 0)
            self._store.vectors.use_model(wanted.name, wanted.dimensions)
        missing = self.missing()
        done = after = 0
        while True:
            with self._store.writing():
                texts = self._store.vectors.missing(after, BATCH_SIZE)
                self._embed(texts)
            if not texts:
                break
            self._store.give_way()
            done, after = done + len(texts), texts[-1][0]
            if progress is not None:
                progress(done, max(missing, done))
        state = self.state()
        return EmbedResult(
            embedded=done,
            model=state.model,
            dimensions=state.dimensions,
            total=self._store.vectors.count(Query(), _EVERY),
        )

    def _embed(self, texts: Sequence[tuple[int, str]]) -> None:
        if texts:
            model = self._model(self.state().model or None)
            self._store.vectors.use_model(model.name, model.dimensions)
            vectors = pack_vectors(model.embed([text for _, text in texts]))
            self._store.vectors.put([(number, vector) for (number, _), vector in zip(texts, vectors, strict=True)])

    def _model(self, name: str | None) -> Embedder:
        if self._embedder is None or self._embedder.name != (name or BUILT_IN):
            self._embedder = embedder(name)
        return self._embedder


def note_missing_vectors(count: int) -> str:
    """Return the note about memories without vectors."""
    which = plural(count, "memory has", "memories have")
    return f"{which} no vector yet, so only keyword search finds them; run `memglot embed` to build the vectors"


def note_stale_vectors(model: str) -> str:
    """Return the note about vectors of a model that is not available."""
    return f"the vectors were built with `{model}`, which is not available; run `memglot embed` to rebuild them"
