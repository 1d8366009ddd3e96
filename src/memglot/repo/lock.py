"""The lock of a store: one writer at a time, ours or the real tool's; who waits says for whom in the end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from memglot.errors.repo import cannot_write, lock_busy
from memglot.formats._repo.text import local_time, stable_json
from memglot.formats._repo.words import FOLDER, INDEX, LOCK
from memglot.settings import BUSY_SECONDS, moment

_PAUSE = 0.02
_UNNAMED_SECONDS = 10.0
"""How old a lock without an owner's name must be to count as left behind: its writer names itself at once."""


@contextmanager
def locked(folder: Path, operation: str, wait: float = BUSY_SECONDS) -> Iterator[None]:
    """Hold the lock of a `.memory` folder. Waits for a live owner, and takes over from a dead one.

    `.lock` is what the real tool looks at, and never breaks. A handle that the system lets go of when its process
    ends stands before it, so that of several of us only one ever judges whether its owner is dead.
    """
    until = time.monotonic() + wait
    path = folder / LOCK
    try:
        (folder / INDEX).mkdir(parents=True, exist_ok=True)
        gate = open(folder / INDEX / "gate", "ab")  # closing it opens the gate
    except OSError as error:
        raise cannot_write(FOLDER, (error.strerror or str(error)).lower()) from error
    with gate:
        while not _shut(gate.fileno()):
            _pause(path, until, wait)
        while not _claim(path, operation):
            _pause(path, until, wait)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _claim(path: Path, operation: str) -> bool:
    """Make the lock file; tell whether that was possible. A dead owner's is cleared away first."""
    if path.exists() and not _is_held(path):
        path.unlink(missing_ok=True)
    owner = {"created_at": local_time(moment()), "operation": operation, "pid": os.getpid()}
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        raise cannot_write(f"{FOLDER}/{LOCK}", (error.strerror or str(error)).lower()) from error
    with open(handle, "wb") as out:
        out.write(stable_json(owner))
    return True


def _is_held(path: Path) -> bool:
    owner = _owner(path)
    if owner is None:
        try:
            return time.time() - path.stat().st_mtime < _UNNAMED_SECONDS
        except OSError:
            return False
    pid = owner.get("pid")
    return isinstance(pid, int) and pid > 0 and _is_alive(pid, path)


def _is_alive(pid: int, path: Path) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    # Another program may have got the number since: one that began after the lock was made never held it.
    try:
        began = Path(f"/proc/{pid}").stat().st_ctime
        return began <= path.stat().st_mtime + 1
    except OSError:
        return True


def _owner(path: Path) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _pause(path: Path, until: float, wait: float) -> None:
    if time.monotonic() >= until:
        raise lock_busy(f"{FOLDER}/{LOCK}", _owner(path), wait)
    time.sleep(_PAUSE)


def _shut(handle: int) -> bool:
    """Take hold of the gate; tell whether nobody else has it."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
