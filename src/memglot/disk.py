"""Collections kept on disk, so that memory use does not grow with the size of an input."""

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
_encoder = msgspec.json.Encoder()


class DiskList(Generic[T]):
    """A list that can be appended to and iterated over, of JSON values or of structs of one type."""

    def __init__(self, type: type[T] | None = None) -> None:
        import tempfile

        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)
        self._pending: list[bytes] = []
        self._length = 0
        self._decode: Any = msgspec.json.Decoder(Any if type is None else type).decode

    def __del__(self) -> None:
        self._file.close()

    def append(self, value: T) -> None:
        """Append one value."""
        # Encoded now, because the caller may change the value later.
        self._pending.append(_encoder.encode(value))
        self._length += 1
        if len(self._pending) >= _BATCH:
            self._flush()

    def extend(self, values: list[T]) -> None:
        """Append several values."""
        self._flush()
        self._write(_encoder.encode_lines(values))
        self._length += len(values)

    def _flush(self) -> None:
        if self._pending:
            self._write(b"\n".join([*self._pending, b""]))
            self._pending = []

    def _write(self, lines: bytes) -> None:
        self._file.seek(0, 2)
        self._file.write(lines)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        position = 0
        while True:
            # Each iterator keeps its own position, so that several can run while values are appended.
            self._flush()
            self._file.seek(position)
            lines = self._file.readlines(1 << 16)
            if not lines:
                return
            position = self._file.tell()
            for line in lines:
                yield self._decode(line)


class DiskMap(Mapping[str, Any]):
    """A map of text keys to JSON values, iterated over in the order of its keys."""

    def __init__(self, pairs: Iterable[tuple[str, Any]] = ()) -> None:
        import apsw

        # SQLite keeps a database without a name in a temporary file, and deletes it on close.
        self._db = apsw.Connection("")
        self._db.execute("CREATE TABLE pairs (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID; BEGIN")
        self._pending: dict[str, str] = {}
        for key, value in pairs:
            self[key] = value

    def __enter__(self) -> DiskMap:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __setitem__(self, key: str, value: Any) -> None:
        self._pending[key] = _encoder.encode(value).decode()
        if len(self._pending) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        self._db.executemany("INSERT OR REPLACE INTO pairs VALUES (?, ?)", self._pending.items())
        self._pending = {}

    def __getitem__(self, key: str) -> Any:
        if key in self._pending:
            return msgspec.json.decode(self._pending[key])
        for (text,) in self._db.execute("SELECT value FROM pairs WHERE key = ?", (key,)):
            return msgspec.json.decode(text)
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return key in self._pending or any(self._db.execute("SELECT 1 FROM pairs WHERE key = ?", (key,)))

    def __iter__(self) -> Iterator[str]:
        self._flush()
        for (key,) in self._db.execute("SELECT key FROM pairs ORDER BY key"):
            yield key

    def pairs(self) -> Iterator[tuple[str, Any]]:
        """Yield the keys with their values, in the order of the keys."""
        self._flush()
        for key, text in self._db.execute("SELECT key, value FROM pairs ORDER BY key"):
            yield key, msgspec.json.decode(text)

    def __len__(self) -> int:
        self._flush()
        return int(self._db.execute("SELECT count(*) FROM pairs").get)

    def close(self) -> None:
        """Delete the file."""
        self._db.close()


class DiskCounter:
    """Counts how often each key was added."""

    def __init__(self) -> None:
        import apsw

        self._db = apsw.Connection("")
        self._db.execute("CREATE TABLE counts (key BLOB PRIMARY KEY, count INTEGER) WITHOUT ROWID; BEGIN")

    def add(self, key: bytes) -> int:
        """Add a key, and return how often it was added so far."""
        sql = "INSERT INTO counts VALUES (?, 1) ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count"
        return int(self._db.execute(sql, (key,)).get)

    def close(self) -> None:
        """Delete the file."""
        self._db.close()


class DiskGroups:
    """Lists of JSON values by key, for keys that several values share."""

    def __init__(self) -> None:
        self._values, self._counts = DiskMap(), DiskMap()
        self._is_empty = True

    def close(self) -> None:
        """Delete the files."""
        self._values.close()
        self._counts.close()

    def add(self, key: str, value: Any) -> None:
        """Append a value to the list of a key."""
        count = self._counts.get(key, 0)
        self._values[f"{key} {count}"] = value
        self._counts[key] = count + 1
        self._is_empty = False

    def get(self, key: str) -> Iterator[Any]:
        """Yield the values of a key in the order they were added."""
        for number in range(0 if self._is_empty else self._counts.get(key, 0)):
            yield self._values[f"{key} {number}"]

    def discard(self, key: str) -> None:
        """Remove the values of a key."""
        if key in self._counts:
            self._counts[key] = 0

    def values(self) -> Iterator[Any]:
        """Yield all values, in the order of their keys."""
        for key in self._counts:
            yield from self.get(key)

    def __bool__(self) -> bool:
        return not self._is_empty


class SortedLines:
    """Lines added in any order and iterated over in byte order."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._pieces: list[SpooledTemporaryFile[bytes]] = []
        self._length = 0

    def __del__(self) -> None:
        for piece in self._pieces:
            piece.close()

    def add(self, line: bytes) -> None:
        """Add a line that contains no newline."""
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
