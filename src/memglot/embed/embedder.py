"""What every embedder is: a name, a number of dimensions, and vectors for texts and for queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Weigh: TypeAlias = Callable[[Sequence[str]], Sequence[float]]
"""Says how telling each word of a query is in the store that is searched: from 0.01, for a word in every text, to 1."""


class Embedder(Protocol):
    """Turns text into vectors.

    The vectors of two texts MUST have a product near 1 when the texts mean the same, and MUST depend on the text and
    the name alone: the same text gives the same vector, in any batch, in any process, as long as the name is the same.
    """

    @property
    def name(self) -> str:
        """What the vectors are kept under; it MUST change whenever the vectors of any text would."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row for each text, of length 1, or all zeros where the text holds nothing that the model knows."""
        ...

    def embed_query(self, text: str, weigh: Weigh) -> NDArray[np.float32]:
        """The vector of a query, of length 1 or all zeros.

        `weigh` is called at most once, with the query's words in lower case, otherwise as they stand and in order; a
        word that tells more in this store then counts for more. An embedder that reads words in their context may
        leave it uncalled.
        """
        ...
