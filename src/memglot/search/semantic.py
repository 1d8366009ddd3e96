"""Meaning: which model a store has, what is given a vector, and how near memories are to a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from memglot.display import plural
from memglot.embed import BUILT_IN, Embedder, embedder
from memglot.errors import FailedEmbedder, MemglotError, UnknownEmbedder
from memglot.search.vectors import LoadedSimilarity, StreamedSimilarity, VectorCache, pack_vectors
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store
from memglot.store.query import Filter, Query, VectorState

_EVERY = Filter(with_deleted=True)


class EmbedResult(msgspec.Struct):
    """How many memories were given a vector, of which model, and how many have one now."""

    embedded: int
    model: str
    dimensions: int
    total: int


class SemanticIndex:
    """The vectors of a store. They are read once, and again when they changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._embedder: Embedder | None = None
        self._vectors = VectorCache(store)

    def state(self) -> VectorState:
        """What the store knows of its vectors; asking loads nothing."""
        return self._store.vectors.state()

    def near(
        self, text: str, weigh: Callable[[Sequence[str]], Sequence[float]]
    ) -> LoadedSimilarity | StreamedSimilarity | None:
        """How near each memory is to a question; nothing where no vector can tell."""
        state = self.state()
        model = self._known(state) if state.count else None
        if model is None:
            return None
        query = model.embed_query(text, weigh)
        return self._vectors.near(query, state) if query.any() else None

    def _known(self, state: VectorState) -> Embedder | None:
        """The model of the vectors, if it is here: a plugin may be gone, or have changed under its name."""
        try:
            model = self._model(state.model)
        except (UnknownEmbedder, FailedEmbedder):
            return None
        return model if model.dimensions == state.dimensions else None

    def _own(self) -> Embedder:
        """The model that the store has, as it is now; where that is gone, or there was none, the built-in one."""
        try:
            return self._model(self.state().model or None)
        except UnknownEmbedder:
            return self._model(None)

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
                numbers = list(self._store.search.numbers_of(ids).values())
                self._embed(self._store.vectors.missing(0, len(numbers), numbers))
        except MemglotError as error:
            self._store.notes.append(f"kept, but not found by meaning: {str(error)}")

    def embed(
        self, model: str | None = None, *, again: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> EmbedResult:
        """Give vectors to all memories that have none, batch by batch: what was done stays done when it is stopped."""
        wanted = self._model(model) if model else self._own()
        if wanted.name != self.state().model or again:
            # One that cannot work must not cost the vectors that are there.
            wanted.embed(["a"])
        with self._store.writing():
            if again:
                self._store.vectors.use_model("", 0)
            self._store.vectors.use_model(wanted.name, wanted.dimensions)
        whole = self._store.records.count(_EVERY) - self._store.vectors.count(Query(), _EVERY)
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
                progress(done, max(whole, done))
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
