"""File names: those that are safe on every system, and those that the file system of a folder can hold."""

from __future__ import annotations

import os
import re
import tempfile
import unicodedata
from pathlib import Path

from memglot.files import temporary_folder

_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]')
# Windows ignores spaces at the end of these, and takes superscripts for digits.
_RESERVED = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]) *(?:\..*)?",
    re.IGNORECASE,
)
_NOT_ON_WINDOWS = re.compile(r'[<>:"\\|?*\x00-\x1f]')
_MAX_BYTES = 120
_TEMPORARY_BYTES = 32
"""Length of the temporary names that replace notes."""
_MAX_DEPTH = 200


def safe_name(text: str) -> str:
    """Return a file or folder name for a text: visible, without separators, and not reserved by Windows."""
    name = _UNSAFE.sub("_", text).lstrip(".").encode("utf-8")[:_MAX_BYTES].decode("utf-8", "ignore")
    name = name.rstrip(". ") or "_"
    return f"_{name}" if _RESERVED.fullmatch(name) else name


def safe_path(path: str) -> str:
    """Return a path like the given one whose names are safe on every system; the extension stays."""
    folder, _, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    parts = [safe_name(part) for part in folder.split("/")] if folder else []
    return "/".join([*parts, f"{safe_name(stem)}{dot}{extension}"])


def folded_path(path: str) -> str:
    """Return what two paths have in common if some system takes them for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


class FileSystem:
    """What the file system of a folder can hold; tried out with temporary files."""

    def __init__(self, folder: Path) -> None:
        place = folder.resolve()
        while not place.is_dir():
            place = place.parent
        self._is_exact, has_any_names = _try_names(place)
        self._has_windows_names = os.name == "nt" or not has_any_names
        self._max_bytes = _limit(place, "PC_NAME_MAX", 255)
        longest = _limit(place, "PC_PATH_MAX", 259 if os.name == "nt" else 1024)
        self._max_path = longest - len(os.fsencode(folder.absolute())) - _TEMPORARY_BYTES - 2

    def key(self, path: str) -> str:
        """Return what is equal for two paths of the same file."""
        return path if self._is_exact else folded_path(path)

    def can_hold(self, path: str) -> bool:
        """Return True if a path stays in its folder, is not hidden, and is valid on this system."""
        parts = path.split("/")
        encoded = path.encode("utf-8", "surrogatepass")
        if "\0" in path or len(parts) > _MAX_DEPTH or len(encoded) > self._max_path:
            return False
        if self._has_windows_names and not all(map(_is_valid_on_windows, parts)):
            return False
        return all(part and not part.startswith(".") and len(part.encode()) <= self._max_bytes for part in parts)


def _is_valid_on_windows(name: str) -> bool:
    return not (_NOT_ON_WINDOWS.search(name) or _RESERVED.fullmatch(name) or name.endswith((".", " ")))


def _try_names(place: Path) -> tuple[bool, bool]:
    """Return whether names that differ are different files there, and whether files can have names with any character.

    The names are tried in a temporary folder, which others remove if this process is killed.
    """
    try:
        with temporary_folder(place) as folder:
            return _tells_apart(folder), _can_hold(folder, '.memglot-\\:*?"<>|\t', ". ")
    except OSError:
        return False, False


def _tells_apart(folder: Path) -> bool:
    """Return True if two names differ if their case, or their Unicode normalization, differs."""
    try:
        with tempfile.NamedTemporaryFile(prefix=".mEmGlOt-\u00e9", dir=folder) as file:
            name = os.path.basename(file.name)
            others = (name.swapcase(), unicodedata.normalize("NFD", name))
            return not any(os.path.lexists(os.path.join(folder, other)) for other in others)
    except OSError:
        return False


def _can_hold(folder: Path, prefix: str, suffix: str) -> bool:
    """Return True if a file can have such a name."""
    try:
        with tempfile.NamedTemporaryFile(prefix=prefix, suffix=suffix, dir=folder):
            return True
    except (OSError, ValueError):
        return False


def _limit(folder: Path, name: str, default: int) -> int:
    try:
        found = os.pathconf(folder, name)
    except (AttributeError, OSError, ValueError):
        return default
    return found if found > 0 else default
