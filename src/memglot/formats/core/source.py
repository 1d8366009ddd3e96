"""Sources: one input to read (a file, standard input or content in memory), and the files of a folder."""

from __future__ import annotations

import io
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from memglot.display import first_few, plural
from memglot.errors import Unreadable
from memglot.formats.core.compression import CarefulReader, Unpacked, compression_of, inner_extension, inner_path
from memglot.formats.core.encoding import BOM, Utf8Stream, encode_text, marked_encoding
from memglot.model.record_errors import too_large
from memglot.report import Report
from memglot.settings import MAX_RECORD_BYTES

_ZIP = b"PK\x03\x04"
FOLDER_PROOF = ".memglot.json"
SIDECAR = ".memglot"
"""Ending of a sidecar. Other tools read every `.json`, `.ndjson` or `.md` in a folder, so it is none of these."""
OLD_SIDECAR = ".memglot.ndjson"
"""Ending of the sidecars of earlier versions, which are still read."""
CONFLICTS = "_conflicts"
"""The folder next to a store whose files show its conflicts."""
CONFLICT_MARK = "<!-- memglot conflict of "
"""The beginning of such a file, which is not a memory."""
_BUFFER = 1 << 17
_HEAD = 1 << 16
_FIRST_DAYS = 315_705_600
"""The second of January 1980, in seconds since 1970."""


