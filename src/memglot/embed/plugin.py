"""Embedders of other packages; every exception in one becomes a `FailedEmbedder`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memglot.embed.embedder import Embedder, Weigh
from memglot.errors import FailedEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class PluginEmbedder:
    """Wraps an embedder of a plugin; see `memglot.embed.Embedder` for its methods."""

    def __init__(self, name: str, load: Callable[[], Any]) -> None:
        self.name = name
        with self._guarded():
            self._made: Embedder = load()()
            self.dimensions = int(self._made.dimensions)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; raise `FailedEmbedder` if the plugin returns anything else."""
        import numpy

        with self._guarded():
            found = numpy.asarray(self._made.embed(texts), numpy.float32)
            if found.shape != (len(texts), self.dimensions) or not numpy.isfinite(found).all():
                raise ValueError(f"it returned {found.shape} instead of {len(texts)} finite vectors")
            return found

    def embed_query(self, text: str, weigh: Weigh) -> NDArray[np.float32]:
        """Return the vector of a query."""
        with self._guarded():
            return self._made.embed_query(text, weigh)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise FailedEmbedder(self.name, f"{type(error).__name__}: {error}") from error
