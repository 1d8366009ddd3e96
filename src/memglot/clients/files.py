"""Read and replace a client's file. It keeps its mode, and a link stays a link."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from memglot.errors import CannotWrite, Unreadable
from memglot.files import create_folders, replace_file, sync_folder


def real_path(path: Path) -> Path:
    """Return a path with all links resolved; the file need not exist."""
    try:
        return Path(os.path.realpath(path))
    except OSError as error:
        raise Unreadable(str(path), _reason(error)) from error


def read(path: Path) -> bytes | None:
    """Return the content of a file, or None if it does not exist. Raise `Unreadable`, or `CannotWrite` for a folder."""
    try:
        if path.exists() and not path.is_file():
            raise CannotWrite(str(path), "it is not a file")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(str(path), _reason(error)) from error


def missing_folders(path: Path) -> list[Path]:
    """Return the folders of a path that do not exist yet, outermost first."""
    return [folder for folder in reversed(path.parents) if not os.path.exists(folder)]


class _ChangedMeanwhile(Exception):
    """The file on disk is no longer the one that was read."""


def write(path: Path, data: bytes, *, expected: bytes | None, shared: bool = False) -> bool:
    """Replace a file atomically. Return False if its content is not `expected` any more.

    An existing file keeps its mode and owner; a new one is private unless it is `shared`, as the files of a project
    are. Raise `CannotWrite` on failure.
    """
    try:
        create_folders(path.parent, shared=shared)
        # A read-only file could still be replaced, but that is not what its owner wants.
        if path.exists() and not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(0, "permission denied")
        with replace_file(path, shared=shared) as out:
            out.write(data)
            if read(path) != expected:
                raise _ChangedMeanwhile
        return True
    except _ChangedMeanwhile:
        return False
    except OSError as error:
        raise CannotWrite(str(path), _reason(error)) from error


def remove(path: Path, *, expected: bytes, folders: list[Path]) -> bool:
    """Delete a file and those of the folders that become empty. Return False if its content is not `expected`."""
    try:
        if read(path) != expected:
            return False
        path.unlink()
        sync_folder(path.parent)
    except OSError as error:
        raise CannotWrite(str(path), _reason(error)) from error
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()
    return True


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
