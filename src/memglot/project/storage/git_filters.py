"""Find out without running a filter whether files that have one were changed.

Git compares such files by what the filter's program makes of them. That program is named in the configuration of the
repository and is not run. Large files of Git LFS are compared by the digest in their pointer, and other files by the
time and size that git recorded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from hashlib import file_digest
from pathlib import Path

_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n.*?oid sha256:([0-9a-f]{64})\nsize (\d+)\n", re.S
)
_RECORDED = re.compile(r"  ctime: .*\n  mtime: (\d+):(\d+)\n.*\n.*\n  size: (\d+)\t.*\n(.*)", re.S)
_STORED = 0xFFFFFFFF
"""Git records the lower 32 bits of times and sizes."""


def paths_with_filter(attributes: str, drivers: set[str]) -> Iterator[str]:
    """Yield the paths that have one of the filters, from the output of `git check-attr -z filter`."""
    fields = iter(attributes.split("\0"))
    for path, _, driver in zip(fields, fields, fields, strict=False):
        if driver in drivers:
            yield path


def is_same_large_file(path: Path, blob: bytes) -> bool | None:
    """Return True if a file is the one that a pointer of Git LFS names; None if the blob is not a pointer."""
    pointer = _POINTER.fullmatch(blob)
    if pointer is None:
        return None
    try:
        if path.lstat().st_size != int(pointer[2]):
            return False
        with open(path, "rb") as file:
            return file_digest(file, "sha256").hexdigest() == pointer[1].decode()
    except OSError:
        return False


def as_recorded(root: Path, listing: str) -> set[str]:
    """Return the files whose time and size are what git recorded, from `git ls-files --debug -z`."""
    found = set()
    path, *rest = listing.split("\0")
    for piece in rest:
        recorded = _RECORDED.fullmatch(piece)
        if recorded is None:
            break
        seconds, fraction, size = map(int, recorded.groups()[:3])
        if _state(root / path) == (seconds, fraction, size):
            found.add(path)
        path = recorded[4]
    return found


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    seconds, fraction = divmod(found.st_mtime_ns, 10**9)
    return seconds & _STORED, fraction, found.st_size & _STORED


def drivers_of(settings: Iterable[str]) -> set[str]:
    """Return the names of the filters that have these settings."""
    return {name.partition(".")[2].rpartition(".")[0] for name in settings}
