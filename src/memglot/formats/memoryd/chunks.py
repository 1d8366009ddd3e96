"""Large bodies in files of their own next to the JSON, named by their SHA-256 and checked when they are read."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

from memglot.display import shorten
from memglot.errors import BadRecord, CannotWrite
from memglot.files import replace_file
from memglot.formats.core.target import Target

SUFFIX = ".chunks"
_OURS = re.compile(r"[0-9a-f]{64}\.bin")
_HEX = re.compile(r"[0-9a-fA-F]{64}")


class ChunkWriter:
    """Write bodies above a size to `<out>.chunks/<sha>.bin`, each content once."""

    def __init__(self, target: Target, megabytes: int) -> None:
        self._target = target
        path = target.path
        # A stream has no folder next to it, so every body stays in its row.
        self._folder = path.with_name(path.name + SUFFIX) if path is not None and not target.is_special() else None
        self._limit = megabytes << 20
        self._written: dict[str, int] = {}
        self._made: list[Path] = []

    def is_large(self, content: str) -> bool:
        """Return True if a body is large enough to be stored in a file of its own."""
        # A character is at most four bytes, so most bodies need not be encoded to be measured.
        if self._folder is None or len(content) * 4 <= self._limit:
            return False
        return len(content) > self._limit or len(content.encode("utf-8")) > self._limit

    def write(self, content: str) -> dict[str, Any]:
        """Write a body and return the keys for its row: the page's pointer and memoryd's manifest."""
        assert self._folder is not None
        raw = content.encode("utf-8")
        ref = sha256(raw).hexdigest()
        if ref not in self._written:
            if self._folder.is_symlink():
                raise CannotWrite(str(self._folder), "it is a symbolic link")
            if not self._target.make_folders and not self._folder.parent.is_dir():
                raise CannotWrite(str(self._folder), "the folder that contains it is gone")
            place = self._folder / f"{ref}.bin"
            if not place.exists():
                self._made.append(place)
            try:
                with replace_file(place, tidy=not self._written) as out:
                    out.write(raw)
            except OSError as error:
                raise CannotWrite(str(place), (error.strerror or str(error)).lower()) from error
            self._written[ref] = len(raw)
        size, name = len(raw), f"{ref}.bin"
        return {
            "large_file_pointer": {"ref": ref, "size_bytes": size},
            "large_file_manifest": {
                "chunk_dir": self._folder.name,
                "filename": name,
                "size_bytes": size,
                "sha256": ref,
            },
        }

    def manifest(self) -> list[dict[str, Any]]:
        """Return the list of all body files, for the top level."""
        name = self._folder.name if self._folder else ""
        return [
            {"ref": ref, "path": f"{name}/{ref}.bin", "size_bytes": size, "sha256": ref}
            for ref, size in sorted(self._written.items())
        ]

    def count_unused(self) -> int:
        """Return the number of bodies from earlier exports; copies of those exports may still need them."""
        if self._folder is None or not self._folder.is_dir() or self._folder.is_symlink():
            return 0
        return sum(
            bool(_OURS.fullmatch(place.name)) and place.stem not in self._written for place in self._folder.iterdir()
        )

    def remove_written(self) -> None:
        """Delete the files written for an export that failed."""
        if self._target.keeps_bodies:
            return
        for place in self._made:
            place.unlink(missing_ok=True)
        if self._folder is not None and self._folder.is_dir() and not any(self._folder.iterdir()):
            self._folder.rmdir()


def read_chunk(row: dict[str, Any], path: Path | None) -> str:
    """Return the body that a row points to; raise `BadRecord` if it is missing, altered or outside the folder."""
    pointer, own = _object(row, "large_file_pointer"), _object(row, "large_file_manifest")
    ref = pointer.get("ref")
    name = own.get("filename", f"{ref}.bin" if isinstance(ref, str) else None)
    folder = own.get("chunk_dir") or (path.name + SUFFIX if path else None)
    for part in (folder, name):
        if not isinstance(part, str) or not _is_plain(part):
            raise _chunk_outside(f"{folder}/{name}")
    if path is None:
        raise _bad_chunk(str(name), "this input is a stream, without a folder next to it")
    place = path.parent / str(folder) / str(name)
    if place.parent.is_symlink() or place.is_symlink():
        raise _chunk_outside(f"{folder}/{name}")
    if not place.is_file():
        raise _bad_chunk(f"{folder}/{name}", "it is missing")
    sizes = [part["size_bytes"] for part in (pointer, own) if part.get("size_bytes") is not None]
    if any(size != os.path.getsize(place) for size in sizes):
        raise _bad_chunk(f"{folder}/{name}", "its size differs from the recorded size")
    raw = place.read_bytes()
    hashes = [sha for sha in (own.get("sha256"), ref) if sha is not None]
    if not hashes and isinstance(row.get("content_hash"), str):
        hashes = [row["content_hash"]]
    found = sha256(raw).hexdigest()
    if not hashes or any(not _is_hash(sha, found) for sha in hashes):
        raise _bad_chunk(f"{folder}/{name}", "its SHA-256 differs from the recorded hash")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _bad_chunk(f"{folder}/{name}", "it is not valid UTF-8") from None


def has_chunk(row: dict[str, Any]) -> bool:
    """Return True if a row's body is in a file of its own."""
    return bool(_object(row, "large_file_pointer") or _object(row, "large_file_manifest").get("filename"))


def _object(row: dict[str, Any], key: str) -> dict[str, Any]:
    value = row.get(key)
    return value if isinstance(value, dict) else {}


def _is_plain(part: str) -> bool:
    """Return True if a name is a single path component on every system."""
    return part not in ("", ".", "..") and not any(letter in part for letter in "/\\:\0")


def _is_hash(recorded: Any, found: str) -> bool:
    bare = recorded.removeprefix("sha256:") if isinstance(recorded, str) else ""
    return _HEX.fullmatch(bare) is not None and bare.lower() == found


def _chunk_outside(path: str) -> BadRecord:
    """Return the error for a body outside the folder of bodies."""
    return BadRecord(f"its body `{shorten(path)}` is outside the folder of bodies and was not opened")


def _bad_chunk(path: str, reason: str) -> BadRecord:
    """Return the error for a body file that cannot be used."""
    return BadRecord(
        f"its body `{shorten(path)}` cannot be used: {reason}", "copy the `.chunks` folder together with its file"
    )
