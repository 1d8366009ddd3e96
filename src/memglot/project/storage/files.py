"""Write files of `.memory` completely or not at all, and never through links."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from memglot.files import create_file, replace_file, sqlite_files, sync_file
from memglot.project.storage.errors import unsafe_path
from memglot.project.storage.paths import FOLDER, INDEX, TOOL_INDEX


def refuse_links(folder: Path, path: str) -> None:
    """Raise `ProjectError` if a path in `.memory` is, or leads through, a symbolic link."""
    place = folder
    for part in ("", *path.split("/")):
        place = place / part
        if place.is_symlink():
            raise unsafe_path(f"{FOLDER}/{path}" if path else FOLDER)


def write_file(path: Path, content: bytes, apart: Path | None = None, *, shared: bool = True) -> None:
    """Replace a file atomically; it keeps the mode of the one it replaces, and a new one is private unless `shared`.

    With `apart` the temporary file is in that folder, so that a stopped process leaves nothing visible.
    """
    if not path.parent.is_dir():  # A store that was removed meanwhile is not created again.
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    folder = apart if apart is not None and apart.is_dir() and not apart.is_symlink() else path.parent
    try:
        with replace_file(path, folder=folder, shared=shared, make_folders=False) as out:
            out.write(content)
    except OSError as error:
        if error.errno != errno.EXDEV or folder == path.parent:
            raise
        write_file(path, content, shared=shared)


def write_durable(path: Path, content: bytes) -> None:
    """Write a new file through to the disk."""
    with create_file(path, shared=True) as out:
        out.write(content)
        sync_file(out)


def drop_tool_index(folder: Path) -> None:
    """Remove the index of the original tool, which builds a missing one but does not notice that its own is old."""
    if not (folder / INDEX).is_symlink():
        for file in sqlite_files(folder / TOOL_INDEX):
            file.unlink(missing_ok=True)
