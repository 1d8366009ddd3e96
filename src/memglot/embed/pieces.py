"""Split text into the wordpieces of a vocabulary like BERT: lower case, no accents, longest piece first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

MAX_CHARACTERS = 8_192
"""Maximum number of characters of a text that count; more would only blur its meaning."""
MAX_WORDS = 100_000
_UNKNOWN = "[UNK]"
_PLAIN = re.compile(r"[\t\n\r -~]*")
_WORD = re.compile(r"[a-z0-9]+")


class WordPieces:
    """A vocabulary; unknown pieces get the number after the last, `unknown`."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.unknown = len(vocabulary)
        numbers = {piece: number for number, piece in enumerate(vocabulary)} | {_UNKNOWN: self.unknown}
        self._tokenizer = Tokenizer(WordPiece(numbers, unk_token=_UNKNOWN))
        self._tokenizer.normalizer = BertNormalizer(lowercase=True)
        self._tokenizer.pre_tokenizer = BertPreTokenizer()
        self._words: dict[str, Sequence[int]] = {}

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces; punctuation may be missing, since the vocabulary has none."""
        text = text[:MAX_CHARACTERS]
        # Most text is ASCII, and most words were seen before; the tokenizer takes five times as long.
        if _PLAIN.fullmatch(text):
            return list(chain.from_iterable(map(self._of_word, _WORD.findall(text.lower()))))
        return self._encode(_valid_text(text)).ids

    def words(self, text: str) -> tuple[list[str], list[tuple[int, int]]]:
        """Return the words of a text with a known piece, in lower case, and all known pieces.

        A piece is the index of its word in the first list, and its number.
        """
        text = _valid_text(text[:MAX_CHARACTERS])
        encoded = self._encode(text)
        spans: dict[int | None, tuple[int, int]] = {}
        known: dict[int | None, list[int]] = {}
        for word, number, (start, end) in zip(encoded.word_ids, encoded.ids, encoded.offsets, strict=True):
            spans[word] = (spans[word][0] if word in spans else start, end)
            if number != self.unknown:
                known.setdefault(word, []).append(number)
        words = [text[slice(*spans[word])].lower() for word in known]
        return words, [(place, number) for place, numbers in enumerate(known.values()) for number in numbers]

    def _of_word(self, word: str) -> Sequence[int]:
        """Return the numbers of an ASCII word's pieces, cached."""
        found = self._words.get(word)
        if found is None:
            if len(self._words) >= MAX_WORDS:
                self._words.clear()
            found = self._words[word] = self._encode(word).ids
        return found

    def _encode(self, text: str) -> Encoding:
        """Encode a text with the tokenizer."""
        # One text at a time: a batch would use threads, and the tokenizer warns when a process forks after that.
        return self._tokenizer.encode(text, add_special_tokens=False)


def _valid_text(text: str) -> str:
    """Return a text without lone surrogates, which the tokenizer rejects."""
    return text.encode("utf-8", "replace").decode()