class Source:
    """One input. `stream` reads it once, as UTF-8 without a byte order mark; `head` holds its first bytes."""

    def __init__(
        self,
        name: str,
        stream: BinaryIO,
        *,
        path: Path | None = None,
        size: int | None = None,
        again: Callable[[], BinaryIO] | None = None,
    ) -> None:
        self.name = name
        self._again = again
        self.on_disk = False
        """Whether `path` is a real file, and not a name in a zip."""
        self.path = path
        self.modified_at = 0
        """When the file was modified, in microseconds; 0 if unknown."""
        self.made_at = 0
        """When the file was made, as far as the system knows, but not after it was modified; 0 if unknown."""
        self.size = size
        self.max_record = MAX_RECORD_BYTES
        """Maximum size of one memory in bytes."""
        head = stream.read(_HEAD)
        self._unpacked: CarefulReader | None = None
        self.compression = compression_of(head)
        """`gzip` or `zstd` if the input is compressed; `stream` and `head` are then what it holds."""
        if self.compression:
            head, self._unpacked = self._unpack(head, stream)
            stream, size = self._unpacked, None
        self._encoding = marked_encoding(head)
        if self._encoding is not None:
            # The size is only that of the original, so `whole` reads to the end.
            stream = self._as_utf8(head, stream)
            head, size = stream.read(_HEAD), None
        self.start = len(BOM) if head.startswith(BOM) else 0
        self.head = head[self.start :]
        self._rest = stream
        self._replay: _Replay | None = None
        self._copy: Path | None = None
        self._ended = len(head) < _HEAD and size is not None and size == len(head)

    @cached_property
    def stream(self) -> io.BufferedReader:
        """The complete input without a byte order mark; it can be read once."""
        self._replay = _Replay(self.head, self._rest)
        return (CarefulReader if self.compression else io.BufferedReader)(self._replay, _BUFFER)

    def _unpack(self, head: bytes, stream: BinaryIO) -> tuple[bytes, CarefulReader]:
        """Return the first bytes that a compressed stream holds, and the rest of them. Raise `Unreadable`."""
        try:
            inner = CarefulReader(Unpacked(self.compression, head, stream, self.name), _BUFFER)
            found = inner.read(_HEAD)
            if compression_of(found) or found.startswith(_ZIP):
                raise Unreadable(
                    self.name, "it is compressed twice, or holds an archive", "unpack it, and give what it holds"
                )
            return found, inner
        except BaseException:
            stream.close()
            raise

    def _as_utf8(self, head: bytes, stream: BinaryIO) -> BinaryIO:
        assert self._encoding is not None
        encoding, mark = self._encoding
        return CarefulReader(Utf8Stream(head[mark:], stream, encoding, self.name), _BUFFER)

    @classmethod
    def file(cls, path: Path, name: str | None = None) -> Source:
        """Open the file at `path`. Raise `Unreadable`."""
        shown = name or str(path)
        try:
            stream = open(path, "rb", buffering=0)
            there = os.fstat(stream.fileno())
            source = cls(shown, stream, path=path, size=there.st_size)
            if stat.S_ISREG(there.st_mode):
                source.modified_at = there.st_mtime_ns // 1000
                source.made_at = _made_at(there)
                source._again = lambda: open(path, "rb")
                source.on_disk = True
            return source
        except OSError as error:
            raise Unreadable(shown, (error.strerror or str(error)).lower()) from error

    @classmethod
    def text(cls, content: bytes, name: str = "content") -> Source:
        """Return a source for content in memory."""
        source = cls(name, io.BytesIO(content), size=len(content))
        source._again = lambda: io.BytesIO(content)
        return source

    @property
    def encoding(self) -> str:
        """The name of another encoding than UTF-8; empty for UTF-8."""
        return self._encoding[0] if self._encoding is not None else ""

    def as_stored(self, raw: bytes) -> bytes:
        """Return the result of `whole` as the bytes that the file has."""
        if self._encoding is None:
            return (BOM if self.start else b"") + raw
        try:
            return encode_text(raw.decode("utf-8", "surrogatepass"), self.encoding)
        except UnicodeDecodeError:
            # The file ends inside a character.
            return self._original(raw)

    def _original(self, raw: bytes) -> bytes:
        """Return the bytes of a file that does not become the same again; UTF-8 if it can be read only once."""
        if self._again is None or self.compression:
            return raw
        with self._again() as stream:
            return stream.read()

    @property
    def inner_path(self) -> Path | None:
        """The path without the ending of a compressed file, so that a file and its compressed copy have one name."""
        return inner_path(self.path) if self.path is not None else None

    @property
    def can_reopen(self) -> bool:
        """Return True if `reopen` works."""
        return self._again is not None

    def reopen(self) -> BinaryIO | None:
        """Open the same bytes again; return `None` for a stream, which can be read only once."""
        if self._again is None:
            return None
        if self._encoding is None and not self.compression:
            return self._again()
        # A copy on disk can be read from any position.
        copy = tempfile.TemporaryFile()
        with self._again() as stream:
            head, content = stream.read(_HEAD), stream
            if self.compression:
                head, content = self._unpack(head, stream)
            if self._encoding is not None:
                head, content = b"", self._as_utf8(head, content)
            copy.write(head)
            shutil.copyfileobj(content, copy, _BUFFER)
        copy.seek(0)
        return copy

    @contextmanager
    def as_file(self) -> Iterator[Path]:
        """Provide the source as a file on disk: its own, or a temporary copy that exists until the source is closed."""
        if self.on_disk and self.path is not None and self._encoding is None and not self.compression:
            yield self.path
            return
        if self._copy is None:
            folder = Path(tempfile.mkdtemp(prefix="memglot-"))
            self._remove_copy = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._copy = folder / "copy"
            with open(self._copy, "wb") as out:
                shutil.copyfileobj(self.stream, out, _BUFFER)
        yield self._copy

    @property
    def extension(self) -> str:
        """The file extension in lower case, without that of a compressed file; empty if there is none."""
        return inner_extension(self.path.name).lower() if self.path else ""

    @property
    def consumed(self) -> int:
        """Number of bytes read so far; of a compressed file, those that it has."""
        if self._unpacked is not None:
            return self._unpacked.consumed
        return self._replay.consumed if self._replay is not None else 0

    def put_back(self, raw: bytes) -> None:
        """Let bytes that were just read from the stream be read again."""
        self.stream = io.BufferedReader(_Replay(raw, self.stream), _BUFFER)

    def is_blank(self) -> bool:
        """Return True if it has only white space, as far as the head shows."""
        return len(self.head) < _HEAD - len(BOM) and not self.head.strip()

    def whole(self) -> bytes:
        """Read all of it at once, for formats with one memory per file. Raise `BadRecord` if it is too large."""
        # Most notes are in the head already.
        found = self.head if self._ended else self.stream.read(self.max_record + 1)
        if self.compression and len(found) <= self.max_record:
            # A damaged file returns what it has first, and then the error.
            self.stream.read(1)
        if len(found) > self.max_record:
            raise too_large(self.max_record)
        return found

    def close(self) -> None:
        """Close the file."""
        if self._copy is not None:
            self._remove_copy()
        if self._replay is not None:
            self.stream.close()
        else:
            self._rest.close()


def _made_at(there: os.stat_result) -> int:
    """Return when a file was made; archives without times leave the beginning of 1970 or of 1980."""
    seconds = min(int(getattr(there, "st_birthtime", 0)) or there.st_mtime, there.st_mtime)
    return int(seconds * 1_000_000) if seconds >= _FIRST_DAYS else 0


