"""Compressed files: `.gz`, and `.zst` where Python has it. They are read and written as a stream, within a limit."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from memglot.errors import Unreadable, UsageError
from memglot.settings import MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO

ENDINGS = {".gz": "gzip", ".zst": "zstd"}
"""Endings of the names of compressed files."""
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_CHUNK = 1 << 16
_BUFFER = 1 << 17
_GZIP_LEVEL = 6
_MANY_PARTS = 1_000
_MIN_PART = 512
"""A file may have many compressed parts, one after the other, if they hold as many bytes on average."""
_TAR = b"ustar"
_TAR_AT = 257


def inner_path(path: Path) -> Path:
    """Return a path without the ending of a compressed file: `a.json` for `a.json.gz`."""
    return path.with_suffix("") if path.suffix.lower() in ENDINGS and path.stem else path


def inner_extension(name: str) -> str:
    """Return the extension of a file, without the ending of a compressed one."""
    path = PurePath(name)
    return PurePath(path.stem).suffix if path.suffix.lower() in ENDINGS else path.suffix


def compression_by_name(path: Path) -> str:
    """Return the compression that the ending of a path asks for; empty if there is none."""
    return ENDINGS.get(path.suffix.lower(), "")


def compression_of(head: bytes) -> str:
    """Return the compression of a file that begins with these bytes; empty if there is none."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), "")


def is_tar(head: bytes) -> bool:
    """Return True if a file that begins with these bytes is a tar archive."""
    return head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR


