"""The built-in embedder: a table with a row per wordpiece; the vector of a text is the sum of the rows of its pieces.

The table was distilled from all-MiniLM-L6-v2; docs/embedding.md explains how. It knows English well, other languages in
Latin script a little, and no other scripts: text in them gets no vector and is found by keyword search only.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memglot.embed.embedder import Weigh
from memglot.embed.pieces import WordPieces
from memglot.errors import Unreadable

MAGIC = b"mgtable1"
_LENGTHS = struct.Struct("<4I")
_BLOCK = 128


class TableEmbedder:
    """A table of wordpieces; see `memglot.embed.Embedder` for its methods."""

    def __init__(self, path: Path, tokenizer: Path | None = None) -> None:
        try:
            prepared = tokenizer.read_bytes() if tokenizer else None
            with path.open("rb") as file:
                # Mapped, not read: a query touches a few rows, and processes share them.
                stored = mmap(file.fileno(), 0, access=ACCESS_READ)
            if stored[: len(MAGIC)] != MAGIC:
                raise _damaged_table(str(path))
            self._read(stored, prepared)
        except (OSError, ValueError, struct.error):
            raise _damaged_table(str(path)) from None

    @classmethod
    def built_in(cls) -> TableEmbedder:
        """Return the table that is part of the package."""
        table = Path(__file__).with_name("table.bin")
        return cls(table, table.with_name("tokenizer.bin"))

    def _read(self, stored: mmap, prepared: bytes | None) -> None:
        """Read the parts of the file: lengths, name, pieces, then at the next multiple of 64 scales and rows."""
        count, width, of_name, of_pieces = _LENGTHS.unpack_from(stored, len(MAGIC))
        start = len(MAGIC) + _LENGTHS.size
        self.name = stored[start : start + of_name].decode()
        pieces = stored[start + of_name : start + of_name + of_pieces].decode().split("\n")
        scales = -(-(start + of_name + of_pieces) // 64) * 64
        self.dimensions = width
        self._scales = np.frombuffer(stored, "<f4", count, scales)
        self._rows = np.frombuffer(stored, np.int8, count * width, scales + 4 * count).reshape(count, width)
        self._pieces = WordPieces(pieces, prepared)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; only the first 8,192 characters of a text count."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for place, text in enumerate(texts):
            # Text by text, since the rows of more texts fall out of the processor's cache.
            numbers = self._pieces.numbers(text)
            if self._pieces.unknown in numbers:
                numbers = [number for number in numbers if number != self._pieces.unknown]
            if numbers:
                vectors[place] = _sum_of(self._rows_of(np.array(numbers)))
        return _normalized(vectors)

    def embed_query(self, text: str, weigh: Weigh) -> NDArray[np.float32]:
        """Return the vector of a query, with the pieces of each word weighted by `weigh`."""
        vectors = np.zeros((1, self.dimensions), np.float32)
        words, pieces = self._pieces.words(text)
        if words:
            owners, numbers = np.array(pieces).T
            shares = np.asarray(weigh(words), np.float32)[owners]
            vectors[0] = _sum_of(self._rows_of(numbers) * shares[:, None])
        vector: NDArray[np.float32] = _normalized(vectors)[0]
        return vector

    def _rows_of(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the rows of these pieces, scaled back to floats."""
        rows: NDArray[np.float32] = self._rows.take(numbers, axis=0).astype(np.float32)
        rows *= self._scales.take(numbers)[:, None]
        return rows


def _sum_of(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the sum of rows. Their order of addition is part of the model: another one rounds differently."""
    first: NDArray[np.float32] = rows[0]
    return first + _pairwise(rows[1:]) if len(rows) > 1 else first


def _pairwise(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return eight sums of every eighth row, added up; the halves of many rows are added up by themselves."""
    count, width = rows.shape
    if count > _BLOCK:
        half = count // 2 // 8 * 8
        return _pairwise(rows[:half]) + _pairwise(rows[half:])
    whole = count // 8 * 8
    if not whole:
        return _in_order(rows)
    sums = _in_order(rows[:whole].reshape(-1, 8, width))
    while len(sums) > 1:
        sums = sums[0::2] + sums[1::2]
    total: NDArray[np.float32] = sums[0]
    for row in rows[whole:]:
        total += row
    return total


def _in_order(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    total: NDArray[np.float32] = np.add.reduce(rows, axis=0)
    return total


def _normalized(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors of length 1; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: NDArray[np.float32] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return rows


def _damaged_table(path: str) -> Unreadable:
    """Return the error for a table that is missing, truncated or not a table."""
    return Unreadable(
        path, "it is not a complete table of vectors", "run `pip install --force-reinstall memglot` to restore it"
    )
