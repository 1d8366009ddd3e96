"""Split a CSV stream into rows: RFC 4180, any line end, fields over several lines, with line numbers."""

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from typing import IO, NamedTuple, TypeAlias

from memglot.errors import BadRecord
from memglot.formats.core.source import Source
from memglot.model.record_errors import bad_bytes, too_large

_DELIMITERS = (b",", b";", b"\t")
TAB, TABS = "\t", ".tsv"
"""The delimiter of files with this extension."""
_CHUNK = 1 << 17
_IN_MEMORY = 1 << 23
_AT_ONCE = 1_000
# A quote opens a field only at its start; elsewhere in an unquoted field it is an ordinary character.
_QUOTED = re.compile(r'"([^"]*+(?:""[^"]*+)*+)" *+')
# An odd number of quotes may close a field; two quotes are one quote inside of it.
_CLOSING = re.compile(rb'(?<!")(?:"")*+"(?!")')
_HEADER = re.compile(rb'\s*+(?:[^"\r\n]++|"[^"]*+"?)*+')

Spool: TypeAlias = "tempfile.SpooledTemporaryFile[bytes]"


class CsvLine(NamedTuple):
    """A line with its line end, its number, and the offset of its first byte."""

    text: bytes
    number: int
    offset: int
    too_large: bool = False
    """Whether it is larger than a memory may be; its text is then at most a quote and a line end."""


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


def _rows(feed: "_Feed", delimiter: str, limit: int) -> Iterator[CsvRow]:
    width = doubtful = 0
    for line in feed:
        if b'"' in line.text:
            building = _Quoted(line, delimiter, limit)
            row = building.build(feed)
            doubtful = max(doubtful, building.doubtful)
        elif line.too_large:
            row = CsvRow([], line.number, too_large(limit))
        elif line.text.isspace():
            continue
        else:
            text, error = _decode(line.text, line.offset)
            row = CsvRow(text.rstrip("\r\n").split(delimiter), line.number, error)
        if row.line <= doubtful and row.error is None and not 1 < len(row.fields) == width:
            continue
        width = width or len(row.fields)
        yield row


def _lines(stream: IO[bytes], offset: int, number: int = 0, *, limit: int = sys.maxsize) -> Iterator[CsvLine]:
    """Yield the lines of a stream, holding no more than a chunk and a line."""
    rest: list[bytes] = []
    held = dropped = quotes = 0
    while chunk := stream.read(_CHUNK):
        if chunk.endswith(b"\r"):
            # A line feed that follows belongs to the same line end.
            chunk += stream.read(1)
        if rest or dropped:
            if b"\n" not in chunk and b"\r" not in chunk:
                rest.append(chunk)
                held += len(chunk)
                if held > limit:
                    quotes += sum(piece.count(b'"') for piece in rest)
                    dropped += held
                    rest, held = [], 0
                continue
            chunk = b"".join([*rest, chunk])
        elif len(chunk) <= limit and chunk.isspace() and chunk.endswith((b"\n", b"\r")):
            # Millions of blank lines are one: nobody reads them, except as part of a quoted field.
            number += len(chunk.splitlines())
            yield CsvLine(chunk, number, offset)
            offset += len(chunk)
            continue
        found = chunk.splitlines(keepends=True)
        rest = [] if found[-1].endswith((b"\n", b"\r")) else [found.pop()]
        held = len(rest[0]) if rest else 0
        for text in found:
            number += 1
            if dropped or len(text) > limit and len(text.rstrip(b"\r\n")) > limit:
                yield _large_line(text, number, offset, quotes)
            else:
                yield CsvLine(text, number, offset)
            offset += dropped + len(text)
            dropped = quotes = 0
    if rest or dropped:
        text = b"".join(rest)
        is_large = dropped or len(text) > limit
        yield _large_line(text, number + 1, offset, quotes) if is_large else CsvLine(text, number + 1, offset)


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
        waiting = self._waiting
        while waiting:
            lines = waiting[-1][0]
            for line in lines:
                yield line
                # Whoever got the line may have pushed others back, or read these to their end.
                if not waiting or waiting[-1][0] is not lines:
                    break
            else:
                self._drop()

    def again(self, lines: Iterator[CsvLine], spool: Spool) -> None:
        """Yield these lines, which are read from a temporary file, before all others."""
        self._waiting.append((lines, spool))

    def close(self) -> None:
        """Close the temporary files of lines that nobody wants any more."""
        while self._waiting:
            self._drop()

    def _drop(self) -> None:
        _, spool = self._waiting.pop()
        if spool is not None:
            spool.close()


