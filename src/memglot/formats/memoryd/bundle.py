"""memoryd's sync bundle: a `.tar.gz` of its data folder."""

from __future__ import annotations

import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from memglot.errors import Unreadable
from memglot.formats.core.source import Source, note_links
from memglot.report import SourceReport
from memglot.settings import MAX_ZIP_BYTES, MAX_ZIP_FILES

_BROKEN = (tarfile.TarError, zlib.error, EOFError, OSError)


def unpack_bundle(source: Source, folder: Path, report: SourceReport) -> None:
    """Unpack the files of a bundle, except links and paths that leave the folder. Raise `Unreadable`."""
    files = size = 0
    links: list[str] = []
    try:
        with tarfile.open(fileobj=source.stream, mode="r|") as archive:
            for member in archive:
                files, size = files + 1, size + member.size
                if files > MAX_ZIP_FILES or size > MAX_ZIP_BYTES:
                    raise _too_large(source.name)
                if member.issym() or member.islnk():
                    links.append(member.name)
                elif member.isfile():
                    _unpack(archive, member, folder, report)
    except Unreadable as error:
        if not files or error.name != source.name or "damaged" not in str(error):
            raise
        report.fault(error)
    except _BROKEN as error:
        if not files:
            raise Unreadable(source.name, f"it is not a bundle of memoryd: {str(error).lower()}") from error
        report.fault(Unreadable(source.name, f"the archive is damaged, so some files are missing: {error}"))
    if links:
        report.note(note_links(sorted(links)))


def _unpack(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path, report: SourceReport) -> None:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or "\\" in member.name or "\0" in member.name:
        report.results.fault("its path leaves the archive", f"{report.source}/{member.name}")
        return
    found = archive.extractfile(member)
    assert found is not None
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(place, "wb") as out:
        shutil.copyfileobj(found, out, 1 << 20)


def _too_large(name: str) -> Unreadable:
    return Unreadable(
        name,
        f"it holds more than {MAX_ZIP_FILES:,} files or {MAX_ZIP_BYTES >> 30} GB",
        "unpack it and import the folder",
    )
