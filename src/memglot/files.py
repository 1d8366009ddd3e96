"""Private files and folders, atomic replacement, paths that stay inside a folder, and the files of a SQLite database.

Everything that memglot writes is created here: readable by its user only, whatever the umask, unless it is `shared`,
as the files of a repository are. A file that is replaced keeps its mode.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""What SQLite appends to the path of a database to name each of its files."""
_PRIVATE_FILE, _PRIVATE_FOLDER = 0o600, 0o700
_SHARED_FILE, _SHARED_FOLDER = 0o666, 0o777
"""Modes of new files and folders, from which the system removes the umask."""
_BATCH = 200
_FEW = 4
_TEMPORARY = re.compile(r"\.memglot-[0-9a-f]{16}\.part")


def sqlite_files(path: Path) -> list[Path]:
    """Return the paths of a database and of the logs that SQLite keeps next to it."""
    return [path.with_name(path.name + suffix) for suffix in SQLITE_SUFFIXES]


@contextmanager
def replace_file(
    path: Path,
    *,
    folder: Path | None = None,
    shared: bool = False,
    make_folders: bool = True,
    tidy: bool = True,
    before: Callable[[], object] | None = None,
) -> Iterator[BinaryIO]:
    """Yield a new file that replaces `path` atomically when the block ends without an error.

    The file is written under a temporary name in `folder` (default: the folder of `path`). It gets the mode, and where
    possible the owner, of the file that it replaces; a new one is private unless it is `shared`. The content is on disk
    before the file is renamed, and the new name at the end. Missing folders are created, unless `make_folders` is
    False. What killed processes left there is removed first, unless `tidy` is False. `before` is called when the new
    file is complete, just before it is renamed.
    """
    if make_folders:
        create_folders(path.parent, shared=shared)
    folder = folder or path.parent
    if tidy:
        remove_abandoned(folder)
    replaced = _stat(path)
    # The content of a private file is private from the start.
    out = temporary_file(folder, shared=shared and replaced is None)
    temporary = Path(out.name)
    try:
        with out:
            yield out
            if replaced is not None:
                _copy_mode(temporary, replaced)
            sync_file(out)
            if before is not None:
                before()
            if sys.platform == "win32":
                out.close()
            # Renamed while it is locked, so that nobody takes it for abandoned.
            os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


@contextmanager
def replace_database(path: Path, *, before: Callable[[], object] | None = None) -> Iterator[Path]:
    """Yield a path for a new database that replaces `path` atomically when the block ends without an error.

    It gets the mode of the one that it replaces; a new one is private. `before` is called when the new database is on
    disk, just before it is renamed.
    """
    create_folders(path.parent)
    # In a folder of its own, so that the logs of SQLite are temporary too. Nobody else can look into it.
    with temporary_folder(path.parent) as folder:
        temporary = folder / path.name
        yield temporary
        replaced = _stat(path)
        if replaced is not None:
            _copy_mode(temporary, replaced)
        elif temporary.stat().st_mode & 0o077:
            with suppress(PermissionError):  # Some file systems have no modes.
                make_private(temporary)
        with open(temporary, "rb+") as out:
            sync_file(out)
        if before is not None:
            before()
        os.replace(temporary, path)
        sync_folder(path.parent)


class FileBatch:
    """Replaces many files: they are written under temporary names, and renamed when all of them are on disk."""

    def __init__(self, *, shared: bool = False) -> None:
        self._shared = shared
        self._waiting: dict[Path, BinaryIO] = {}
        self._folders: set[Path] = set()

    def __enter__(self) -> FileBatch:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.finish()
        else:
            self.discard()

    def finish(self) -> None:
        """Rename all files that wait, and write the names through to the disk."""
        self.write()
        for folder in self._folders:
            sync_folder(folder)

    def discard(self) -> None:
        """Drop the files that wait."""
        waiting, self._waiting = self._waiting, {}
        self._drop(waiting)

    def put(self, path: Path, content: bytes) -> None:
        """Replace a file, now or with later ones. It keeps its mode; a new one is private, unless all are shared."""
        if path in self._waiting or len(self._waiting) >= _BATCH:
            self.write()
        replaced = _stat(path)
        out = temporary_file(path.parent, shared=self._shared and replaced is None)
        self._waiting[path] = out
        out.write(content)
        out.flush()
        if replaced is not None:
            _copy_mode(Path(out.name), replaced)

    def write(self, path: Path | None = None) -> None:
        """Rename all files that wait, or only if this path is one of them."""
        if path is not None and path not in self._waiting:
            return
        waiting, self._waiting = self._waiting, {}
        try:
            _sync_files(list(waiting.values()))
            for place, out in waiting.items():
                if sys.platform == "win32":
                    out.close()
                os.replace(out.name, place)
                self._folders.add(place.parent)
        finally:
            self._drop(waiting)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        self.write(path)
        path.unlink(missing_ok=True)
        self._folders.add(path.parent)

    def _drop(self, waiting: dict[Path, BinaryIO]) -> None:
        for out in waiting.values():
            with suppress(OSError):
                os.unlink(out.name)
            out.close()


def create_file(path: str | Path, *, shared: bool = False) -> BinaryIO:
    """Create a file, private unless it is `shared`. Raise `FileExistsError`."""
    mode = _SHARED_FILE if shared else _PRIVATE_FILE
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode))


def open_to_append(path: str | Path, *, shared: bool = False) -> BinaryIO:
    """Open a file for reading and appending; a new one is private unless it is `shared`."""
    mode = _SHARED_FILE if shared else _PRIVATE_FILE
    return open(path, "ab+", opener=lambda name, flags: os.open(name, flags, mode))


