"""Sorts more lines than memory should hold, by sorting pieces of them on disk and merging these."""

import heapq
import tempfile
from collections.abc import Iterator

_PIECE = 50_000


class SortedLines:
    """Takes lines in any order and gives them back in the order of their bytes."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._pieces: list[tempfile.SpooledTemporaryFile[bytes]] = []
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
