"""Files of `.memory`: found without following links, and written so that none is ever half there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memglot.errors.repo import unsafe_path
from memglot.formats._repo.words import FOLDER

_SETTLED_NANOSECONDS = 2_000_000_000
"""A file touched so lately may be touched again without its times showing it: some file systems tell whole seconds."""

Stamp = str
"""What tells a changed file from an unchanged one without reading it; empty where nothing can."""


def stamp_of(found: os.stat_result, now: int) -> Stamp:
    """The stamp of a file, at a moment in nanoseconds."""
    if max(found.st_mtime_ns, found.st_ctime_ns) > now - _SETTLED_NANOSECONDS:
        return ""
    return f"{found.st_mtime_ns}:{found.st_ctime_ns}:{found.st_size}:{found.st_ino}"


def files_below(folder: Path, inside: str, now: int) -> Iterator[tuple[str, Stamp | None]]:
    """The files of a folder in `.memory` and below, each with its stamp; `None` for a link, which is not followed."""
    try:
        entries = list(os.scandir(folder / inside))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        path = f"{inside}/{entry.name}"
        if entry.is_symlink():
            yield path, None
        elif entry.is_dir():
            yield from files_below(folder, path, now)
        elif entry.is_file():
            try:
                yield path, stamp_of(entry.stat(), now)
            except FileNotFoundError:
                continue  # Somebody removed it between the two looks.


def refuse_links(folder: Path, path: str) -> None:
    """Raise `ProjectError` where a path in `.memory` is, or leads through, a symbolic link."""
    place = folder
    for part in ("", *path.split("/")):
        place = place / part
        if place.is_symlink():
            raise unsafe_path(f"{FOLDER}/{path}" if path else FOLDER)


def write_file(path: Path, content: bytes) -> None:
    """Write a file beside its place, make it last, and put it there; it keeps the mode of the one it replaces."""
    part = path.with_name(f".memory-tmp-{os.urandom(8).hex()}")
    try:
        write_lasting(part, content)
        if path.exists():
            part.chmod(path.stat().st_mode & 0o777)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_lasting(path: Path, content: bytes) -> None:
    """Write a new file that survives a power cut."""
    with open(path, "xb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, where the system can."""
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
