"""Text in UTF-16 and UTF-32, which is read as UTF-8."""

from __future__ import annotations

import codecs
import io
import re
from typing import BinaryIO

from memglot.errors import BadRecord, Unreadable

BOM = codecs.BOM_UTF8
# The mark of UTF-32 begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_CHUNK = 1 << 16
# Every second byte of Latin text in UTF-16 is zero, and JSON begins with two ASCII characters in any language.
_UNMARKED = re.compile(rb"(?:[^\0]\0{1,3}){4}|(?:\0{1,3}[^\0]){4}|[{\[]\0{1,3}[^\0]\0|\0{1,3}[{\[]\0{1,3}[^\0]")


def marked_encoding(head: bytes) -> tuple[str, int] | None:
    """Return the encoding that a byte order mark names, and the length of the mark; `None` for UTF-8."""
    if head[:1] not in (b"\xff", b"\xfe", b"\0"):
        return None
    return next(((name, len(mark)) for mark, name in _MARKS.items() if head.startswith(mark)), None)


def has_unmarked_encoding(head: bytes) -> bool:
    """Return True if a text seems to be UTF-16 or UTF-32, but has no byte order mark."""
    return b"\0" in head[:16] and _UNMARKED.match(head) is not None


def head_as_utf8(head: bytes) -> bytes:
    """Return the first bytes of a file as UTF-8, without a byte order mark."""
    found = marked_encoding(head)
    if found is None:
        return head.removeprefix(BOM)
    return head[found[1] :].decode(found[0], "ignore").encode()


def unmarked_encoding() -> BadRecord:
    """Return the error for a text without a byte order mark that is not UTF-8."""
    return BadRecord("it seems to be UTF-16 or UTF-32 without a byte order mark", "save it as UTF-8")


def encode_text(text: str, encoding: str) -> bytes:
    """Return a text in an encoding, with its byte order mark; UTF-8 has none."""
    if not encoding:
        return text.encode()
    mark = next(mark for mark, name in _MARKS.items() if name == encoding)
    return mark + text.encode(encoding, "surrogatepass")


class Utf8Stream(io.RawIOBase):
    """Text in another encoding as UTF-8. Lone surrogates become bytes that are not valid UTF-8."""

    def __init__(self, head: bytes, stream: BinaryIO, encoding: str, name: str) -> None:
        self._head, self._stream, self._name = head, stream, name
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
        self._waiting = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._waiting and not self._ended:
            piece, self._head = self._head or self._stream.read(_CHUNK), b""
            self._ended = not piece
            self._waiting = self._converted(piece)
        found, self._waiting = self._waiting[: len(buffer)], self._waiting[len(buffer) :]
        buffer[: len(found)] = found
        return len(found)

    def _converted(self, piece: bytes) -> bytes:
        try:
            return self._decoder.decode(piece, self._ended).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            if self._ended:
                # The file ends inside a character; the last record is reported as not valid.
                return b"\xff"
            raise Unreadable(self._name, f"it is not valid {self._encoding[:6].upper()}", "save it as UTF-8") from None

    def close(self) -> None:
        self._stream.close()
        super().close()