class Unpacked(io.RawIOBase):
    """The content of a compressed stream. What can be read comes before the error of a damaged one."""

    def __init__(self, compression: str, head: bytes, stream: BinaryIO, name: str) -> None:
        self._stream, self._name = stream, name
        self._zstd = _zstd() if compression == "zstd" else None
        if compression == "zstd" and self._zstd is None:
            raise Unreadable(name, "this Python cannot read `.zst`", "unpack it first, or use Python 3.14 or later")
        self._errors: tuple[type[Exception], ...] = (zlib.error, EOFError)
        if self._zstd is not None:
            self._errors += (self._zstd.ZstdError,)
        self._decompressor = self._new()
        self._error: zlib.error | None = None
        self._waiting = head
        self.consumed = len(head)
        """Number of compressed bytes that were read."""
        self._unpacked = self._parts = 0
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read up to the size of the buffer. Raise `Unreadable` where the data are damaged or too large."""
        while not self._ended:
            try:
                piece = self._piece(len(buffer))
            except self._errors as error:
                raise self._damaged(str(error)) from error
            if piece:
                self._unpacked += len(piece)
                self._check_size()
                buffer[: len(piece)] = piece
                return len(piece)
        return 0

    def _piece(self, size: int) -> bytes:
        """Return some unpacked bytes; none where a part ends, or where more input is needed."""
        if self._error is not None:
            raise self._error
        if self._decompressor.eof:
            self._begin_part()
            return b""
        if not self._waiting and not self._needs_no_input():
            self._waiting = self._stream.read(_CHUNK) or b""
            self.consumed += len(self._waiting)
            if not self._waiting:
                raise EOFError("they end in the middle")
        data, self._waiting = self._waiting, b""
        before = self._decompressor.copy() if self._zstd is None else None
        try:
            piece: bytes = self._decompressor.decompress(data, size)
        except zlib.error as error:
            self._error = error
            return _until_error(before, data, size)
        # What does not fit into the buffer yet; other decompressors keep it to themselves.
        self._waiting = getattr(self._decompressor, "unconsumed_tail", b"")
        return piece

    def _needs_no_input(self) -> bool:
        return self._zstd is not None and not getattr(self._decompressor, "needs_input", True)

    def _begin_part(self) -> None:
        """Begin the next part, if there is one: a file may be several compressed files, one after the other."""
        self._parts += 1
        rest = self._decompressor.unused_data or self._waiting
        while not rest.lstrip(b"\0"):
            # Tapes and disks fill up files with zeros.
            rest = self._stream.read(_CHUNK) or b""
            self.consumed += len(rest)
            if not rest:
                self._ended = True
                return
        rest = rest.lstrip(b"\0")
        if len(rest) < len(max(_MAGIC, key=len)):
            more = self._stream.read(_CHUNK) or b""
            self.consumed += len(more)
            rest += more
        if not compression_of(rest):
            raise zlib.error("something else follows the compressed data")
        self._decompressor, self._waiting = self._new(), rest
        if self._parts > _MANY_PARTS and self._unpacked < self._parts * _MIN_PART:
            raise self._too_large()

    def _new(self) -> Any:
        return self._zstd.ZstdDecompressor() if self._zstd is not None else zlib.decompressobj(wbits=31)

    def _check_size(self) -> None:
        if self._unpacked > MAX_UNPACKED_BYTES and self._unpacked > self.consumed * MAX_UNPACKED_RATIO:
            raise self._too_large()

    def _too_large(self) -> Unreadable:
        return Unreadable(
            self._name,
            f"it holds more than {MAX_UNPACKED_BYTES >> 30} GB, and more than {MAX_UNPACKED_RATIO} times its size",
            "unpack it and import the file",
        )

    def _damaged(self, reason: str) -> Unreadable:
        # zlib's reasons begin with a number.
        reason = reason.rpartition(": ")[2]
        found = f"its compressed data are damaged ({reason})"
        if self._unpacked:
            found = (
                f"its compressed data are damaged after {self._unpacked:,} bytes ({reason}); what is before was read"
            )
        return Unreadable(self._name, found, "copy or download it again")

    def close(self) -> None:
        self._stream.close()
        super().close()


def _until_error(decompressor: Any, data: bytes, size: int) -> bytes:
    """Return what can be unpacked before an error; zlib itself returns nothing then."""
    found = bytearray()
    with suppress(zlib.error):
        for byte in data:
            if len(found) < size:
                found += decompressor.decompress(bytes((byte,)), size - len(found))
    return bytes(found)


class CarefulReader(io.BufferedReader):
    """A buffered stream that returns what was read before an error, and raises the error at the next call."""

    @property
    def consumed(self) -> int:
        """Number of compressed bytes that were read."""
        return self.raw.consumed if isinstance(self.raw, Unpacked) else 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read this many bytes, or all; fewer only at the end and before an error."""
        wanted = sys.maxsize if size is None or size < 0 else size
        pieces: list[bytes] = []
        held = 0
        while held < wanted:
            try:
                piece = self.read1(min(wanted - held, _BUFFER))
            except Unreadable:
                if not held:
                    raise
                break
            if not piece:
                break
            pieces.append(piece)
            held += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


@contextmanager
def compressed(out: BinaryIO, compression: str) -> Iterator[BinaryIO]:
    """Yield a stream that compresses what is written to `out`. Equal content has equal bytes."""
    if not compression:
        yield out
        return
    if compression == "gzip":
        # Neither the name nor the time is written, and the level is always the same.
        packed: Any = gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=out, mtime=0)
    else:
        packed = _writable_zstd().ZstdFile(out, mode="wb")
    with packed, io.BufferedWriter(packed, _BUFFER) as buffer:
        yield buffer


def check_writable(path: Path) -> None:
    """Raise `UsageError` if this Python cannot write the compression that the ending of a path asks for."""
    if compression_by_name(path) == "zstd":
        _writable_zstd()


def _writable_zstd() -> Any:
    found = _zstd()
    if found is None:
        raise UsageError("this Python cannot write `.zst`", "use the ending `.gz`, or Python 3.14 or later")
    return found


def _zstd() -> Any:
    """Return the module for Zstandard, which Python has since 3.14."""
    try:
        return import_module("compression.zstd")
    except ImportError:
        return None
