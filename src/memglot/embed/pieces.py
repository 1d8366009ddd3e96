"""Split text into the wordpieces of a vocabulary like BERT: lower case, no accents, longest piece first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import regex
from kitoken import Kitoken

MAX_CHARACTERS = 8_192
"""Maximum number of characters of a text that count; more would only blur its meaning."""
MAX_WORDS = 100_000
_UNKNOWN = "[UNK]"
_PLAIN = re.compile(r"[\t\n\r -~]*")
_PLAIN_WORD = re.compile(r"[a-z0-9]+")
# BERT splits at white space and punctuation, which includes these symbols, and around each of these CJK characters.
_WORD = regex.compile(r"[^\s\p{P}$+<=>^`|~\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0002FFFF]+")


class WordPieces:
    """A vocabulary; unknown pieces get the number after the last, `unknown`.

    `prepared` is what `prepare` returned for this vocabulary; loading it takes a fifth of the time.
    """

    def __init__(self, vocabulary: Sequence[str], prepared: bytes | None = None) -> None:
        self.unknown = len(vocabulary)
        self._tokenizer = Kitoken(prepare(vocabulary) if prepared is None else prepared)
        self._words: dict[str, Sequence[int]] = {}

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces; punctuation may be missing, since the vocabulary has none."""
        text = text[:MAX_CHARACTERS]
        # Most text is ASCII, and most words were seen before.
        if _PLAIN.fullmatch(text):
            return list(chain.from_iterable(map(self._of_word, _PLAIN_WORD.findall(text.lower()))))
        return self._tokenizer.encode(_valid_text(text))

    def words(self, text: str) -> tuple[list[str], list[tuple[int, int]]]:
        """Return the words of a text with a known piece, in lower case, and all known pieces.

        A piece is the index of its word in the first list, and its number.
        """
        words: list[str] = []
        pieces: list[tuple[int, int]] = []
        for word in _WORD.findall(_valid_text(text[:MAX_CHARACTERS])):
            known = [number for number in self._tokenizer.encode(word) if number != self.unknown]
            if known:
                pieces += [(len(words), number) for number in known]
                words.append(word.lower())
        return words, pieces

    def _of_word(self, word: str) -> Sequence[int]:
        """Return the numbers of an ASCII word's pieces, cached."""
        found = self._words.get(word)
        if found is None:
            if len(self._words) >= MAX_WORDS:
                self._words.clear()
            found = self._words[word] = self._tokenizer.encode(word)
        return found


def prepare(vocabulary: Sequence[str]) -> bytes:
    """Return a tokenizer for a vocabulary in the binary form of kitoken."""
    return Kitoken.from_tokenizers(msgspec.json.encode(_definition(vocabulary))).to_bytes()


def _definition(vocabulary: Sequence[str]) -> dict[str, Any]:
    """Return a tokenizer like BERT's in the format `tokenizer.json`."""
    numbers = {piece: number for number, piece in enumerate(vocabulary)}
    unknown = {"id": len(numbers), "content": _UNKNOWN, "special": True}
    return {
        "version": "1.0",
        "added_tokens": [
            unknown | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False),
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece",
            "unk_token": _UNKNOWN,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": numbers | {_UNKNOWN: len(numbers)},
        },
    }


def _valid_text(text: str) -> str:
    """Return a text without lone surrogates, which the tokenizer rejects."""
    return text.encode("utf-8", "replace").decode()
