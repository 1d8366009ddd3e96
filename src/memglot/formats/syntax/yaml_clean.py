"""A stream of text that a YAML parser can take: what is no text is marked, so that only its record fails."""

import codecs
import re
from collections import deque
from collections.abc import Iterator
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
        self._refused: deque[tuple[int, int, str]] = deque()

    def read(self, size: int = -1, /) -> str:
        """The next piece of text; empty at the end."""
        text = ""
        while not text:
            piece = self._stream.read(size)
            text = self._decoder.decode(piece, not piece)
            if not piece:
                break
        if _REFUSED.search(text) is None:
            self._pass(text)
            return text
        return "".join(self._marked(text))

    def _marked(self, text: str) -> Iterator[str]:
        """The text in pieces, each refused character replaced and remembered with its place."""
        done = 0
        for match in _REFUSED.finditer(text):
            before, letter = text[done : match.start()], match[0]
            self._pass(before)
            self._refused.append((self._characters, self._bytes, _name(letter)))
            self._pass(letter)
            done = match.end()
            yield before + "\N{REPLACEMENT CHARACTER}"
        self._pass(text[done:])
        yield text[done:]

    def _pass(self, text: str) -> None:
        self._characters += len(text)
        self._bytes += len(text.encode("utf-8", "surrogateescape"))

    def refused_before(self, character: int) -> BadRecord | None:
        """What is wrong with the text read up to a place; each fault is told once."""
        found = None
        while self._refused and self._refused[0][0] < character:
            _, offset, what = self._refused.popleft()
            found = found or bad_bytes(offset, what)
        return found


def _name(letter: str) -> str:
    if "\udc80" <= letter <= "\udcff":
        return "invalid UTF-8"
    return "NUL" if letter == "\0" else f"U+{ord(letter):04X}"