def create_database(path: str | Path) -> None:
    """Create an empty file for a database if there is none: SQLite would make it as readable as the umask allows.

    The logs of SQLite get the mode of their database.
    """
    with suppress(FileExistsError):
        create_file(path).close()


def temporary_file(folder: Path, *, shared: bool = False) -> BinaryIO:
    """Create a hidden file that counts as abandoned when it is closed, or its process ends, before it is renamed."""
    while True:
        path = _temporary_path(folder)
        out = create_file(path, shared=shared)
        if _is_locked_at(out.fileno(), path):
            return out
        out.close()


@contextmanager
def temporary_folder(parent: Path, *, shared: bool = False) -> Iterator[Path]:
    """Yield a new hidden folder that is removed at the end, unless it was renamed; it is private unless `shared`.

    What killed processes left in the parent folder is removed first.
    """
    remove_abandoned(parent)
    handles: list[int] | None = None
    while handles is None:
        folder = _temporary_path(parent)
        folder.mkdir(_SHARED_FOLDER if shared else _PRIVATE_FOLDER)
        handles = _locked(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for handle in handles:
            os.close(handle)


def is_temporary(name: str) -> bool:
    """Return True if a file name is that of a temporary file or folder of memglot."""
    return _TEMPORARY.fullmatch(name) is not None


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files and folders that killed processes left in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        for path in [Path(entry.path) for entry in entries if is_temporary(entry.name)]:
            with suppress(OSError):
                _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        # Its writer holds a lock, which the system releases when the process ends.
        if not _try_lock(handle, wait=False):
            return
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    finally:
        os.close(handle)


def _locked(folder: Path) -> list[int] | None:
    """Lock a new folder and return its handle; None if somebody took it for abandoned meanwhile.

    Windows cannot open folders, so there is no handle, and nobody takes a folder for abandoned there.
    """
    if sys.platform == "win32":
        return []
    handle = os.open(folder, os.O_RDONLY)
    if _is_locked_at(handle, folder):
        return [handle]
    os.close(handle)
    return None


def _is_locked_at(handle: int, path: Path) -> bool:
    """Lock a new file or folder; return False if somebody removed it before it was locked."""
    _try_lock(handle, wait=True)
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder; wait for processes that hold it. Folders that cannot be locked are not."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        yield
        return
    try:
        _try_lock(handle, wait=True)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int, *, wait: bool) -> bool:
    """Lock an open file or folder; return False if it is in use, or if this system cannot lock it."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return True
    except OSError:
        return False


def _temporary_path(folder: Path) -> Path:
    return folder / f".memglot-{secrets.token_hex(8)}.part"


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


def sync_tree(folder: Path) -> None:
    """Write all files and names below a folder through to the disk."""
    if _sync_file_system(folder):
        return
    for place, _, names in os.walk(folder):
        for name in names:
            with open(Path(place, name), "rb+") as file:
                os.fsync(file.fileno())
        sync_folder(Path(place))


def create_folders(folder: Path, *, shared: bool = False, durable: bool = True) -> None:
    """Create a folder and its parents where they are missing; unless `shared`, only this user can look into them.

    With `durable` their names are written through to the disk.
    """
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing or [folder]):
        place.mkdir(_SHARED_FOLDER if shared else _PRIVATE_FOLDER, exist_ok=True)
    for place in missing if durable else ():
        sync_folder(place.parent)


def _sync_files(files: list[BinaryIO]) -> None:
    """Write files through to the disk; many are faster together."""
    devices = {os.fstat(file.fileno()).st_dev: Path(file.name).parent for file in files}
    if len(files) <= _FEW or not all(map(_sync_file_system, devices.values())):
        for file in files:
            sync_file(file)


def _sync_file_system(folder: Path) -> bool:
    """Write everything on the file system of a folder to the disk; return False if this system cannot do that."""
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        sync = ctypes.CDLL(None).syncfs
    except AttributeError:
        return False
    handle = os.open(folder, os.O_RDONLY)
    try:
        return bool(sync(handle) == 0)
    finally:
        os.close(handle)


def is_unreadable(path: str | Path) -> bool:
    """Return True if the disk reports an error when a file is read; SQLite treats such errors as damage."""
    try:
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
    except OSError as error:
        return error.errno == errno.EIO
    return False


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


def open_to_others(path: str | Path) -> list[Path]:
    """Return the files of a database that other users of this computer may read or change, and that we could close."""
    if sys.platform == "win32":
        return []
    found = []
    for file in sqlite_files(Path(path)):
        there = _stat(file)
        if there is not None and there.st_mode & 0o077 and os.geteuid() in (0, there.st_uid):
            found.append(file)
    return found if found and not os.statvfs(path).f_flag & os.ST_RDONLY else []


def make_private(path: Path) -> None:
    """Let only the user read and write a file that already exists."""
    path.chmod(_PRIVATE_FILE)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _copy_mode(path: Path, replaced: os.stat_result) -> None:
    """Give a file the mode of another, and its owner where that is allowed."""
    now = path.stat()
    if stat.S_IMODE(now.st_mode) != stat.S_IMODE(replaced.st_mode):
        path.chmod(stat.S_IMODE(replaced.st_mode))
    if hasattr(os, "chown") and (now.st_uid, now.st_gid) != (replaced.st_uid, replaced.st_gid):
        with suppress(OSError):
            os.chown(path, replaced.st_uid, replaced.st_gid)
