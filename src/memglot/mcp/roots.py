"""The folders that a server may read files from and write files to."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from memglot.mcp.errors import bad_path, not_a_folder, outside_roots, own_file, special_file


class Roots:
    """Allowed folders, with all links in their paths resolved."""

    def __init__(self, folders: Sequence[Path], own: Sequence[Path] = ()) -> None:
        self.folders = _real(folders)
        self._own_files = _real(own)
        """What belongs to this tool itself: the store that is served, and the folder with the token."""

    @property
    def names(self) -> list[str]:
        """The folders as text."""
        return [str(folder) for folder in self.folders]

    def resolve(self, path: str) -> Path:
        """The real place of a path, where no link is left; raises `UsageError` for one outside of all roots.

        A relative path is taken from the first root.
        """
        try:
            found = Path(os.path.realpath(self.folders[0] / Path(path).expanduser()))
        except (ValueError, OSError, RuntimeError) as error:
            raise bad_path(path, str(error)) from None
        if not self.contains(found):
            raise outside_roots(path, self.names)
        if self._is_own(found):
            raise own_file(path)
        try:
            mode = os.stat(found).st_mode
        except FileNotFoundError:
            return found
        except OSError as error:
            raise bad_path(path, (error.strerror or str(error)).lower()) from None
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            # A pipe, say, at which the call would wait for ever.
            raise special_file(path)
        return found

    def _is_own(self, path: Path) -> bool:
        """Tell whether a real path is one of our own, or inside of one; also by another spelling, or a hard link."""
        own = {*self._own_files, *map(_identity, self._own_files)} - {None}
        return any(place in own or _identity(place) in own for place in (path, *path.parents))

    def contains(self, path: Path) -> bool:
        """Tell whether a real path is one of the folders, or inside of one."""
        return any(path == folder or folder in path.parents for folder in self.folders)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file or folder lies at a path: systems that do not tell capitals apart have several paths for one."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _real(paths: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in paths))


def check_roots(folders: Sequence[Path]) -> tuple[Path, ...]:
    """The folders a person named, all of which must be there."""
    for folder in folders:
        if not folder.is_dir():
            raise not_a_folder(str(folder))
    return tuple(folder.absolute() for folder in folders)


def folders_from_uris(uris: Sequence[str]) -> list[Path]:
    """The folders that a client names by `file://` addresses; others are of no use here."""
    found = []
    for uri in uris:
        parts = urlsplit(uri)
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and "\0" not in unquote(parts.path):
            found.append(Path(url2pathname(parts.path)))
    return found
