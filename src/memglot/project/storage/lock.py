"""The lock of a store, and of the registry: one writer at a time, ours or the real tool's.

Whoever waits in vain is told for whom.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from memglot.errors import CannotWrite
from memglot.project.storage.errors import ProjectError, cannot_write
from memglot.project.storage.hashes import local_time, stable_json
from memglot.project.storage.paths import CONFIG, FOLDER, JOURNAL, LOCK
from memglot.settings import BUSY_SECONDS, export_time

_PAUSE = 0.02
_CLOCK_SECONDS = 2.0
"""How far the clocks of the system's processes and of its files may lie apart."""
_UNNAMED_SECONDS = 10.0
"""How old a lock without an owner's name must be to count as left behind: its writer names itself at once."""


@contextmanager
def locked(folder: Path, operation: str, wait: float = BUSY_SECONDS, name: str = LOCK) -> Iterator[None]:
    """Hold the lock of a folder. Waits for a live owner, and takes over from a dead one. Raises `ProjectError`.

    The lock file is what the real tool looks at, and never breaks. A hold on the folder itself, which the system lets
    go of when its process ends, stands before it, so that of several of us only one judges whether an owner is dead.
    """
    until = time.monotonic() + wait
    path = folder / name
    shown = f"{FOLDER}/{LOCK}" if name == LOCK else str(path)
    with _held(folder, path, shown, until, wait):
        while not _claim(path, shown, operation):
            _pause(path, shown, until, wait)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def exclusive(folder: Path, wait: float = BUSY_SECONDS) -> Iterator[None]:
    """Hold the lock of a `.memory` folder during an export, if the folder is a store already.

    Raises `ProjectError` if the lock is busy, and `CannotWrite` if an interrupted save is unfinished.
    """
    if not (folder / CONFIG).is_file() or folder.is_symlink():
        yield
        return
    with locked(folder, "save", wait):
        if os.path.lexists(folder / JOURNAL):
            raise CannotWrite(
                str(folder), "an interrupted save is not finished; run `memglot repo status` in that repository first"
            )
        yield


@contextmanager
def _held(folder: Path, path: Path, shown: str, until: float, wait: float) -> Iterator[None]:
    if sys.platform == "win32":
        yield  # No folder can be held there; a dead owner's lock is named, and left to the user.
        return
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise cannot_write(shown, (error.strerror or str(error)).lower()) from error
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                _pause(path, shown, until, wait)
            except OSError:
                break  # Some network file systems hold no folders; the lock file alone must do there.
        yield
    finally:
        os.close(handle)


def _claim(path: Path, shown: str, operation: str) -> bool:
    """Make the lock file; tell whether that was possible. A dead owner's is cleared away first."""
    owner = {"created_at": local_time(export_time()), "operation": operation, "pid": os.getpid()}
    try:
        if path.exists() and _is_left(path):
            path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        raise cannot_write(shown, (error.strerror or str(error)).lower()) from error
    try:
        with open(handle, "wb") as out:
            out.write(stable_json(owner))
    except OSError as error:
        path.unlink(missing_ok=True)
        raise cannot_write(shown, (error.strerror or str(error)).lower()) from error
    return True


def _is_left(path: Path) -> bool:
    """Tell whether whoever made a lock is gone."""
    owner = _owner(path)
    pid = owner.get("pid") if owner else None
    if isinstance(pid, int) and not isinstance(pid, bool) and pid > 0:
        return not _is_alive(pid, path)
    try:
        return time.time() - path.stat().st_mtime >= _UNNAMED_SECONDS
    except OSError:
        return False


def _is_alive(pid: int, path: Path) -> bool:
    if sys.platform == "win32":
        return True  # Signal 0 would disturb the process there.
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    # Another program may have got the number since: one that began after the lock was made never held it.
    began = _began(pid)
    try:
        return began is None or began <= path.stat().st_mtime + _CLOCK_SECONDS
    except OSError:
        return True


def _began(pid: int) -> float | None:
    """When a process began, in seconds; `None` where the system does not tell."""
    try:
        # The name in brackets may hold anything; the 20th field behind it is the start, in ticks since the boot.
        ticks = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
        boot = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime "))
        return int(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _owner(path: Path) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _pause(path: Path, shown: str, until: float, wait: float) -> None:
    if time.monotonic() >= until:
        raise _lock_busy(shown, _owner(path), wait)
    time.sleep(_PAUSE)


def _lock_busy(path: str, owner: dict[str, Any] | None, seconds: float) -> ProjectError:
    """Another program holds the lock, and did not let go of it."""
    who = "a program that left no name"
    if owner:
        who = f"process {owner.get('pid')} ({owner.get('operation')}, since {owner.get('created_at')})"
    message = (
        f"Project memory is locked by {who}; waited {seconds:g} seconds. Try again, or remove `{path}` if that "
        "program is gone."
    )
    return ProjectError("MemoryLockBusy", message, {"path": path, "lock": owner})
