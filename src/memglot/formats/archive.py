"""Zip files, read as the folders they hold, without unpacking them and within bounds."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from memglot.errors import MAX_ZIP_BYTES, MAX_ZIP_FILES, Unreadable, zip_too_large
from memglot.formats.source import BESIDE, Source
from memglot.notes import note_left_out, note_links
from memglot.report import Report

# What a damaged entry raises when it is read; an encrypted or exotic one cannot even be opened.
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError)
MAGIC = b"PK\x03\x04"


def is_zip(path: Path) -> bool:
    """Tell whether a file is a zip archive."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def zip_sources(path: Path, shown: str, extensions: frozenset[str], report: Report) -> Iterator[Source]:
    """The files of a zip with a known extension, in the order of their paths; raises `Unreadable`."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise Unreadable(shown, str(error).lower()) from error
    left_out: list[str] = []
    links: list[str] = []
    with archive:
        entries = sorted((info for info in archive.infolist() if not info.is_dir()), key=lambda info: info.filename)
        if len(entries) > MAX_ZIP_FILES or sum(info.file_size for info in entries) > MAX_ZIP_BYTES:
            raise zip_too_large(shown)
        for info in entries:
            name = PurePosixPath(info.filename)
            if _leaves(name):
                report.source = f"{shown}/{info.filename}"
                report.fault(Unreadable(report.source, "its path leaves the archive"))
            elif _is_hidden(name):
                continue
            elif stat.S_ISLNK(info.external_attr >> 16):
                links.append(info.filename)
            elif name.suffix in extensions:
                yield from _source(archive, info, f"{shown}/{info.filename}", report)
            else:
                left_out.append(info.filename)
    if left_out:
        report.note(note_left_out(left_out))
    if links:
        report.note(note_links(links))


def _leaves(name: PurePosixPath) -> bool:
    return name.is_absolute() or ".." in name.parts or "\\" in str(name)


def _is_hidden(name: PurePosixPath) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in name.parts) or name.name.endswith(BESIDE)


def _source(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, report: Report) -> list[Source]:
    try:
        # The stream ends at the size that the entry declares, which the sum above has bounded.
        stream = cast(BinaryIO, archive.open(info))
        return [Source(name, stream, path=Path(info.filename), size=info.file_size)]
    except (*BROKEN, RuntimeError, NotImplementedError) as error:
        report.source = name
        report.fault(Unreadable(name, str(error).lower()))
        return []