class _Replay(io.RawIOBase):
    """A stream that first returns bytes that were already read from it."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest
        self.consumed = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._head:
            piece, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        else:
            piece = self._rest.read(len(buffer)) or b""
        buffer[: len(piece)] = piece
        self.consumed += len(piece)
        return len(piece)

    def close(self) -> None:
        self._rest.close()
        super().close()


def walk(
    folder: Path,
    extensions: frozenset[str] | None,
    report: Report,
    *,
    accepts: Callable[[str], bool] | None = None,
    vault: bool = False,
    own: frozenset[str] = frozenset(),
) -> Iterator[Path]:
    """Yield the files below `folder` with a known extension, ordered by path; all files if `extensions` is `None`.

    Hidden files and folders are skipped and links are never followed, so that nothing outside the folder is read.
    With `vault`, the case of an extension does not matter, and the note calls other files attachments. The real paths
    in `own` are skipped without a note.
    """
    skipped = _Skipped(folder, vault)
    names = {os.path.basename(path) for path in own}
    waiting = [(str(folder), False)]
    while waiting:
        place, is_file = waiting.pop()
        if is_file:
            yield Path(place)
            continue
        found = []
        for entry in _entries(place, report):
            if skipped.add(entry) or entry.name in names and os.path.realpath(entry.path) in own:
                continue
            if entry.is_dir(follow_symlinks=False):
                found.append((entry.path, False))
            elif _is_accepted(entry, folder, extensions, accepts, vault):
                found.append((entry.path, True))
            else:
                skipped.unknown.append(os.path.relpath(entry.path, folder))
        waiting += reversed(found)
    skipped.add_notes(report)


class _Skipped:
    """The files that a walk skips."""

    def __init__(self, folder: Path, vault: bool) -> None:
        self._folder, self._vault = folder, vault
        self.unknown: list[str] = []
        self._links: list[str] = []
        self._hidden = 0

    def add(self, entry: os.DirEntry[str]) -> bool:
        """Return True for an entry to skip: a hidden file, a link, a sidecar or a conflict file."""
        if entry.name.startswith(".") or entry.name.endswith((SIDECAR, OLD_SIDECAR)) or _shows_conflict(entry):
            self._hidden += _files_in(entry) if self._vault and entry.name != FOLDER_PROOF else 0
            return True
        if entry.is_symlink():
            self._links.append(os.path.relpath(entry.path, self._folder))
        return entry.is_symlink()

    def add_notes(self, report: Report) -> None:
        """Add notes about the files that were skipped."""
        if self._vault and (self.unknown or self._hidden):
            report.note(_left_alone(sorted(self.unknown), self._hidden))
        elif self.unknown:
            report.note(note_unknown_files(sorted(self.unknown)))
        if self._links:
            report.note(note_links(sorted(self._links)))


def _is_accepted(
    entry: os.DirEntry[str],
    folder: Path,
    extensions: frozenset[str] | None,
    accepts: Callable[[str], bool] | None,
    vault: bool,
) -> bool:
    extension = os.path.splitext(entry.name)[1].lower() if vault else inner_extension(entry.name)
    known = extensions is None or extension in extensions
    if not known or not entry.is_file(follow_symlinks=False):
        return False
    return accepts is None or accepts(Path(entry.path).relative_to(folder).as_posix())


def _shows_conflict(entry: os.DirEntry[str]) -> bool:
    if os.path.basename(os.path.dirname(entry.path)) != CONFLICTS or not entry.is_file(follow_symlinks=False):
        return False
    with suppress(OSError), open(entry.path, "rb") as file:
        return file.read(len(CONFLICT_MARK)) == CONFLICT_MARK.encode()
    return False


def _files_in(entry: os.DirEntry[str]) -> int:
    """Return the number of files in a skipped entry."""
    if entry.is_symlink() or not entry.is_dir(follow_symlinks=False):
        return 1
    return sum(len(files) for _, _, files in os.walk(entry.path))


def _entries(folder: str, report: Report) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            # A folder sorts by its name and a slash, like the path of a file in it.
            return sorted(entries, key=lambda entry: entry.name + "/" * entry.is_dir(follow_symlinks=False))
    except OSError as error:
        report.fault(Unreadable(folder, (error.strerror or str(error)).lower()), folder)
        return []


def _left_alone(attachments: list[str], hidden: int) -> str:
    parts = [f"{plural(len(attachments), 'attachment')} ({first_few(attachments)})"] if attachments else []
    parts += [f"{hidden:,} hidden file" + ("" if hidden == 1 else "s")] if hidden else []
    return f"skipped {' and '.join(parts)}"


def note_unknown_files(names: list[str]) -> str:
    """Return the note about files that have no known format."""
    return f"skipped {plural(len(names), 'file')} of unknown format: {first_few(names)}"


def note_links(names: list[str]) -> str:
    """Return the note about symbolic links, which are never followed."""
    return f"skipped {plural(len(names), 'symbolic link')}: {first_few(names)}"
