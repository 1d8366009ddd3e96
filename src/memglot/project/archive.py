"""Backups of a store as `.tar.gz`: compared with the store after writing, and unpacked safely."""

from __future__ import annotations

import gzip
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO

from memglot.files import replace_file, sync_file
from memglot.project.storage.errors import ProjectError

MAX_MEMBERS = 500_000
MAX_BYTES = 4 << 30
"""Maximum size of an unpacked backup, in bytes; protects against decompression bombs."""
_MAX_HEADER = 1 << 20
_PIECE = 1 << 18
_BROKEN = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, UnicodeError, ValueError)
_ELSEWHERE = ("\\", ":") if os.name == "nt" else ()
"""Characters that can lead out of a folder on this system, besides `..` and a leading slash."""


class _Bounded(gzip.GzipFile):
    """A compressed stream that limits each read to the size of a header."""

    def read(self, size: int | None = -1) -> bytes:
        """Read some bytes. Raise `ValueError` for an oversized header, which would fill the memory."""
        if size is None or not 0 <= size <= _MAX_HEADER:
            raise ValueError("a header in it is too large")
        return super().read(size)


class BackupDiffers(Exception):
    """A backup that differs from the store; the text says where."""


def pack(folder: Path, names: list[str], path: Path) -> None:
    """Write the named entries of a folder, recursively, to a new archive that survives a power failure.

    Raise `OSError`, and `BackupDiffers` if the written archive does not match the folder.
    """
    with replace_file(path, shared=True) as out:
        with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT, compresslevel=6) as archive:
            digests = {name: _add(archive, folder, name) for name in _entries(folder, names)}
        sync_file(out)
        _compare(Path(out.name), digests)


def unpack(path: Path, shown: str, folder: Path) -> list[str]:
    """Unpack an archive into a new folder; return the links that were left out.

    Only regular files and folders are created, and only below the folder. Raise `ProjectError` for an archive that is
    damaged, too large, or contains anything else.
    """
    links: list[str] = []
    folder.mkdir(parents=True)
    try:
        for archive, member in _members(path):
            name = _path_inside(member.name)
            if name is None or not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
                raise bad_backup(shown, _bad_member(member.name))
            if member.issym() or member.islnk():
                links.append(name)
            elif name:
                _extract(archive, member, folder / name)
    except _BROKEN as error:
        raise bad_backup(shown, _unreadable_archive(str(error) or type(error).__name__)) from error
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        # Two entries of one name, or a file that is to be a folder too.
        raise bad_backup(shown, _bad_member(member.name)) from None
    return links


def lacks_file(path: Path, name: str) -> bool:
    """Return True if an archive is intact but has no file of this name at its top."""
    try:
        return not any(_path_inside(member.name) == name and member.isfile() for _, member in _members(path))
    except (*_BROKEN, OSError):
        return False


def _members(path: Path) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """Yield the entries of an archive. Raise `ValueError` if they are too many or too large."""
    left = MAX_BYTES
    with _open(path) as archive:
        for count, member in enumerate(archive, 1):
            left -= max(member.size, 0)
            if count > MAX_MEMBERS or left < 0:
                raise ValueError(f"it unpacks to more than {MAX_MEMBERS:,} entries or {MAX_BYTES >> 30} GiB")
            yield archive, member


@contextmanager
def _open(path: Path) -> Iterator[tarfile.TarFile]:
    with _Bounded(path, "rb") as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        yield archive


def _entries(folder: Path, names: list[str]) -> Iterator[str]:
    for name in names:
        yield name
        if (folder / name).is_dir() and not (folder / name).is_symlink():
            below = sorted(entry.name for entry in os.scandir(folder / name))
            yield from _entries(folder, [f"{name}/{each}" for each in below])


def _add(archive: tarfile.TarFile, folder: Path, name: str) -> str | None:
    """Add one entry; return the digest of a file. Only files, folders and links are added."""
    place = folder / name
    found = os.lstat(place)
    member = tarfile.TarInfo(name)
    member.mtime, member.mode = int(found.st_mtime), stat.S_IMODE(found.st_mode)
    if stat.S_ISREG(found.st_mode):
        with open(place, "rb") as source:
            member.size = os.fstat(source.fileno()).st_size
            archive.addfile(member, source)
            source.seek(0)
            return _digest(source)
    if stat.S_ISDIR(found.st_mode):
        member.type = tarfile.DIRTYPE
        archive.addfile(member)
    elif stat.S_ISLNK(found.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, os.readlink(place)
        archive.addfile(member)
    return None


def _compare(path: Path, digests: dict[str, str | None]) -> None:
    """Compare a new archive with the digests of its files. Raise `BackupDiffers`."""
    due = {name: digest for name, digest in digests.items() if digest is not None}
    try:
        with _open(path) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None and due.pop(member.name, None) != _digest(content):
                    raise BackupDiffers(_differs_from_store(member.name))
    except _BROKEN as error:
        raise BackupDiffers(_unreadable_archive(str(error))) from error
    if due:
        raise BackupDiffers(_differs_from_store(min(due)))


def _digest(source: IO[bytes]) -> str:
    found = sha256()
    while piece := source.read(_PIECE):
        found.update(piece)
    return found.hexdigest()


def _path_inside(name: str) -> str | None:
    """Return the path of an entry below the folder, empty for the folder itself; None if it leads out of it."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or "\0" in name or ".." in parts or any(character in name for character in _ELSEWHERE):
        return None
    return "/".join(parts)


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    content = archive.extractfile(member)
    with open(place, "xb") as out:
        while content is not None and (piece := content.read(_PIECE)):
            out.write(piece)
    place.chmod(0o600 | (member.mode & 0o044))


def _bad_member(name: str) -> str:
    return f"its entry `{name[:200]}` is not a regular file or folder inside it"


def _unreadable_archive(reason: str) -> str:
    return f"it cannot be read as a .tar.gz ({reason})"


def _differs_from_store(name: str) -> str:
    return f"`{name}` in the backup differs from the store, which may have been changed meanwhile"


def bad_backup(path: str, reason: str) -> ProjectError:
    """Return the error for a backup that cannot be restored."""
    message = f"`{path}` was not restored: {reason}. Nothing was changed."
    return ProjectError("MemoryValidationFailed", message, {"field": "backup", "path": path, "message": reason})
