"""The folders that a server may read files from and write files to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from memglot.errors.mcp import bad_path, no_folder, outside_roots


class Roots:
    """Allowed folders, with all links in their paths resolved."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(dict.fromkeys(Path(os.path.realpath(folder)) for folder in folders))

    @property
    def names(self) -> list[str]:
        """The folders as text."""
        return [str(folder) for folder in self.folders]

    def place(self, path: str) -> Path:
        """The real place of a path, where no link is left; raises `UsageError` for one outside of all roots.

        A relative path is taken from the first root.
        """
        try:
            found = Path(os.path.realpath(self.folders[0] / Path(path).expanduser()))
        except (ValueError, OSError, RuntimeError) as error:
            raise bad_path(path, str(error)) from None
        if not self.has(found):
            raise outside_roots(path, self.names)
        return found

    def has(self, path: Path) -> bool:
        """Tell whether a real path is one of the folders, or inside of one."""
        return any(path == folder or folder in path.parents for folder in self.folders)


def check_roots(folders: Sequence[Path]) -> tuple[Path, ...]:
    """The folders a person named, all of which must be there."""
    for folder in folders:
        if not folder.is_dir():
            raise no_folder(str(folder))
    return tuple(folder.absolute() for folder in folders)


def folders_of(uris: Sequence[str]) -> list[Path]:
    """The folders that a client names by `file://` addresses; others are of no use here."""
    found = []
    for uri in uris:
        parts = urlsplit(uri)
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and "\0" not in unquote(parts.path):
            found.append(Path(url2pathname(parts.path)))
    return found
