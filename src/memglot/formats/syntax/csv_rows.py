"""Splits a CSV into its rows as it comes: RFC 4180, any line end, fields over many lines, and where each row stands."""

import re
import tempfile
from collections.abc import Iterator
from typing import IO, NamedTuple

from memglot.errors import BadRecord
from memglot.formats.core.source import Source
from memglot.model.record_errors import bad_bytes

_DELIMITERS = (b",", b";", b"\t")
_CHUNK = 1 << 17
_IN_MEMORY = 1 << 23
# A quote at the start of a field opens it; anywhere else in an unquoted field it is a letter like any other.
_QUOTED = re.compile(r'"([^"]*+(?:""[^"]*+)*+)" *+')
# One quote, or three, or five: what may close a field. Two of them are one quote inside of it.
_CLOSING = re.compile(rb'(?<!")(?:"")*+"(?!")')
_HEADER = re.compile(rb'\s*+(?:[^"\r\n]++|"[^"]*+"?)*+')


class CsvLine(NamedTuple):
    """A line with its end, its number, and the place of its first byte."""

    text: bytes
    number: int
    offset: int


class CsvRow(NamedTuple):
    """The fields of a row and the line it begins on; or what is wrong with it, and the line of that."""

    fields: list[str]
    line: int
    error: BadRecord | None = None


def find_delimiter(head: bytes) -> str:
    """What stands most often between the names of the header, outside of quotes; a comma where nothing does."""
    match = _HEADER.match(head)
    names = re.sub(rb'"[^"]*"?', b"", match[0] if match else b"")
    return max(_DELIMITERS, key=names.count).decode()


def rows(source: Source, delimiter: str) -> Iterator[CsvRow]:
    """All rows, the header first; lines of nothing but white space are passed over.

    A row whose quote never closes, or closes in the middle of a later row, would swallow its siblings: the lines below
    that quote are read again, and those with as many fields as the header are rows of their own.
    """
    feed = _Feed(_lines(source.stream, source.start))
    width = doubtful = 0
    for line in feed:
        if b'"' in line.text:
            building = _Quoted(line, delimiter)
            row = building.build(feed)
            doubtful = max(doubtful, building.doubtful)
        elif line.text.isspace():
            continue
        else:
            text, error = _decode(line.text, line.offset)
            row = CsvRow(text.rstrip("\r\n").split(delimiter), line.number, error)
        if row.line <= doubtful and row.error is None and not 1 < len(row.fields) == width:
            continue
        width = width or len(row.fields)
        yield row


def _lines(stream: IO[bytes], offset: int, number: int = 0) -> Iterator[CsvLine]:
    """The lines of a stream, whatever ends them, never holding more than a chunk and a line."""
    rest: list[bytes] = []
    while chunk := stream.read(_CHUNK):
        if chunk.endswith(b"\r"):
            # A line feed may follow, which belongs to the same line end.
            chunk += stream.read(1)
        if rest:
            if b"\n" not in chunk and b"\r" not in chunk:
                rest.append(chunk)
                continue
            chunk = b"".join([*rest, chunk])
        found = chunk.splitlines(keepends=True)
        rest = [] if found[-1].endswith((b"\n", b"\r")) else [found.pop()]
        for text in found:
            number += 1
            yield CsvLine(text, number, offset)
            offset += len(text)
    if rest:
        yield CsvLine(b"".join(rest), number + 1, offset)


def _decode(raw: bytes, offset: int) -> tuple[str, BadRecord | None]:
    """The text of some bytes; what is none is told with its place in the file."""
    try:
        text, error = raw.decode(), None
    except UnicodeDecodeError as found:
        text, error = raw.decode("utf-8", "surrogateescape"), bad_bytes(offset + found.start)
    if "\0" in text and error is None:
        error = bad_bytes(offset + raw.index(b"\0"), "NUL")
    return text, error


class _Feed:
    """Lines to come, of which some may be put back to come again."""

    def __init__(self, lines: Iterator[CsvLine]) -> None:
        self._waiting = [lines]

    def __iter__(self) -> Iterator[CsvLine]:
        return self

    def __next__(self) -> CsvLine:
        while self._waiting:
            line = next(self._waiting[-1], None)
            if line is not None:
                return line
            self._waiting.pop()
        raise StopIteration

    def again(self, lines: Iterator[CsvLine]) -> None:
        """Let these lines come before all others."""
        self._waiting.append(lines)


class _Quoted:
    """A row that begins on a line with quotes in it, and may go on below."""

    def __init__(self, first: CsvLine, delimiter: str) -> None:
        self._first, self._delimiter = first, delimiter
        self._fields: list[str] = []
        self._error: BadRecord | None = None
        # The bytes of a row over several lines: on disk when they are many, since a quote may never close.
        self._bytes: tempfile.SpooledTemporaryFile[bytes] | None = None
        self.doubtful = 0
        """The last line that this row swallowed, where its quotes do not fit."""

    def build(self, feed: _Feed) -> CsvRow:
        """The row, with as many more lines of the feed as it takes."""
        first = self._first
        text, self._error = _decode(first.text, first.offset)
        start, opened, last = 0, first.number, first.number
        while (place := self._split(text)) is not None:
            start += len(text[:place].encode("utf-8", "surrogateescape"))
            if _QUOTED.match(text, place) is not None:
                # It closes, but text follows: this is where a later row opens a quote of its own.
                return self._broken(feed, start, opened, last, _bad_quote(lines=True))
            opened = last
            last, closes = self._hold(feed, last)
            if not closes:
                return self._broken(feed, start, opened, last, _open_quote())
            assert self._bytes is not None
            self._bytes.seek(start)
            text, error = _decode(self._bytes.read(), first.offset + start)
            self._error = self._error or error
        if self._bytes is not None:
            self._bytes.close()
        return CsvRow(self._fields, first.number, self._error)

    def _split(self, text: str) -> int | None:
        """Add the fields of a text; tell the place of a quote that does not close on its own line as it should."""
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
        """Take lines up to one that may close the field; tell its number, and whether there is one."""
        if self._bytes is None:
            self._bytes = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)
            self._bytes.write(self._first.text)
        self._bytes.seek(0, 2)
        for line in feed:
            self._bytes.write(line.text)
            last = line.number
            if _CLOSING.search(line.text) is not None:
                return last, True
        return last, False

    def _broken(self, feed: _Feed, start: int, opened: int, last: int, error: BadRecord) -> CsvRow:
        """Tell of the quote that opened on a line, and let the lines below it come again."""
        assert self._bytes is not None
        self.doubtful = last
        feed.again(_below(self._bytes, start, self._first.offset + start, opened))
        return CsvRow([], opened, self._error or error)


def _below(spool: "tempfile.SpooledTemporaryFile[bytes]", start: int, offset: int, opened: int) -> Iterator[CsvLine]:
    with spool:
        spool.seek(start)
        lines = _lines(spool, offset, opened - 1)
        next(lines, None)
        yield from lines


_REREAD = "; the lines below it were read again, and those with as many fields as the header were read as rows"


def _open_quote() -> BadRecord:
    """A quote in a CSV without its other half."""
    return BadRecord("a quote opens a field here and never closes", "close it, or double it if it is text" + _REREAD)


def _bad_quote(*, lines: bool) -> BadRecord:
    """Text behind the quote that closes a field of a CSV, which may have opened lines before."""
    hint = "double the quotes inside a quoted field"
    if not lines:
        return BadRecord("text follows the quote that closes a field", hint)
    return BadRecord("a quote opens a field here and closes before other text, lines below", hint + _REREAD)
