"""The text of a YAML file in the form that libyaml, which implements YAML 1.1, reads as YAML 1.2.

YAML 1.2 allows characters that libyaml takes as line breaks (U+0085, U+2028, U+2029) or rejects (U+007F to U+009F,
U+FFFE, U+FFFF), and surrogates as escapes. libyaml gets a mark and four hex digits instead, and `restore` returns the
original.
"""

import codecs
import re
import sys
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO

from memglot.errors import BadRecord
from memglot.model.record_errors import bad_bytes

# A character that no text uses, and that libyaml accepts.
_MARK, _MARK_ESCAPE, _MARK_CODE = "\U0010fffe", "\\U0010FFFE", "0001"
_ALLOWED = "\x7f-\x9f\u2028\u2029\ufffe\uffff"
# Everything that libyaml does not take as an ordinary character: the allowed ones, and those that YAML forbids.
_ODD = "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010fffd\U0010ffff]"
_odd = re.compile(_ODD)
_allowed = re.compile(f"[{_ALLOWED}{_MARK}]")
_marks = {ord(found): f"{_MARK}{ord(found):04x}" for found in map(chr, range(0x10000)) if _allowed.match(found)}
_marks[ord(_MARK)] = _MARK + _MARK_CODE
# Runs of what YAML forbids, and of escaped surrogates.
_special = re.compile(rf"(?:(?![{_ALLOWED}{_MARK}]){_ODD})+|((?:\\u[dD][89a-fA-F][0-9a-fA-F]{{2}})+)")
# A piece may end inside an escape, whose rest comes with the next one.
_partial = re.compile(r"\\(?:u(?:[dD][0-9a-fA-F]{0,2})?)?\Z")
_marked = re.compile(rf"{_MARK}([0-9a-fA-F]{{4}})|{re.escape(_MARK_ESCAPE)}([dD][89a-fA-F][0-9a-fA-F]{{2}})")
_surrogate = re.compile("[\ud800-\udfff]")
_NAMES = {"\0": "NUL"}


class TooMuchText(Exception):
    """An item is larger than the maximum size of a memory."""


class YamlText:
    """Reads UTF-8 for libyaml; characters that YAML forbids are replaced, and their places remembered."""

    def __init__(self, stream: BinaryIO, start: int = 0) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._rest = ""
        self._bytes = start
        self._characters = 0
        self._refused: deque[tuple[int, int, str]] = deque()
        # The places of escaped surrogates: characters, and bytes.
        self._surrogates = array("Q"), array("Q")
        self.has_marks = False
        self.bytes_allowed = sys.maxsize
        """Number of bytes that may be read from here on, and a little more."""

    def read(self, size: int = -1, /) -> str:
        """Return the next piece of text; empty at the end."""
        if self.bytes_allowed < 0:
            raise TooMuchText
        text, ended = "", False
        while not text and not ended:
            piece = self._stream.read(size)
            ended = not piece
            text = self._rest + self._decoder.decode(piece, ended)
            self._rest = ""
            if not ended and (partial := _partial.search(text[-5:])):
                self._rest = partial[0]
                text = text[: -len(self._rest)]
        if "\\ud" not in text and "\\uD" not in text and _odd.search(text) is None:
            self._pass(text, text)
            return text
        return "".join(self._replaced(text))

    def _replaced(self, text: str) -> Iterator[str]:
        """Yield the text in pieces, each special character replaced."""
        done = 0
        for match in _special.finditer(text):
            yield self._marked(text[done : match.start()])
            found = match[0]
            if match[1] is not None:
                # Only in double quotes this is an escape; elsewhere `restore` finds the text of our own.
                for places, here in zip(self._surrogates, (self._characters, self._bytes), strict=True):
                    places.append(here)
                self.has_marks = True
                replaced = found.replace("\\u", _MARK_ESCAPE)
            else:
                self._refused.append((self._characters, self._bytes, _name(found[0])))
                replaced = "\N{REPLACEMENT CHARACTER}" * len(found)
            self._pass(found, replaced)
            yield replaced
            done = match.end()
        yield self._marked(text[done:])

    def _marked(self, text: str) -> str:
        """Return a text with marks for the characters that YAML allows and libyaml does not."""
        marked = text
        if _allowed.search(text) is not None:
            self.has_marks = True
            marked = text.translate(_marks)
        self._pass(text, marked)
        return marked

    def _pass(self, read: str, given: str) -> None:
        size = len(read.encode("utf-8", "surrogateescape"))
        self._characters += len(given)
        self._bytes += size
        self.bytes_allowed -= size

    def refused_before(self, character: int) -> BadRecord | None:
        """Return the first error in the text up to a position; each error is returned once."""
        found = None
        while self._refused and self._refused[0][0] < character:
            _, offset, what = self._refused.popleft()
            found = found or bad_bytes(offset, what)
        if before := bisect_left(self._surrogates[0], character):
            for places in self._surrogates:
                del places[:before]
        return found

    def lone_surrogate(self, text: str, character: int) -> BadRecord | None:
        """Return the error for a lone surrogate in a scalar that begins at a position; `None` if it has none."""
        if text.isascii() or _surrogate.search(text) is None:
            return None
        characters, offsets = self._surrogates
        number = bisect_left(characters, character)
        return bad_bytes(offsets[number] if number < len(offsets) else 0, "a lone surrogate")


def restore(text: str) -> str:
    """Return a scalar with its original characters."""
    if _MARK not in text and _MARK_ESCAPE not in text:
        return text
    text = _marked.sub(_original, text)
    if _surrogate.search(text):
        # Two escapes that form a pair are one character.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text


def _original(match: re.Match[str]) -> str:
    if match[2] is not None:
        return f"\\u{match[2]}"
    return _MARK if match[1] == _MARK_CODE else chr(int(match[1], 16))


def _name(letter: str) -> str:
    if "\udc80" <= letter <= "\udcff":
        return "invalid UTF-8"
    return _NAMES.get(letter) or f"U+{ord(letter):04X}"
