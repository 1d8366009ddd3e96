"""Collections kept on disk, so that memory stays flat however large an input is."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from tempfile import SpooledTemporaryFile

T = TypeVar("T")
_BATCH = 1_000
_IN_MEMORY = 1 << 20
_PIECE = 50_000


class DiskList(Generic[T]):
    """A list that grows on disk: appended to in order, read as often as wanted, never held in memory."""

    def __init__(self) -> None:
        import tempfile

        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)
        self._length = 0

    def __del__(self) -> None:
        self._file.close()

    def append(self, value: T) -> None:
        """Add one value that JSON can hold."""
        self.extend([value])

    def extend(self, values: list[T]) -> None:
        """Add several at once."""
        if values:
            self._file.seek(0, 2)
            self._file.write(msgspec.json.Encoder().encode_lines(values))
            self._length += len(values)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        decode = msgspec.json.Decoder().decode
        place = 0
        while True:
            # The place is kept here, so that two readers, or a reader and a writer, do not disturb each other.
            self._file.seek(place)
            lines = self._file.readlines(1 << 16)
            if not lines:
                return
            place = self._file.tell()
            for line in lines:
                yield decode(line)


class DiskMap(Mapping[str, Any]):
    """A map of names to JSON values that holds no more than a batch in memory."""

    def __init__(self, pairs: Iterable[tuple[str, Any]] = ()) -> None:
        import apsw

        # An empty name is a database of its own in a temporary file, gone when it is closed.
        self._db = apsw.Connection("")
        self._db.execute("CREATE TABLE found (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID; BEGIN")
        self._waiting: dict[str, str] = {}
        self._length = 0
        for name, value in pairs:
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        self._waiting[name] = msgspec.json.encode(value).decode()
        self._length += 1
        if len(self._waiting) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        self._db.executemany("INSERT OR REPLACE INTO found VALUES (?, ?)", self._waiting.items())
        self._waiting = {}

    def __getitem__(self, name: str) -> Any:
        if name in self._waiting:
            return msgspec.json.decode(self._waiting[name])
        for (text,) in self._db.execute("SELECT value FROM found WHERE name = ?", (name,)):
            return msgspec.json.decode(text)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        self._flush()
        for (name,) in self._db.execute("SELECT name FROM found ORDER BY name"):
            yield name

    def __len__(self) -> int:
        return self._length

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


class SortedLines:
    """Takes lines in any order and gives them back in the order of their bytes."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._pieces: list[SpooledTemporaryFile[bytes]] = []
        self._length = 0

    def __del__(self) -> None:
        for piece in self._pieces:
            piece.close()

    def add(self, line: bytes) -> None:
        """Take a line that contains no newline."""
        self._length += 1
        self._lines.append(line + b"\n")
        if len(self._lines) >= _PIECE:
            self._lines.sort()
            import tempfile

            piece = tempfile.SpooledTemporaryFile(max_size=1 << 16)
            piece.writelines(self._lines)
            self._pieces.append(piece)
            self._lines = []

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[bytes]:
        self._lines.sort()
        for piece in self._pieces:
            piece.seek(0)
        for line in heapq.merge(self._lines, *self._pieces):
            yield line[:-1]


class Scratch:
    """Values by key. Values that nobody took come out in the order they were put in."""

    def __enter__(self) -> Scratch:
        import apsw

        # An empty name is a private database on disk that SQLite deletes when it is closed.
        self._db = apsw.Connection("")
        self._db.execute("CREATE TABLE kept (key TEXT UNIQUE, value BLOB); CREATE TABLE taken (key TEXT UNIQUE); BEGIN")
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def put(self, key: str, value: bytes) -> bool:
        """Keep a value; tell whether its key was free."""
        self._db.execute("INSERT OR IGNORE INTO kept VALUES (?, ?)", (key, value))
        return self._db.changes() > 0

    def get(self, key: str) -> bytes | None:
        """The value with this key, which stays."""
        rows: list[Any] = self._db.execute("SELECT value FROM kept WHERE key = ?", (key,)).fetchall()
        return bytes(rows[0][0]) if rows else None

    def was_taken(self, key: str) -> bool:
        """Tell whether a value with this key was taken out before."""
        return bool(self._db.execute("SELECT 1 FROM taken WHERE key = ?", (key,)).fetchall())

    def take(self, key: str) -> bytes | None:
        """Take a value out."""
        rows: list[Any] = self._db.execute("DELETE FROM kept WHERE key = ? RETURNING value", (key,)).fetchall()
        if rows:
            self._db.execute("INSERT INTO taken VALUES (?)", (key,))
        return bytes(rows[0][0]) if rows else None

    def rest(self) -> Iterator[bytes]:
        """The values that are left."""
        rows: Any = self._db.execute("SELECT value FROM kept ORDER BY rowid")
        for (value,) in rows:
            yield bytes(value)
