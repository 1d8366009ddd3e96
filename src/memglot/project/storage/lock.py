"""The lock of a store, and of the registry: one writer at a time, memglot or the original tool.

The error of a busy lock names its owner.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from memglot.errors import CannotWrite
from memglot.files import create_file, remove_abandoned, temporary_file
from memglot.project.storage.errors import ProjectError, cannot_write
from memglot.project.storage.hashes import local_time, stable_json
from memglot.project.storage.paths import CONFIG, FOLDER, JOURNAL, LOCK
from memglot.settings import BUSY_SECONDS, export_time

_PAUSE = 0.02
_CLOCK_SECONDS = 2.0
"""Maximum difference between the clocks of processes and of files."""
_UNNAMED_SECONDS = 10.0
"""Age at which a lock without an owner counts as abandoned: writers name themselves at once."""


@contextmanager
def locked(folder: Path, operation: str, wait: float = BUSY_SECONDS, name: str = LOCK) -> Iterator[None]:
    """Hold the lock of a folder: wait for a live owner, and take over from a dead one. Raise `ProjectError`.

    The original tool looks only at the lock file, and never removes it. Before that, a lock on the folder itself, which
    the system releases when a process ends, makes sure that only one process decides whether an owner is dead.
    """
    until = time.monotonic() + wait
    path = folder / name
    shown = f"{FOLDER}/{LOCK}" if name == LOCK else str(path)
    with _folder_lock(folder, path, shown, until, wait):
        while not _claim(path, shown, operation):
            _pause(path, shown, until, wait)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def exclusive(folder: Path, wait: float = BUSY_SECONDS) -> Iterator[None]:
    """Hold the lock of a `.memory` folder during an export, if the folder is a store already.

    Raise `ProjectError` if the lock is busy, and `CannotWrite` if an interrupted save is unfinished.
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
def _folder_lock(folder: Path, path: Path, shown: str, until: float, wait: float) -> Iterator[None]:
    if sys.platform == "win32":
        yield  # Folders cannot be locked there; the user has to remove the lock of a dead owner.
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
                break  # Some network file systems cannot lock folders; the lock file alone must do.
        yield
    finally:
        os.close(handle)


def _claim(path: Path, shown: str, operation: str) -> bool:
    """Create the lock file and return True, or False if there is one; remove that of a dead owner first."""
    owner = {"created_at": local_time(export_time()), "operation": operation, "pid": os.getpid()}
    try:
        if path.exists() and is_abandoned(path):
            path.unlink(missing_ok=True)
        _create(path, stable_json(owner))
    except FileExistsError:
        return False
    except OSError as error:
        raise cannot_write(shown, (error.strerror or str(error)).lower()) from error
    return True


def _create(path: Path, content: bytes) -> None:
    """Create a lock file that names its owner from the start, so that one of a killed process is recognized."""
    remove_abandoned(path.parent)
    with temporary_file(path.parent) as out:
        try:
            out.write(content)
            out.flush()
            os.link(out.name, path)
            return
        except OSError as error:
            # Some file systems have no links.
            if error.errno not in (errno.EPERM, errno.ENOSYS, errno.ENOTSUP):
                raise
        finally:
            os.unlink(out.name)
    with create_file(path) as out:
        out.write(content)


def is_abandoned(path: Path) -> bool:
    """Return True if there is a lock file whose owner is dead."""
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
        return True  # Signal 0 would end the process there.
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    # Another program may have the number now: one that started after the lock was made never held it.
    started = _start_of(pid)
    try:
        return started is None or started <= path.stat().st_mtime + _CLOCK_SECONDS
    except OSError:
        return True


def _start_of(pid: int) -> float | None:
    """Return when a process started, in seconds; None if the system does not say."""
    try:
        # The name in brackets may contain anything; the 20th field after it is the start, in ticks since boot.
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
    """Return the error for a lock that another program holds."""
    who = "an unknown program"
    if owner:
        who = f"process {owner.get('pid')} ({owner.get('operation')}, since {owner.get('created_at')})"
    message = (
        f"Project memory is locked by {who}; waited {seconds:g} seconds. Try again, or remove `{path}` if that "
        "program is gone."
    )
    return ProjectError("MemoryLockBusy", message, {"path": path, "lock": owner})