class _Quoted:
    """A row that begins on a line with quotes and may continue on the next lines."""

    def __init__(self, first: CsvLine, delimiter: str, limit: int) -> None:
        self._first, self._delimiter, self._limit = first, delimiter, limit
        self._size = limit + 1 if first.too_large else len(first.text)
        self._is_open = True
        self._fields: list[str] = []
        self._error: BadRecord | None = None
        # The bytes of a row over several lines; on disk if there are many, since a quote may never close.
        self._bytes: Spool | None = None
        self.doubtful = 0
        """Last line that this row swallowed, if its quotes do not match."""

    def build(self, feed: _Feed) -> CsvRow:
        """Return the row, reading as many lines as needed."""
        first = self._first
        text, self._error = _decode(first.text, first.offset)
        start, opened, last = 0, first.number, first.number
        while (place := self._split(text)) is not None:
            start += len(text[:place].encode("utf-8", "surrogateescape"))
            if _QUOTED.match(text, place) is not None:
                # Text follows the closing quote, so a later row probably opens a quote here.
                return self._broken(feed, start, opened, last, _bad_quote(lines=True))
            opened = last
            last, closes = self._hold(feed, last)
            if not closes:
                return self._broken(feed, start, opened, last, _open_quote())
            assert self._bytes is not None
            if self._size > self._limit:
                while closes and self._is_open:
                    last, closes = self._hold(feed, last)
                if self._is_open:
                    return self._broken(feed, start, opened, last, _open_quote())
                self._bytes.close()
                return CsvRow([], first.number, too_large(self._limit))
            self._bytes.seek(start)
            text, error = _decode(self._bytes.read(), first.offset + start)
            self._error = self._error or error
        if self._bytes is not None:
            self._bytes.close()
        return CsvRow(self._fields, first.number, self._error)

    def _split(self, text: str) -> int | None:
        """Add the fields of a text; return the position of a quote that does not close on its line."""
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
                        return None
                    place = end + 1
                    continue
                if "\n" in match[1] or "\r" in match[1]:
                    return place
                self._error = self._error or _bad_quote(lines=False)
            end = text.find(delimiter, place)
            if end < 0:
                fields.append(text[place:].rstrip("\r\n"))
                return None
            fields.append(text[place:end])
            place = end + 1

    def _hold(self, feed: _Feed, last: int) -> tuple[int, bool]:
        """Read lines up to one that may close the field; return its number and True if there is one."""
        if self._bytes is None:
            self._bytes = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)
            self._bytes.write(self._first.text)
        self._bytes.seek(0, 2)
        pending: list[bytes] = []
        closes = False
        for line in feed:
            pending.append(line.text)
            if len(pending) >= _AT_ONCE:
                self._bytes.write(b"".join(pending))
                pending.clear()
            last = line.number
            self._size += self._limit if line.too_large else len(line.text)
            if b'"' in line.text:
                self._is_open ^= line.text.count(b'"') % 2 == 1
                if _CLOSING.search(line.text) is not None:
                    closes = True
                    break
        self._bytes.write(b"".join(pending))
        return last, closes

    def _broken(self, feed: _Feed, start: int, opened: int, last: int, error: BadRecord) -> CsvRow:
        """Return the error for the quote that opened on a line, and push back the lines after it."""
        assert self._bytes is not None
        self.doubtful = last
        feed.again(_below(self._bytes, start, self._first.offset + start, opened), self._bytes)
        return CsvRow([], opened, self._error or error)


def _below(spool: Spool, start: int, offset: int, opened: int) -> Iterator[CsvLine]:
    spool.seek(start)
    lines = _lines(spool, offset, opened - 1)
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
