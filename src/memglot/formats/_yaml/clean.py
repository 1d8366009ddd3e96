"""A stream of text that a YAML parser can take: what is no text is marked, so that only its record fails."""

import codecs
import re
from typing import BinaryIO

from memglot.errors import BadRecord, bad_bytes

# What libyaml accepts; anything else, invalid bytes included, would end the whole file.
_REFUSED = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class CleanText:
    """Reads UTF-8 and replaces what YAML may not contain, remembering where that was."""

    def __init__(self, stream: BinaryIO, start: int = 0) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._bytes = start
        self._characters = 0
        self._refused: list[tuple[int, int, str]] = []

    def read(self, size: int = -1, /) -> str:
        """The next piece of text; empty at the end."""
        text = ""
        while not text:
            piece = self._stream.read(size)
            text = self._decoder.decode(piece, not piece)
            if not piece:
                break
        if _REFUSED.search(text):
            text = _REFUSED.sub(lambda match: self._mark(text, match), text)
        self._characters += len(text)
        self._bytes += len(text.encode("utf-8", "surrogateescape"))
        return text

    def _mark(self, text: str, match: re.Match[str]) -> str:
        place, letter = match.start(), match[0]
        offset = self._bytes + len(text[:place].encode("utf-8", "surrogateescape"))
        what = (
            "invalid UTF-8" if "\udc80" <= letter <= "\udcff" else "NUL" if letter == "\0" else f"U+{ord(letter):04X}"
        )
        self._refused.append((self._characters + place, offset, what))
        return "\N{REPLACEMENT CHARACTER}"

    def refused_before(self, character: int) -> BadRecord | None:
        """What is wrong with the text read up to a place; each fault is told once."""
        found = None
        while self._refused and self._refused[0][0] < character:
            _, offset, what = self._refused.pop(0)
            found = found or bad_bytes(offset, what)
        return found
