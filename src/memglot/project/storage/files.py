"""Files of `.memory`: found without following links, and written so that none is ever half there."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from memglot.files import replace_file, sync_file, sync_folder
from memglot.project.storage.errors import unsafe_path
from memglot.project.storage.paths import FOLDER

_SETTLED_NANOSECONDS = 2_000_000_000
"""A file touched so lately may be touched again without its times showing it: some file systems tell whole seconds."""

PART = ".memory-tmp-"
"""What the name of a file begins with while it is written."""
Stamp = str
"""What tells a changed file from an unchanged one without reading it; empty where nothing can."""


def stamp_of(found: os.stat_result, now: int) -> Stamp:
    """The stamp of a file, at a moment in nanoseconds."""
    changed = found.st_ctime_ns
    return "" if changed > now - _SETTLED_NANOSECONDS else f"{changed}:{found.st_size}:{found.st_ino}"


def files_below(folder: Path, inside: str, now: int) -> dict[str, Stamp | None]:
    """The files of a folder in `.memory` and below, each with its stamp; `None` for a link, which is not followed."""
    found: dict[str, Stamp | None] = {}
    folders = [inside]
    while folders:
        inside = folders.pop()
        try:
            entries = os.scandir(folder / inside)
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in entries:
            path = f"{inside}/{entry.name}"
            if entry.is_symlink():
                found[path] = None
            elif entry.is_dir():
                folders.append(path)
            elif path.endswith((".json", ".md")):
                try:
                    found[path] = stamp_of(entry.stat(), now)
                except FileNotFoundError:
                    continue  # Somebody removed it between the two looks.
    return found


def stamps_of(folder: Path, paths: Iterable[str], now: int) -> dict[str, Stamp | None]:
    """The stamps of those of these files that are there."""
    found: dict[str, Stamp | None] = {}
    for path in paths:
        try:
            found[path] = stamp_of(os.lstat(folder / path), now)
        except (FileNotFoundError, NotADirectoryError):
            continue
    return found


def refuse_links(folder: Path, path: str) -> None:
    """Raise `ProjectError` where a path in `.memory` is, or leads through, a symbolic link."""
    place = folder
    for part in ("", *path.split("/")):
        place = place / part
        if place.is_symlink():
            raise unsafe_path(f"{FOLDER}/{path}" if path else FOLDER)


def write_file(path: Path, content: bytes, apart: Path | None = None) -> None:
    """Write a file beside its place, make it last, and put it there; it keeps the mode of the one it replaces.

    With `apart` it is written in that folder, so that a stopped process leaves nothing where it would be seen.
    """
    folder = apart if apart is not None and apart.is_dir() and not apart.is_symlink() else path.parent
    try:
        with replace_file(path, temporary=folder / f"{PART}{os.urandom(8).hex()}", keep_mode=True) as out:
            out.write(content)
    except OSError as error:
        if error.errno != errno.EXDEV or folder == path.parent:
            raise
        write_file(path, content)
    sync_folder(path.parent)


def write_lasting(path: Path, content: bytes) -> None:
    """Write a new file that survives a power cut."""
    with open(path, "xb") as out:
        out.write(content)
        sync_file(out)
