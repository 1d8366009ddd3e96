"""Files of `.memory`: found without following links, and written so that none is ever half there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from memglot.files import replace_file, sync_file, sync_folder
from memglot.project.storage.errors import unsafe_path
from memglot.project.storage.paths import FOLDER

PART = ".memory-tmp-"
"""What the name of a file begins with while it is written."""


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
    if not path.parent.is_dir():  # A store that was removed meanwhile is not created again.
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    folder = apart if apart is not None and apart.is_dir() and not apart.is_symlink() else path.parent
    try:
        temporary = folder / f"{PART}{os.urandom(8).hex()}"
        with replace_file(path, temporary=temporary, keep_mode=True, make_folders=False) as out:
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
