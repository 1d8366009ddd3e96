"""The lock of the registry: `projects.lock`, which the real tool heeds too; one whose owner is dead is taken over."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from memglot.errors.repo import lock_busy
from memglot.formats._repo.text import local_time, stable_json
from memglot.settings import BUSY_SECONDS, moment

_FILE = "projects.lock"
_PAUSE = 0.02
_UNNAMED_SECONDS = 10.0
"""How old a lock without a name in it must be to count as left behind: who makes one names itself at once."""


@contextmanager
def registry_locked(home: Path, operation: str, wait: float = BUSY_SECONDS) -> Iterator[None]:
    """Hold the registry's lock; waits for a live owner. Raises `ProjectError` when it does not let go, or `OSError`."""
    path, until = home / _FILE, time.monotonic() + wait
    while not _claim(path, operation):
        if _is_left(path):
            _clear(path)
        elif time.monotonic() >= until:
            raise lock_busy(str(path), _owner(path), wait)
        else:
            time.sleep(_PAUSE)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _claim(path: Path, operation: str) -> bool:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with open(handle, "wb") as out:
        out.write(stable_json({"created_at": local_time(moment()), "operation": operation, "pid": os.getpid()}))
    return True


def _is_left(path: Path) -> bool:
    """Tell whether whoever made a lock is gone."""
    owner = _owner(path)
    pid = owner.get("pid") if owner else None
    if isinstance(pid, int) and pid > 0:
        return not _is_alive(pid)
    try:
        return time.time() - path.stat().st_mtime >= _UNNAMED_SECONDS
    except OSError:
        return False


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # Signal 0 would end the process there; such a lock is waited for, and named.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _clear(path: Path) -> None:
    """Remove a lock that was left. One at a time, and with a second look: another may have cleared it and locked."""
    if sys.platform == "win32":
        path.unlink(missing_ok=True)
        return
    import fcntl

    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if _is_left(path):
            path.unlink(missing_ok=True)
    finally:
        os.close(folder)


def _owner(path: Path) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
