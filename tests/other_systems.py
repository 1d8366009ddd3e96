"""Simulate what differs on Windows: open files cannot be replaced, folders cannot be opened, and calls are missing."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MISSING = ("geteuid", "getuid", "getgid", "statvfs", "chown", "pathconf", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK")
"""Names in `os` that Windows does not have."""


def open_paths() -> set[str]:
    """Return the real paths of the files and folders that this process has open; needs Linux."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return found


def in_use(path: Any) -> PermissionError | None:
    """Return the error of Windows if a file, or a file in a folder, is open."""
    place = os.path.realpath(os.fspath(path))
    for opened in open_paths():
        if opened == place or opened.startswith(place + os.sep):
            return PermissionError(errno.EACCES, "the file is used by another process", str(path))
    return None


def _checked(call: Callable[..., Any], *places: int) -> Callable[..., Any]:
    """Return a call that fails if one of these arguments is the path of something open."""

    def changed(*arguments: Any, **options: Any) -> Any:
        for place in places:
            if os.path.lexists(arguments[place]) and (error := in_use(arguments[place])) is not None:
                raise error
        return call(*arguments, **options)

    return changed


def _without_folders(call: Callable[..., int]) -> Callable[..., int]:
    """Return `os.open` that fails for folders."""

    def changed(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "a folder cannot be opened", str(path))
        return call(path, flags, mode, dir_fd=dir_fd)

    return changed


def _rename(source: Any, target: Any) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "the file exists already", str(target))
    os.replace(source, target)


def simulate_windows(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Let this process behave as on Windows, as far as Linux can."""
    patch.setattr(os, "replace", _checked(os.replace, 0, 1))
    for name in ("unlink", "remove", "rmdir"):
        patch.setattr(os, name, _checked(getattr(os, name), 0))
    patch.setattr(os, "rename", _rename)
    patch.setattr(os, "open", _without_folders(os.open))
    patch.setattr(shutil, "_use_fd_functions", False)
    patch.setitem(sys.modules, "fcntl", None)
    for name in MISSING:
        patch.delattr(os, name, raising=False)
    patch.setattr(sys, "platform", "win32")
    patch.setenv("HOME", str(home))
    patch.setenv("APPDATA", str(home / "AppData" / "Roaming"))
    patch.setenv("LOCALAPPDATA", str(home / "AppData" / "Local"))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "MEMGLOT_STORE"):
        patch.delenv(name, raising=False)
