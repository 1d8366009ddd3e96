"""Zip archives, read like folders, without unpacking them, up to a maximum size."""

from __future__ import annotations

import lzma
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from memglot.errors import Unreadable
from memglot.formats.core.encoding import BOM
from memglot.formats.core.source import FOLDER_PROOF, Source, note_links, note_unknown_files
from memglot.report import Report
from memglot.settings import MAX_ZIP_BYTES, MAX_ZIP_FILES

# Errors of reading a damaged entry; encrypted entries and unknown methods fail when they are opened.
BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)
MAGIC = b"PK\x03\x04"


def is_zip(path: Path) -> bool:
    """Return True if a file can be read and is a zip archive."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def zip_names(path: Path) -> Iterator[str]:
    """Return the paths of the files in a zip; none if it is damaged."""
    with suppress(*BROKEN), zipfile.ZipFile(path) as archive:
        yield from (info.filename for info in archive.infolist() if not info.is_dir())


def zip_head(path: Path, name: str, size: int = 1 << 14) -> bytes:
    """Return the first bytes of a file in a zip; none if it cannot be read."""
    with suppress(*BROKEN, RuntimeError, NotImplementedError), zipfile.ZipFile(path) as archive:
        with archive.open(name) as file:
            return file.read(size)
    return b""


def zip_sources(
    path: Path,
    shown: str,
    extensions: frozenset[str] | None,
    report: Report,
    accepts: Callable[[str], bool] | None = None,
) -> Iterator[Source]:
    """Yield the files of a zip with a known extension, or all files, ordered by path. Raise `Unreadable`."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise Unreadable(shown, str(error).lower()) from error
    unknown: list[str] = []
    links: list[str] = []
    with archive:
        entries = sorted((info for info in archive.infolist() if not info.is_dir()), key=lambda info: info.filename)
        if len(entries) > MAX_ZIP_FILES or sum(info.file_size for info in entries) > MAX_ZIP_BYTES:
            raise Unreadable(
                shown,
                f"it holds more than {MAX_ZIP_FILES:,} files or {MAX_ZIP_BYTES >> 30} GB",
                "unpack it and import the folder",
            )
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


def unpack(path: Path, shown: str, folder: Path, report: Report) -> None:
    """Unpack a zip into a folder, except links, hidden files and paths that leave it. Raise `Unreadable`."""
    for source in zip_sources(path, shown, None, report):
        place = folder / str(source.path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with open(place, "wb") as out:
                # A byte order mark is not part of the stream, but of the file.
                out.write(BOM if source.start else b"")
                shutil.copyfileobj(source.stream, out, 1 << 20)
        except BROKEN as error:
            report.fault(Unreadable(source.name, str(error).lower()), source.name)
        finally:
            source.close()


def zip_proofs(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and texts of the folder proofs in a zip."""
    with zipfile.ZipFile(path) as archive:
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
    return "known" if extensions is None or name.suffix in extensions else "other"


def _source(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, report: Report) -> list[Source]:
    try:
        # The stream ends at the declared size, which was checked above.
        stream = cast(BinaryIO, archive.open(info))
        return [Source(name, stream, path=Path(info.filename), size=info.file_size)]
    except (*BROKEN, RuntimeError, NotImplementedError) as error:
        report.fault(Unreadable(name, str(error).lower()), name)
        return []
