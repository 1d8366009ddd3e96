"""An export's turn in a store that others save to: it waits for them, they wait for it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from memglot.errors import CannotWrite
from memglot.errors.repo import lock_busy, unfinished_save
from memglot.formats._repo.text import local_time, stable_json
from memglot.formats._repo.words import CONFIG, FOLDER, INDEX, LOCK
from memglot.settings import BUSY_SECONDS, moment

JOURNAL = f"{INDEX}/journal"
"""Where a save notes what it is about to do, until it is done."""
_PAUSE = 0.02


@contextmanager
def turn_in(folder: Path, wait: float = BUSY_SECONDS) -> Iterator[None]:
    """Hold the lock of a `.memory` folder, if it is a store already. Raises `ProjectError` or `CannotWrite`.

    A lock is never broken here, since its owner may be on another machine; `memglot repo` knows when to.
    """
    if not (folder / CONFIG).is_file() or folder.is_symlink():
        yield
        return
    path, until = folder / LOCK, time.monotonic() + wait
    while not _claim(path):
        if time.monotonic() >= until:
            raise lock_busy(f"{FOLDER}/{LOCK}", _owner(path), wait)
        time.sleep(_PAUSE)
    try:
        if os.path.lexists(folder / JOURNAL):
            raise unfinished_save(str(folder))
        yield
    finally:
        path.unlink(missing_ok=True)


def _claim(path: Path) -> bool:
    owner = {"created_at": local_time(moment()), "operation": "save", "pid": os.getpid()}
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.write(stable_json(owner))
    except FileExistsError:
        return False
    except OSError as error:
        raise CannotWrite(str(path), (error.strerror or str(error)).lower()) from error
    return True


def _owner(path: Path) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
