"""An export's turn in a store that others save to: it waits for them, they wait for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memglot.errors import CannotWrite
from memglot.project.storage.lock import locked
from memglot.project.storage.vocabulary import CONFIG, INDEX
from memglot.settings import BUSY_SECONDS

JOURNAL = f"{INDEX}/journal"
"""Where a save notes what it is about to do, until it is done: among what is generated, where others do not look."""


@contextmanager
def turn_in(folder: Path, wait: float = BUSY_SECONDS) -> Iterator[None]:
    """Hold the lock of a `.memory` folder, if it is a store already. Raises `ProjectError`."""
    if not (folder / CONFIG).is_file() or folder.is_symlink():
        yield
        return
    with locked(folder, "save", wait):
        if os.path.lexists(folder / JOURNAL):
            raise CannotWrite(
                str(folder), "an interrupted save waits there; run `memglot repo status` in that repository first"
            )
        yield
