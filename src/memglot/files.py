"""Atomic replacement of files, paths that stay inside a folder, and the files of a SQLite database."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""What SQLite appends to the path of a database to name each of its files."""


def sqlite_files(path: Path) -> list[Path]:
    """Return the paths of a database and of the logs that SQLite keeps next to it."""
    return [path.with_name(path.name + suffix) for suffix in SQLITE_SUFFIXES]


@contextmanager
def replace_file(
    path: Path,
    *,
    temporary: Path | None = None,
    mode: int = 0o666,
    keep_mode: bool = False,
    durable: bool = True,
    make_folders: bool = True,
) -> Iterator[BinaryIO]:
    """Yield a new file that replaces `path` atomically when the block ends without an error.

    The file is written at `temporary` (default: a hidden name in the same folder). `mode` is the mode of a new file;
    with `keep_mode` the file gets the mode, and where possible the owner, of the one that it replaces. The content is
    on disk before the file is renamed, unless `durable` is False. Missing folders are created, unless `make_folders`
    is False.
    """
    if make_folders:
        path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary or temporary_path(path)
    replaced = path.stat() if keep_mode and path.exists() else None
    # The content of a private file is private from the start.
    first_mode = mode if replaced is None else 0o600
    out = open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, first_mode))
    try:
        with out:
            yield out
            if replaced is not None:
                _copy_mode(temporary, replaced)
            if durable:
                sync_file(out)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def replace_database(
    path: Path, *, temporary: Path | None = None, before: Callable[[], None] | None = None
) -> Iterator[Path]:
    """Yield a path for a new database that replaces `path` atomically when the block ends without an error.

    `before` is called when the new database is on disk, just before it is renamed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary or temporary_path(path)
    try:
        yield temporary
        with open(temporary, "rb+") as out:
            sync_file(out)
        if before is not None:
            before()
        os.replace(temporary, path)
    finally:
        for file in sqlite_files(temporary):
            file.unlink(missing_ok=True)


def temporary_path(path: Path) -> Path:
    """Return an unused hidden path in the folder of `path`."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def sync_file(out: BinaryIO) -> None:
    """Write what was written to a file through to the disk."""
    out.flush()
    os.fsync(out.fileno())


def sync_folder(folder: Path) -> None:
    """Write the names in a folder through to the disk, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def path_inside(folder: Path, relative: str) -> Path | None:
    """Return a path below a folder, or None if its parts or a symbolic link on the way lead out of the folder."""
    path = Path(relative)
    if path.is_absolute() or ".." in path.parts:
        return None
    place = folder
    for part in path.parts:
        place = place / part
        if place.is_symlink():
            return None
    return place


def _copy_mode(path: Path, replaced: os.stat_result) -> None:
    """Give a file the mode of another, and its owner where that is allowed."""
    path.chmod(stat.S_IMODE(replaced.st_mode))
    now = path.stat()
    if hasattr(os, "chown") and (now.st_uid, now.st_gid) != (replaced.st_uid, replaced.st_gid):
        with suppress(OSError):
            os.chown(path, replaced.st_uid, replaced.st_gid)
