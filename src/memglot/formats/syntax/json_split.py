"""Split a stream of JSON into values, holding one at a time."""

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from memglot.formats.syntax.json_surrogates import has_surrogate, replace_lone_surrogates
from memglot.settings import MAX_RECORD_BYTES, MAX_VALUES

_SPACE = re.compile(rb"[ \t\r\n]*")
_CANDIDATE = re.compile(rb"\}(?=[ \t\r\n]*[,\]{])")
_MALFORMED = re.compile(r"JSON is malformed: .*\(byte (\d+)\)")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{\[]+|[}\]]+|"', re.DOTALL)
_CLOSING = bytes.maketrans(b"{[", b"}]")
_SCALAR = re.compile(rb"[^,\]}\s]+|\}[}\s]*")
_INSIDE_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_NOT_INSIDE_STRING = re.compile(rb'"|[{\[]+|[}\]]+')
_BRACES = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_NOT_BEGINS = bytes(byte for byte in range(256) if byte not in b"[{,")
_COMPLETE = re.compile(rb'(?:[^"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
_COMMAS = re.compile(rb"[ \t\r\n,]*")
_NEXT = re.compile(rb"\}[ \t\r\n]*,[ \t\r\n]*(?=\{[ \t\r\n]*\")")
_LOOK_BACK = 256
_FAR = 1 << 20
_PIECE = 1 << 20
_READ = 1 << 16
_MARGIN = 4096
_GUESSES = 4
_WINDOW = 1 << 14
_TRAILING = re.compile(r"JSON is malformed: trailing characters \(byte (\d+)\)")
_TRUNCATED = "Input data was truncated"
_raw = msgspec.json.Decoder(msgspec.Raw).decode


class TooLarge(Exception):
    """A value is larger than the maximum size of a memory."""


class JsonSplitter:
    """Walks over the values of an array, or over consecutive values.

    An object delimits itself: a text that ends at some `}` and decodes is a complete object. So most ends are found by
    trying the next `}` before a comma, at the speed of the decoder. Strings and braces are counted only if this fails.
    """

    def __init__(self, stream: BinaryIO, start: int = 0, max_size: int = MAX_RECORD_BYTES) -> None:
        self._stream = stream
        self.max_size = max_size
        self.buffer = b""
        self.position = 0
        self.ended = False
        self._passed = b"\n"
        self._own_line = False
        self._lines_before = 0
        self._counted = 0
        self._bytes_before = start

    @property
    def line(self) -> int:
        """Line of the current position."""
        # Each byte is counted once, however often the line is asked for.
        self._lines_before += self.buffer.count(b"\n", self._counted, self.position)
        self._counted = self.position
        return self._lines_before + 1

    @property
    def offset(self) -> int:
        """Byte offset of the current position in the file."""
        return self._bytes_before + self.position

    def read_more(self) -> bool:
        """Read more bytes; return False at the end of the file."""
        # Reads grow with the value, so that copying stays linear.
        held = len(self.buffer) - self.position
        piece = self._stream.read(max(_READ, min(held, self.max_size - held)))
        if not piece:
            self.ended = True
            return False
        self._passed = (self._passed + self.buffer[: self.position])[-_LOOK_BACK:]
        self._lines_before += self.buffer.count(b"\n", self._counted, self.position)
        self._counted = 0
        self._bytes_before += self.position
        self.buffer = self.buffer[self.position :] + piece
        self.position = 0
        return True

    def peek(self) -> bytes:
        """Skip white space and return the next byte, or nothing at the end."""
        while True:
            self.position = _SPACE.match(self.buffer, self.position).end()  # type: ignore[union-attr]
            if self.position < len(self.buffer):
                return self.buffer[self.position : self.position + 1]
            if not self.read_more():
                return b""

    def skip(self) -> None:
        """Skip one byte."""
        self.position += 1

    def skip_commas(self) -> int:
        """Skip commas and white space, as far as they are in the buffer; return the number of commas."""
        start = self.position
        self.position = _COMMAS.match(self.buffer, start).end()  # type: ignore[union-attr]
        return self.buffer.count(b",", start, self.position)

    def try_object(self, decode: Any) -> tuple[bytes, Any] | None:
        """Return the object at the current position, decoded, if it ends with its line or at a `}` nearby."""
        if (found := self._line(decode)) is not None:
            return found
        guesses, search = 0, self.position
        while guesses < _GUESSES:
            match = _CANDIDATE.search(self.buffer, search)
            if match is None:
                searched = len(self.buffer) - self.position
                if guesses or searched > self.max_size or not self.read_more():
                    return None
                # The searched text has no end, except for a `}` whose comma may follow.
                search = max(0, searched - _MARGIN)
                continue
            search = match.end()
            raw = self.buffer[self.position : search]
            if has_too_many_values(raw):
                return None
            try:
                return raw, decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                if is_json(raw):
                    return raw, None
            if (broken := self._malformed(raw)) is not None:
                return broken, None
            guesses += 1
        return None

    def _line(self, decode: Any) -> tuple[bytes, Any] | None:
        """Return the object at the current position if it ends with its line, as in NDJSON."""
        end = self.buffer.find(b"\n", self.position, self.position + _WINDOW)
        if end > 0 and self.buffer[end - 1 : end] == b",":
            end -= 1
        if end <= self.position or self.buffer[end - 1 : end] != b"}":
            return None
        raw = self.buffer[self.position : end]
        try:
            return raw, decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def _malformed(self, raw: bytes) -> bytes | None:
        """Return the broken object at the current position if no further text can complete it."""
        try:
            _raw(replace_lone_surrogates(raw))
        except RecursionError:
            return None
        except msgspec.DecodeError as error:
            match = _MALFORMED.match(str(error))
            if match is None:
                return None
            if (raw_object := self._to_next_line()) is not None:
                return raw_object
            at = int(match[1])
            # Balanced braces show the end of an object that is broken in another way.
            window = self.buffer[self.position : self.position + at + _WINDOW]
            end = _end_of_value(window, 0)
            if end is not None and _CANDIDATE.match(self.buffer, self.position + end - 1):
                return window[:end]
            if raw[at : at + 1] == b"{":
                # An unexpected brace: the next object begins inside one that was never closed.
                return raw[:at].rstrip(b" \t\r\n,")
        # The next object most likely begins at the first position that looks like an end.
        following = _NEXT.search(raw)
        return raw[: following.start() + 1] if following else raw

    def read_value(self) -> bytes | None:
        """Read the value at the current position; return `None` if the file ends first. Raise `TooLarge`."""
        while True:
            end = self._end()
            if end is not None and (end < len(self.buffer) or self.ended or self.buffer[end - 1 : end] in b'}]"'):
                if end - self.position > self.max_size:
                    raise TooLarge
                return self.buffer[self.position : end]
            if len(self.buffer) - self.position > self.max_size:
                if _is_cut(self.buffer[self.position :]):
                    raise TooLarge
                if _NEXT.search(self.buffer, self.position):
                    return None
            if not self.read_more():
                return self.buffer[self.position : end] if end is not None else None

    def _end(self) -> int | None:
        """Return the end of the value at the current position, or `None` if it is not in the buffer."""
        if self.buffer[self.position : self.position + 1] in (b"{", b"["):
            # The decoder names the end of a valid value, and is fast.
            rest = memoryview(self.buffer)[self.position :]
            try:
                _raw(rest)
            except RecursionError:
                pass
            except msgspec.DecodeError as error:
                if (match := _TRAILING.match(str(error))) is not None:
                    # It counts trailing characters from 1.
                    return self.position + len(bytes(rest[: int(match[1]) - 1]).rstrip(b" \t\r\n"))
                if str(error) == _TRUNCATED and not has_surrogate(self.buffer):
                    return None
        return _end_of_value(self.buffer, self.position)

    def skip_value(self) -> bool:
        """Skip the value at the current position without holding it; return False if the file ends first."""
        if self.buffer[self.position : self.position + 1] not in (b"{", b"[", b'"'):
            return self._skip_scalar()
        level, in_string = 0, False
        while True:
            if in_string:
                self.position = _INSIDE_STRING.match(self.buffer, self.position).end()  # type: ignore[union-attr]
                if self.buffer[self.position : self.position + 1] == b'"':
                    self.position += 1
                    in_string = False
            else:
                match = _NOT_INSIDE_STRING.search(self.buffer, self.position)
                self.position = match.end() if match else len(self.buffer)
                token = match[0] if match else b""
                in_string = token == b'"'
                if token[:1] in (b"}", b"]"):
                    self.position -= max(len(token) - level, 0)
                    level -= len(token)
                elif not in_string:
                    level += len(token)
            if level <= 0 and not in_string:
                return True
            # A backslash at the end belongs to the character after it.
            if len(self.buffer) - self.position < 2 and not self.read_more():
                return False

    def _skip_scalar(self) -> bool:
        while (match := _SCALAR.match(self.buffer, self.position)) is not None:
            self.position = match.end()
            if self.position < len(self.buffer) or not self.read_more():
                break
        return True

    def _next_line(self) -> re.Pattern[bytes] | None:
        """Return the pattern of a line that begins the next object, if the current one begins its line.

        A string contains no newline, so such a line is not part of one, and nested objects are indented more.
        """
        before = (self._passed + self.buffer[max(0, self.position - _LOOK_BACK) : self.position]).rpartition(b"\n")
        indent = before[2].rstrip(b"[")
        self._own_line = indent == before[2]
        if not before[1] or indent.strip():
            return None
        return re.compile(rb"\n" + re.escape(indent) + rb"(?=\{)")

    def _to_next_line(self) -> bytes | None:
        """Return everything from the current position to the next object's line, or to the end of the last one."""
        line = self._next_line()
        if line is None:
            return None
        while (match := line.search(self.buffer, self.position + 1)) is None:
            if len(self.buffer) - self.position > _FAR or not self.read_more():
                break
        if match is None and not (self.ended and self._own_line):
            return None
        end = match.start() if match else max(self.buffer.rfind(b"]"), self.position + 1)
        return self.buffer[self.position : end].rstrip(b" \t\r\n,")

    def cut_at_next_object(self, raw: bytes) -> bytes:
        """Cut a broken text where a line begins the next object."""
        line = self._next_line()
        match = line.search(raw, 1) if line else None
        return raw[: match.start()].rstrip(b" \t\r\n,") if match else raw

    def skip_to_next_object(self) -> bool:
        """After a value that never ends, go to the next object, if there is one."""
        line = self._next_line()
        match = (line.search(self.buffer, self.position + 1) if line else None) or _NEXT.search(
            self.buffer, self.position
        )
        if match is None:
            self.position = len(self.buffer)
            return False
        self.position = match.end()
        return True


def is_json(raw: bytes) -> bool:
    """Return True if the text is one complete JSON value."""
    try:
        _raw(raw)
    except RecursionError:
        return False
    except msgspec.DecodeError:
        repaired = replace_lone_surrogates(raw)
        return repaired is not raw and is_json(repaired)
    return True


def _is_cut(raw: bytes) -> bool:
    """Return True if a text is the beginning of a JSON value, as far as it goes."""
    try:
        _raw(replace_lone_surrogates(raw))
    except RecursionError:
        return True
    except msgspec.DecodeError as error:
        return str(error) == _TRUNCATED
    return True


def _end_of_value(buffer: bytes, position: int) -> int | None:
    first = buffer[position : position + 1]
    if first not in (b"{", b"[", b'"'):
        match = _SCALAR.match(buffer, position)
        return match.end() if match else position + 1
    opened = bytearray()
    for match in _TOKEN.finditer(buffer, position):
        token = match[0]
        if token == b'"':
            return None
        if token[0] in b"{[":
            opened += token
        elif token[0] in b"}]":
            # Brackets are taken in runs, which makes deep nesting cheap.
            count = min(len(token), len(opened))
            if opened[-count:][::-1].translate(_CLOSING) != token[:count]:
                return None
            del opened[-count:]
            if not opened:
                return match.start() + count
        if not opened:
            return match.end()
    return None


def is_deeper(raw: bytes, limit: int) -> bool:
    """Return True if a JSON text is nested more deeply than a limit."""
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return False
    brackets = b"".join(part.translate(_BRACES, _NOT_BRACKETS) for part in _outside_strings(raw))
    # Each pass removes the innermost pairs.
    for _ in range(limit):
        if b"[" * (limit + 1) in brackets:
            return True
        shorter = brackets.replace(b"[]", b"")
        if len(shorter) == len(brackets):
            return False
        brackets = shorter
    return bool(brackets)


def has_too_many_values(raw: bytes) -> bool:
    """Return True if a JSON text has more values than one memory may have."""
    if len(raw) <= MAX_VALUES or raw.count(b"[") + raw.count(b"{") + raw.count(b",") <= MAX_VALUES:
        return False
    return sum(len(part.translate(None, _NOT_BEGINS)) for part in _outside_strings(raw)) > MAX_VALUES


def _outside_strings(raw: bytes) -> Iterator[bytes]:
    """Yield a JSON text without its strings, in pieces."""
    position = 0
    while position < len(raw):
        end = _COMPLETE.match(raw, position, position + _PIECE).end()  # type: ignore[union-attr]
        if end > position:
            yield _STRING.sub(b"", raw[position:end])
        elif (match := _STRING.match(raw, position)) is not None:
            # A string that is longer than a piece.
            end = match.end()
        else:
            yield raw[position:]
            return
        position = end
