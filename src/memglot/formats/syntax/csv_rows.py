"""Split a CSV stream into rows: RFC 4180, any line end, fields over several lines, with line numbers."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import IO, NamedTuple, TypeAlias

import msgspec

from memglot.errors import BadRecord
from memglot.formats.core.source import Source
from memglot.model.record_errors import bad_bytes, too_large

_DELIMITERS = (b",", b";", b"\t")
TAB, TABS = "\t", ".tsv"
"""The delimiter of files with this extension."""
_CHUNK = 1 << 17
_IN_MEMORY = 1 << 23
_AT_ONCE = 1_000
_TOGETHER = 500
# A quote opens a field only at its start; elsewhere in an unquoted field it is an ordinary character.
_QUOTED = re.compile(r'"([^"]*+(?:""[^"]*+)*+)" *+')
# An odd number of quotes may close a field; two quotes are one quote inside of it.
_CLOSING = re.compile(rb'(?<!")(?:"")*+"(?!")')
_PIECES = re.compile(rb'(?:[^"\r\n]*+(?:\r\n?+|\n))++|[^\r\n]*+(?:\r\n?+|\n)')
_LINE_END = re.compile(r"[\r\n]")
_BLANK = " \t\n\r\v\f"
_HEADER = re.compile(rb'\s*+(?:[^"\r\n]++|"[^"]*+"?)*+')

Spool: TypeAlias = "tempfile.SpooledTemporaryFile[bytes]"


class CsvLine(msgspec.Struct, frozen=True, gc=False):
    """A line with its line end, its number, and the offset of its first byte; or several lines without quotes."""

    text: bytes
    number: int
    offset: int
    too_large: bool = False
    """Whether it is larger than a memory may be; its text is then at most a quote and a line end."""
    others: int = 0
    """Number of further lines."""


class CsvRow(NamedTuple):
    """The fields of a row and its first line; or an error and its line."""

    fields: list[str]
    line: int
    error: BadRecord | None = None


def find_delimiter(head: bytes, extension: str = "") -> str:
    """Return the most frequent delimiter in the header outside of quotes; a comma by default.

    In a `.tsv` it is the tab, unless the header has other delimiters only.
    """
    match = _HEADER.match(head)
    names = re.sub(rb'"[^"]*"?', b"", match[0] if match else b"")
    found = max(_DELIMITERS, key=names.count)
    return TAB if extension == TABS and (TAB.encode() in names or not names.count(found)) else found.decode()


def rows(source: Source, delimiter: str) -> Iterator[CsvRow]:
    """Yield all rows, the header first; skip blank lines.

    A quote that never closes, or closes inside a later row, would swallow rows. The lines after it are read again, and
    those with as many fields as the header are rows of their own.
    """
    limit = source.max_record
    with closing(_Feed(_lines(source.stream, source.start, limit=limit))) as feed:
        yield from _rows(feed, delimiter, limit)


def _rows(feed: _Feed, delimiter: str, limit: int) -> Iterator[CsvRow]:
    width = doubtful = 0
    found: Iterable[CsvRow]
    for line in feed:
        if b'"' in line.text:
            building = _Quoted(line, delimiter, limit)
            found = (building.build(feed),)
            doubtful = max(doubtful, building.doubtful)
        elif line.too_large:
            found = (CsvRow([], line.number, too_large(limit)),)
        elif line.text.isspace() or line.number + line.others <= doubtful and _are_single_fields(line, delimiter):
            continue
        else:
            found = _without_quotes(line, delimiter)
        for row in found:
            if row.line <= doubtful and row.error is None and not 1 < len(row.fields) == width:
                continue
            width = width or len(row.fields)
            yield row


def _are_single_fields(line: CsvLine, delimiter: str) -> bool:
    """Return True if valid lines have no delimiter, so that none of them is a row that a quote swallowed."""
    return delimiter.encode() not in line.text and _decode(line.text, line.offset)[1] is None


def _without_quotes(lines: CsvLine, delimiter: str) -> Iterator[CsvRow]:
    """Yield the rows of lines without quotes."""
    text, error = _decode(lines.text, lines.offset)
    if error is None:
        # `str.splitlines` would also split at characters that are text here.
        for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), lines.number):
            if line.strip(_BLANK):
                yield CsvRow(line.split(delimiter), number)
        return
    offset = lines.offset
    for number, raw in enumerate(lines.text.splitlines(keepends=True), lines.number):
        if not raw.isspace():
            line, error = _decode(raw, offset)
            yield CsvRow(line.rstrip("\r\n").split(delimiter), number, error)
        offset += len(raw)


def _lines(stream: IO[bytes], offset: int, number: int = 1, *, limit: int = sys.maxsize) -> Iterator[CsvLine]:
    """Yield the lines of a stream, those without quotes many at once, holding no more than a chunk and a line."""
    rest: list[bytes] = []
    held = dropped = quotes = 0
    while chunk := stream.read(_CHUNK):
        if rest or dropped:
            if b"\n" not in chunk and b"\r" not in chunk and not (rest and rest[-1].endswith(b"\r")):
                rest.append(chunk)
                held += len(chunk)
                if held > limit:
                    quotes += sum(piece.count(b'"') for piece in rest)
                    dropped += held
                    rest, held = [], 0
                continue
            chunk = b"".join([*rest, chunk])
        # A line feed that follows a return at the end belongs to the same line end.
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r", 0, len(chunk) - 1)) + 1
        rest = [chunk[end:]] if end < len(chunk) else []
        held = len(chunk) - end
        for text in _pieces(chunk[:end], limit, is_torn=dropped > 0):
            if dropped or len(text) > limit and len(text.rstrip(b"\r\n")) > limit:
                line = _large_line(text, number, offset, quotes)
            else:
                line = CsvLine(text, number, offset, False, 0 if b'"' in text else _count_lines(text) - 1)
            yield line
            number += line.others + 1
            offset += dropped + len(text)
            dropped = quotes = 0
    if rest or dropped:
        text = b"".join(rest)
        is_large = dropped or len(text.rstrip(b"\r\n")) > limit
        yield _large_line(text, number, offset, quotes) if is_large else CsvLine(text, number, offset)


def _pieces(chunk: bytes, limit: int, *, is_torn: bool) -> list[bytes]:
    """Split complete lines into lines with quotes, and runs of lines without; into lines if one may be too large."""
    if is_torn or len(chunk) > limit:
        return chunk.splitlines(keepends=True)
    if b'"' in chunk:
        return _PIECES.findall(chunk)
    return [chunk] if chunk else []


def _count_lines(text: bytes) -> int:
    """Return the number of line ends."""
    if b"\r" in text:
        return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")
    return text.count(b"\n")


def _large_line(end: bytes, number: int, offset: int, quotes: int) -> CsvLine:
    """Return a line that is too large, given its end and the number of quotes before: one quote if it leaves a field
    open.
    """
    is_open = (quotes + end.count(b'"')) % 2
    return CsvLine(b'"' * is_open + b"\n", number, offset, True)


def _decode(raw: bytes, offset: int) -> tuple[str, BadRecord | None]:
    """Decode some bytes; return an error with the offset if they are not valid UTF-8. They may contain NUL."""
    try:
        return raw.decode(), None
    except UnicodeDecodeError as found:
        return raw.decode("utf-8", "surrogateescape"), bad_bytes(offset + found.start)


class _Feed:
    """Lines to come; some can be pushed back."""

    def __init__(self, lines: Iterator[CsvLine]) -> None:
        self._waiting: list[tuple[Iterator[CsvLine], Spool | None]] = [(lines, None)]

    def __iter__(self) -> Iterator[CsvLine]:
        while (lines := self.current()) is not None:
            for line in lines:
                yield line
                # Whoever got the line may have pushed others back, or read these to their end.
                if self.current() is not lines:
                    break
            else:
                self.drop()

    def current(self) -> Iterator[CsvLine] | None:
        """Return the lines to read next; call `drop` after the last one."""
        return self._waiting[-1][0] if self._waiting else None

    def again(self, lines: Iterator[CsvLine], spool: Spool | None) -> None:
        """Yield these lines before all others; they may be read from a temporary file."""
        self._waiting.append((lines, spool))

    def close(self) -> None:
        """Close the temporary files of lines that nobody wants any more."""
        while self._waiting:
            self.drop()

    def drop(self) -> None:
        """Go on with the lines that were waiting."""
        _, spool = self._waiting.pop()
        if spool is not None:
            spool.close()


class _Quoted:
    """A row that begins on a line with quotes and may continue on the next lines."""

    def __init__(self, first: CsvLine, delimiter: str, limit: int) -> None:
        self._first, self._delimiter, self._limit = first, delimiter, limit
        self._size = limit + 1 if first.too_large else len(first.text)
        self._is_open = True
        self._is_followed = False
        self._fields: list[str] = []
        self._error: BadRecord | None = None
        # The bytes from the quote that is open; on disk if there are many, since it may never close.
        self._pending: list[bytes] = []
        self._pending_size = 0
        self._spool: Spool | None = None
        self._wanted = 1
        # Lines that are held after the first one that may close the field; the row may end before them.
        self._surplus: list[CsvLine] = []
        self._end = 0
        self.doubtful = 0
        """Last line that this row swallowed, if its quotes do not match."""

    def build(self, feed: _Feed) -> CsvRow:
        """Return the row, reading as many lines as needed."""
        first = self._first
        data, offset = first.text, first.offset
        text, self._error = _decode(data, offset)
        opened = last = first.number
        while (place := self._split(text)) is not None:
            before = _size_of(text, data, place)
            if self._is_followed:
                # Text follows the closing quote, so a later row probably opens a quote here.
                data, last = self._return_surplus(feed, text, data, last)
                self._open(data[before:])
                opened += _count_lines(data[:before])
                return self._broken(feed, offset + before, opened, last, _bad_quote(lines=True))
            offset += before
            opened += _count_lines(data[:before])
            self._open(data[before:])
            last, closes = self._hold(feed, last)
            if not closes:
                return self._broken(feed, offset, opened, last, _open_quote())
            if self._size > self._limit:
                while closes and self._is_open:
                    self._wanted = 1
                    last, closes = self._hold(feed, last)
                if self._is_open:
                    return self._broken(feed, offset, opened, last, _open_quote())
                self._open(b"")
                return CsvRow([], first.number, too_large(self._limit))
            data = self._held()
            text, error = _decode(data, offset)
            if error is not None and self._surplus:
                # The invalid bytes may be in lines that are not part of this row.
                self._end = 0
                data, last = self._return_surplus(feed, text, data, last)
                text, error = _decode(data, offset)
            self._error = self._error or error
        self._return_surplus(feed, text, data, last)
        self._open(b"")
        return CsvRow(self._fields, first.number, self._error)

    def _split(self, text: str) -> int | None:
        """Add the fields of a text; return the position of a quote that does not close in it."""
        delimiter, fields = self._delimiter, self._fields
        place = 0
        while True:
            if text.startswith('"', place):
                match = _QUOTED.match(text, place)
                if match is None:
                    return place
                end = match.end()
                after = text[end : end + 1]
                if after == delimiter or after in "\r\n":
                    fields.append(match[1].replace('""', '"') if '""' in match[1] else match[1])
                    if after != delimiter:
                        self._end = end
                        return None
                    place = end + 1
                    continue
                if "\n" in match[1] or "\r" in match[1]:
                    self._is_followed, self._end = True, end
                    return place
                self._error = self._error or _bad_quote(lines=False)
            end = text.find(delimiter, place)
            if self._surplus and (line_end := _LINE_END.search(text, place, end if end >= 0 else len(text))):
                # The row ends, and other lines follow.
                self._end = line_end.start()
                fields.append(text[place : self._end])
                return None
            if end < 0:
                fields.append(text[place:].rstrip("\r\n"))
                self._end = len(text)
                return None
            fields.append(text[place:end])
            place = end + 1

    def _return_surplus(self, feed: _Feed, text: str, data: bytes, last: int) -> tuple[bytes, int]:
        """Push back the held lines after the end of the row; return the bytes before them, and the last line."""
        if not self._surplus:
            return data, last
        after = len(data) - _size_of(text, data, self._end)
        returned: list[CsvLine] = []
        dropped = 0
        while self._surplus and after >= dropped + (size := len(self._surplus[-1].text)):
            returned.append(self._surplus.pop())
            self._is_open ^= returned[-1].text.count(b'"') % 2 == 1
            dropped += size
        if returned:
            feed.again(reversed(returned), None)
            last = returned[-1].number - 1
        self._size -= dropped
        self._surplus = []
        return data[: len(data) - dropped], last

    def _open(self, data: bytes) -> None:
        """Hold the bytes from a quote to the end of its line, and forget those before."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None
        self._pending, self._pending_size, self._surplus = [data], len(data), []

    def _hold(self, feed: _Feed, last: int) -> tuple[int, bool]:
        """Read lines up to one that may close the field; return its number and True if there is one.

        The more of them a row had, the more are read at once; what is not part of the row is returned later.
        """
        pending, closing, wanted = self._pending, 0, self._wanted
        self._wanted = min(wanted * 2, _TOGETHER)
        while (lines := feed.current()) is not None:
            for line in lines:
                text = line.text
                size, quotes = len(text), text.count(b'"')
                if closing:
                    if not quotes or self._size + size > self._limit or line.too_large or self._spool is not None:
                        feed.again(iter([line]), None)
                        return last, True
                    self._surplus.append(line)
                last = line.number + line.others
                pending.append(text)
                self._size += self._limit if line.too_large else size
                self._pending_size += size
                if self._pending_size >= _CHUNK or len(pending) >= _AT_ONCE:
                    self._spill()
                if quotes:
                    is_odd = quotes % 2 == 1
                    self._is_open ^= is_odd
                    if is_odd or _CLOSING.search(text) is not None:
                        closing += 1
                        if closing >= wanted:
                            return last, True
            feed.drop()
        return last, closing > 0

    def _spill(self) -> Spool:
        """Move the bytes to the temporary file, and return it."""
        if self._spool is None:
            self._spool = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)
        self._spool.write(b"".join(self._pending))
        self._pending.clear()
        self._pending_size = 0
        return self._spool

    def _held(self) -> bytes:
        """Return the bytes from the quote that is open."""
        if self._spool is None:
            return b"".join(self._pending)
        self._spill().seek(0)
        return self._spool.read()

    def _broken(self, feed: _Feed, offset: int, opened: int, last: int, error: BadRecord) -> CsvRow:
        """Return the error for the quote that opened on a line, and push back the lines after it."""
        self.doubtful = last
        spool = self._spill()
        feed.again(_below(spool, offset, opened), spool)
        return CsvRow([], opened, self._error or error)


def _size_of(text: str, data: bytes, end: int) -> int:
    """Return the number of bytes of a text up to a character; `data` is the complete text."""
    return end if len(text) == len(data) else len(text[:end].encode("utf-8", "surrogateescape"))


def _below(spool: Spool, offset: int, opened: int) -> Iterator[CsvLine]:
    spool.seek(0)
    lines = _lines(spool, offset, opened)
    next(lines, None)
    yield from lines


_REREAD = "; the lines below it were read again, and those with as many fields as the header were read as rows"


def _open_quote() -> BadRecord:
    """Return the error for a quote that is never closed."""
    return BadRecord("a quote opens a field here and never closes", "close it, or double it if it is text" + _REREAD)


def _bad_quote(*, lines: bool) -> BadRecord:
    """Return the error for text after a closing quote."""
    hint = "double the quotes inside a quoted field"
    if not lines:
        return BadRecord("text follows the quote that closes a field", hint)
    return BadRecord("a quote opens a field here and closes before other text, lines below", hint + _REREAD)
