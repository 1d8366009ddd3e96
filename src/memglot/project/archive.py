"""Backups of a store as `.tar.gz`: written beside their name, read back before they are trusted, unpacked with care."""

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

from memglot.files import replace_file, sync_file, sync_folder
from memglot.project.messages import OVERLONG_HEADER, bad_backup

MAX_MEMBERS = 500_000
MAX_BYTES = 4 << 30
"""How much a backup may unpack to; a store is a fraction of it, a bomb is more."""
_MAX_HEADER = 1 << 20
_PIECE = 1 << 18
_BROKEN = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, UnicodeError, ValueError)
_ELSEWHERE = ("\\", ":") if os.name == "nt" else ()
"""What leads out of a folder on this system, beside `..` and a leading slash."""


class _Bounded(gzip.GzipFile):
    """A compressed stream that is never asked for more at once than a header may hold."""

    def read(self, size: int | None = -1) -> bytes:
        """Read some bytes. Raises `ValueError` where a header claims to be larger than any is."""
        if size is None or not 0 <= size <= _MAX_HEADER:
            raise ValueError(OVERLONG_HEADER)
        return super().read(size)


class Unlike(Exception):
    """A backup that does not hold what the store holds; its text says where."""


def pack(folder: Path, names: list[str], path: Path) -> None:
    """Write the named entries of a folder, with all below them, to a new archive that survives a power cut.

    Raises `OSError`, and `Unlike` when what was written reads back as something else.
    """
    part = path.with_name(path.name + ".part")
    with replace_file(path, temporary=part) as out:
        with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT, compresslevel=6) as archive:
            digests = {name: _add(archive, folder, name) for name in _entries(folder, names)}
        sync_file(out)
        _compare(part, digests)
    sync_folder(path.parent)


def unpack(path: Path, shown: str, folder: Path) -> list[str]:
    """Unpack an archive into a new folder; give the links that were left out.

    Only plain files and folders are made, and only below the folder. Raises `ProjectError` for an archive that is
    damaged, too large, or holds anything else.
    """
    links: list[str] = []
    folder.mkdir(parents=True)
    try:
        for archive, member in _members(path):
            name = _inside(member.name)
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


def lacks(path: Path, name: str) -> bool:
    """Tell whether an archive is whole and yet has no file of this name at its top."""
    try:
        return not any(_inside(member.name) == name and member.isfile() for _, member in _members(path))
    except (*_BROKEN, OSError):
        return False


def _members(path: Path) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """The entries of an archive. Raises `ValueError` when they are too many or too large."""
    left = MAX_BYTES
    with _opened(path) as archive:
        for count, member in enumerate(archive, 1):
            left -= max(member.size, 0)
            if count > MAX_MEMBERS or left < 0:
                raise ValueError(_too_large(f"{MAX_MEMBERS:,} entries or {MAX_BYTES >> 30} GiB"))
            yield archive, member


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    with _Bounded(path, "rb") as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        yield archive


def _entries(folder: Path, names: list[str]) -> Iterator[str]:
    for name in names:
        yield name
        if (folder / name).is_dir() and not (folder / name).is_symlink():
            below = sorted(entry.name for entry in os.scandir(folder / name))
            yield from _entries(folder, [f"{name}/{each}" for each in below])


def _add(archive: tarfile.TarFile, folder: Path, name: str) -> str | None:
    """Add one entry; give the digest of a file. What is no file, folder or link has no content to keep."""
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
    """Read a fresh archive back. Raises `Unlike` where it is not what was to be packed."""
    due = {name: digest for name, digest in digests.items() if digest is not None}
    try:
        with _opened(path) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None and due.pop(member.name, None) != _digest(content):
                    raise Unlike(_differs_from_store(member.name))
    except _BROKEN as error:
        raise Unlike(_unreadable_archive(str(error))) from error
    if due:
        raise Unlike(_differs_from_store(min(due)))


def _digest(source: IO[bytes]) -> str:
    found = sha256()
    while piece := source.read(_PIECE):
        found.update(piece)
    return found.hexdigest()


def _inside(name: str) -> str | None:
    """The path of an entry below the folder, empty for the folder itself; `None` for one that leads elsewhere."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or "\0" in name or ".." in parts or any(sign in name for sign in _ELSEWHERE):
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
    """Why a backup is refused: an entry that would land elsewhere, or is no file."""
    return f"its entry `{name[:200]}` is no plain file or folder within it"


def _too_large(limit: str) -> str:
    """Why a backup is refused: it is larger than any store."""
    return f"it unpacks to more than {limit}"


def _unreadable_archive(reason: str) -> str:
    """Why a backup is refused: it is damaged."""
    return f"it cannot be read as a .tar.gz ({reason})"


def _differs_from_store(name: str) -> str:
    """Why a fresh backup is not trusted."""
    return f"`{name}` read back differs from what is in the store; did something write to it meanwhile?"
