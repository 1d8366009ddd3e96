"""The protocol of embedders: a name, a number of dimensions, and vectors for texts and queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Weigh: TypeAlias = Callable[[Sequence[str]], Sequence[float]]
"""Returns how specific each word of a query is in the store: from 0.01, for a word in every text, to 1."""


class Embedder(Protocol):
    """Turns text into vectors.

    The dot product of two vectors MUST be near 1 if the texts mean the same. A vector MUST depend only on the text and
    the name of the embedder: the same text gives the same vector in any batch and any process.
    """

    @property
    def name(self) -> str:
        """Name under which vectors are stored; it MUST change whenever the vector of any text changes."""
        ...

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, of length 1, or all zeros if the model knows nothing in it."""
        ...

    def embed_query(self, text: str, weigh: Weigh) -> NDArray[np.float32]:
        """Return the vector of a query, of length 1 or all zeros.

        `weigh` is called at most once, with the words of the query in order and in lower case; more specific words
        then count more. An embedder that reads words in context need not call it.
        """
        ...
