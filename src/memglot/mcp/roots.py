"""The folders that a server may read files from and write files to."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from memglot.display import quoted
from memglot.errors import UsageError

NAME_A_ROOT = "name the folders that this server may use with `memglot mcp --root DIR`"
ADD_A_ROOT = "allow another folder with `memglot mcp --root DIR`"


class Roots:
    """Allowed folders, with all links in their paths resolved."""

    def __init__(self, folders: Sequence[Path], own: Sequence[Path] = ()) -> None:
        self.folders = _real_paths(folders)
        self._own_files = _real_paths(own)
        """Files and folders of memglot itself: the store that is served, and the folder with the token."""

    def resolve(self, path: str) -> Path:
        """Return a path with all links resolved. Raise `UsageError` if it is outside of all roots.

        A relative path is relative to the first root.
        """
        shown = quoted(path, 200)
        try:
            found = Path(os.path.realpath(self.folders[0] / Path(path).expanduser()))
        except (ValueError, OSError, RuntimeError) as error:
            raise UsageError(f"{shown} is not a valid path: {error}") from None
        if not self.contains(found):
            raise UsageError(f"{shown} is outside of the folders that this server may use: {self._listed}", ADD_A_ROOT)
        if self._is_own(found):
            raise UsageError(f"{shown} belongs to memglot itself", "use the other tools to work with the store")
        try:
            mode = os.stat(found).st_mode
        except FileNotFoundError:
            return found
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UsageError(f"{shown} is not a valid path: {reason}") from None
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            # Reading a pipe, for example, could block forever.
            raise UsageError(f"{shown} is neither a file nor a folder")
        return found

    def check_project(self, project: Path) -> None:
        """Raise `UsageError` if the folder of a project is outside of all roots."""
        if not self.contains(project):
            raise UsageError(
                f"the project folder {quoted(str(project), 200)} is outside of the folders that this server may use: "
                f"{self._listed}",
                ADD_A_ROOT,
            )

    def contains(self, path: Path) -> bool:
        """Return True if a real path is one of the folders, or inside one."""
        return any(path == folder or folder in path.parents for folder in self.folders)

    @property
    def _listed(self) -> str:
        return ", ".join(str(folder) for folder in self.folders)

    def _is_own(self, path: Path) -> bool:
        """Return True if a real path is a file of memglot or inside one of its folders, also under another name."""
        own = {*self._own_files, *map(_identity, self._own_files)} - {None}
        return any(place in own or _identity(place) in own for place in (path, *path.parents))


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode at a path: hard links and case-insensitive systems give one file several paths."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _real_paths(paths: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in paths))


def check_roots(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders as absolute paths. Raise `UsageError` if one of them does not exist."""
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"the root {quoted(str(folder), 200)} is not a folder")
    return tuple(folder.absolute() for folder in folders)


def folders_from_uris(uris: Sequence[str]) -> list[Path]:
    """Return the folders that `file://` URIs of a client name; skip all other URIs."""
    found = []
    for uri in uris:
        parts = urlsplit(uri)
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and "\0" not in unquote(parts.path):
            found.append(Path(url2pathname(parts.path)))
    return found
