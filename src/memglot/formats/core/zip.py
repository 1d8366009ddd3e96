"""Zip archives, read like folders, without unpacking them, up to a maximum size."""

from __future__ import annotations

import lzma
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from memglot.errors import Unreadable
from memglot.formats.core.compression import inner_extension
from memglot.formats.core.encoding import BOM
from memglot.formats.core.source import FOLDER_PROOF, Source, note_links, note_unknown_files
from memglot.report import Report
from memglot.settings import MAX_ZIP_BYTES, MAX_ZIP_FILES

# Errors of reading a damaged entry; encrypted entries and unknown methods fail when they are opened.
BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)
MAGIC = b"PK\x03\x04"
_MIN_HEADER = 30
_MAX_TAIL = (1 << 16) + 22
_MAX_ENTRY = 1 << 11
"""More than an entry of the directory needs on average, with the longest paths."""
# Signature, number of entries, size of the directory; and the place of the larger end record.
_END, _END64, _LOCATOR = struct.Struct("<4s6xHI6x"), struct.Struct("<4s28xQQ8x"), struct.Struct("<4s4xQ4x")


def is_zip(path: Path) -> bool:
    """Return True if a file can be read and is a zip archive."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def open_zip(path: Path, shown: str) -> zipfile.ZipFile:
    """Open a zip. Raise `Unreadable` if it is damaged, or has too many files for its directory to be read."""
    try:
        with open(path, "rb") as file:
            if _entries(file) > MAX_ZIP_FILES:
                raise _too_much(shown)
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise Unreadable(shown, str(error).lower()) from error


def _entries(file: BinaryIO) -> int:
    """Return the number of entries of a zip, counted in its directory without reading them one by one."""
    end = file.seek(0, os.SEEK_END)
    start = file.seek(max(0, end - _MAX_TAIL))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + _END.size:
        return 0
    _, count, size = _END.unpack_from(tail, at)
    at += start
    file.seek(max(0, at - _LOCATOR.size))
    signature, place = _LOCATOR.unpack(file.read(_LOCATOR.size))
    if signature == b"PK\x06\x07":
        file.seek(min(place, end))
        # The directory ends where the larger end record begins.
        at = file.tell()
        more = file.read(_END64.size)
        _, count, size = _END64.unpack(more) if len(more) == _END64.size else (b"", count, 0)
    if max(count, size // _MAX_ENTRY) > MAX_ZIP_FILES:
        return MAX_ZIP_FILES + 1
    file.seek(max(0, at - size))
    return file.read(size).count(b"PK\x01\x02")


def _too_much(shown: str) -> Unreadable:
    return Unreadable(
        shown,
        f"it holds more than {MAX_ZIP_FILES:,} files or {MAX_ZIP_BYTES >> 30} GB",
        "unpack it and import the folder",
    )


def zip_names(archive: zipfile.ZipFile) -> Iterator[str]:
    """Return the paths of the files in a zip."""
    return (info.filename for info in archive.infolist() if not info.is_dir())


def zip_head(archive: zipfile.ZipFile, name: str, size: int = 1 << 14) -> bytes:
    """Return the first bytes of a file in a zip; none if it cannot be read."""
    with suppress(*BROKEN, RuntimeError, NotImplementedError), archive.open(name) as file:
        return file.read(size)
    return b""


def zip_sources(
    archive: zipfile.ZipFile,
    shown: str,
    extensions: frozenset[str] | None,
    report: Report,
    accepts: Callable[[str], bool] | None = None,
) -> Iterator[Source]:
    """Yield the files of a zip with a known extension, or all files, ordered by path. Raise `Unreadable`."""
    unknown: list[str] = []
    links: list[str] = []
    entries = sorted((info for info in archive.infolist() if not info.is_dir()), key=lambda info: info.filename)
    if len(entries) > MAX_ZIP_FILES or sum(info.file_size for info in entries) > MAX_ZIP_BYTES:
        raise _too_much(shown)
    if _overlap(entries):
        raise Unreadable(shown, "its files overlap", "it is damaged or malicious; make the archive again")
    for info in entries:
        shown_name = f"{shown}/{info.filename}"
        kind = _kind(info, extensions)
        if kind == "outside":
            report.fault(Unreadable(shown_name, "its path leaves the archive"), shown_name)
        elif kind == "known" and (accepts is None or accepts(info.filename)):
            yield from _source(archive, info, shown_name, report)
        elif kind != "hidden":
            (links if kind == "link" else unknown).append(info.filename)
    if unknown:
        report.note(note_unknown_files(unknown))
    if links:
        report.note(note_links(links))


def _overlap(entries: list[zipfile.ZipInfo]) -> bool:
    """Return True if two files share bytes, so that a small archive seems to hold a lot."""
    end = 0
    for info in sorted(entries, key=lambda info: info.header_offset):
        if info.header_offset < end:
            return True
        end = info.header_offset + _MIN_HEADER + info.compress_size
    return False


def unpack(archive: zipfile.ZipFile, shown: str, folder: Path, report: Report) -> None:
    """Unpack a zip into a folder, except links, hidden files and paths that leave it. Raise `Unreadable`."""
    for source in zip_sources(archive, shown, None, report):
        place = folder / str(source.path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with open(place, "xb") as out:
                # A byte order mark is not part of the stream, but of the file.
                out.write(BOM if source.start else b"")
                shutil.copyfileobj(source.stream, out, 1 << 20)
        except FileExistsError:
            report.fault(Unreadable(source.name, "another file in the archive has the same path"), source.name)
        except BROKEN as error:
            report.fault(Unreadable(source.name, str(error).lower()), source.name)
        finally:
            source.close()


def zip_proofs(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    """Yield the names and texts of the folder proofs in a zip."""
    for info in archive.infolist():
        if PurePosixPath(info.filename).name == FOLDER_PROOF and info.file_size <= MAX_ZIP_BYTES:
            with suppress(*BROKEN, RuntimeError, NotImplementedError):
                yield info.filename, archive.read(info)


def _kind(info: zipfile.ZipInfo, extensions: frozenset[str] | None) -> str:
    """Return what to do with an entry."""
    name = PurePosixPath(info.filename)
    if name.is_absolute() or ".." in name.parts or "\\" in info.filename:
        return "outside"
    if any(part.startswith(".") or part == "__MACOSX" for part in name.parts):
        return "hidden"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "link"
    return "known" if extensions is None or inner_extension(name.name) in extensions else "other"


def _source(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, report: Report) -> list[Source]:
    try:
        # The stream ends at the declared size, which was checked above.
        stream = cast(BinaryIO, archive.open(info))
        again = lambda: cast(BinaryIO, archive.open(info))  # noqa: E731
        return [Source(name, stream, path=Path(info.filename), size=info.file_size, again=again)]
    except Unreadable as error:
        report.fault(error, name)
        return []
    except (*BROKEN, RuntimeError, NotImplementedError) as error:
        report.fault(Unreadable(name, str(error).lower()), name)
        return []
