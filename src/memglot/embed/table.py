"""The built-in embedder: a table with a row for each wordpiece; a text's vector is the sum of the rows of its pieces.

The table was distilled from all-MiniLM-L6-v2 by `scripts/distil.py`. It knows English well, other languages in Latin
script a little, and other scripts not at all: text in them gives no vector, and is found by its words.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import chain
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from memglot.embed.embedder import Weigh
from memglot.errors import damaged_table

MAX_CHARACTERS = 8_192
"""How much of a text counts: what it is about shows by then, and its sum would only blur."""
MAGIC = b"mgtable1"
_LENGTHS = struct.Struct("<4I")
_UNKNOWN = "[UNK]"
_BATCH = 64  # The rows of more texts at once fall out of the processor's cache.


class Table:
    """A table of wordpieces; see `memglot.embed.Embedder` for what the methods promise."""

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                # Mapped, not read: a query touches a few rows, and processes share them.
                stored = mmap(file.fileno(), 0, access=ACCESS_READ)
            if stored[: len(MAGIC)] != MAGIC:
                raise damaged_table(str(path))
            self._read(stored)
        except (OSError, ValueError, struct.error):
            raise damaged_table(str(path)) from None

    @classmethod
    def built_in(cls) -> Table:
        """The table that is part of the package."""
        return cls(Path(__file__).with_name("table.bin"))

    def _read(self, stored: mmap) -> None:
        """Take the parts out of the file: lengths, name, pieces, then at the next multiple of 64 scales and rows."""
        count, width, of_name, of_pieces = _LENGTHS.unpack_from(stored, len(MAGIC))
        start = len(MAGIC) + _LENGTHS.size
        self.name = stored[start : start + of_name].decode()
        pieces = stored[start + of_name : start + of_name + of_pieces].decode().split("\n")
        scales = -(-(start + of_name + of_pieces) // 64) * 64
        self.dimensions = width
        self._scales = np.frombuffer(stored, "<f4", count, scales)
        self._rows = np.frombuffer(stored, np.int8, count * width, scales + 4 * count).reshape(count, width)
        # What is not in the table comes last, as a number beyond its rows.
        vocabulary = {piece: number for number, piece in enumerate(pieces)} | {_UNKNOWN: count}
        self._tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=_UNKNOWN))
        self._tokenizer.normalizer = BertNormalizer(lowercase=True)
        self._tokenizer.pre_tokenizer = BertPreTokenizer()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row for each text; of a text beyond 8,192 characters, the first of them count."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _BATCH):
            pieces = [self._encode(text)[1].ids for text in texts[start : start + _BATCH]]
            numbers = np.fromiter(chain.from_iterable(pieces), np.int64)
            owners = np.repeat(np.arange(start, start + len(pieces)), [len(part) for part in pieces])
            known = numbers < len(self._rows)
            _total(vectors, self._taken(numbers[known]), owners[known])
        return vectors

    def embed_query(self, text: str, weigh: Weigh) -> NDArray[np.float32]:
        """The query's vector: the rows of each word's pieces count as much as the word tells in the store."""
        vectors = np.zeros((1, self.dimensions), np.float32)
        text, encoded = self._encode(text)
        known = [place for place, number in enumerate(encoded.ids) if number < len(self._rows)]
        if known:
            words, owners = _words(text, encoded, known)
            shares = np.asarray(weigh(words), np.float32)[owners]
            numbers = np.array(encoded.ids)[known]
            _total(vectors, self._taken(numbers) * shares[:, None], np.zeros(len(known), np.int64))
        vector: NDArray[np.float32] = vectors[0]
        return vector

    def _taken(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """The rows of these pieces, as they were before they were made small."""
        rows: NDArray[np.float32] = self._rows[numbers] * self._scales[numbers, None]
        return rows

    def _encode(self, text: str) -> tuple[str, Encoding]:
        """The part of a text that counts, and its pieces."""
        # One text at a time: a batch would use threads, and the tokenizer warns when a process forks after that.
        text = text[:MAX_CHARACTERS]
        try:
            return text, self._tokenizer.encode(text, add_special_tokens=False)
        except TypeError:  # half of a surrogate pair, which the tokenizer cannot take
            text = text.encode("utf-8", "replace").decode()
            return text, self._tokenizer.encode(text, add_special_tokens=False)


def _words(text: str, encoded: Encoding, known: Sequence[int]) -> tuple[list[str], list[int]]:
    """The words that these pieces belong to, and for each piece the place of its word among them."""
    spans: dict[int | None, tuple[int, int]] = {}
    of_words, offsets = encoded.word_ids, encoded.offsets
    for word, (start, end) in zip(of_words, offsets, strict=True):
        spans[word] = (spans[word][0] if word in spans else start, end)
    places = {word: place for place, word in enumerate(dict.fromkeys(of_words[piece] for piece in known))}
    words = [text[slice(*spans[word])].lower() for word in places]
    return words, [places[of_words[piece]] for piece in known]


def _total(vectors: NDArray[np.float32], rows: NDArray[np.float32], owners: NDArray[np.int64]) -> None:
    """Add the rows up for the texts they belong to, which come in order, and bring each sum to length 1."""
    if not len(rows):
        return
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    sums = np.add.reduceat(rows, starts, axis=0)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    vectors[owners[starts]] = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
