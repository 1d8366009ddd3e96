"""A progress bar that appears only when there is something to wait for."""

from __future__ import annotations

import time
from typing import Any

from memglot.report import Progress

_PATIENCE = 1.0


class Bar:
    """Shows how far a deed has come, once it has taken longer than a second."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()
        self._progress: Any = None
        self._task: Any = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, progress: Progress) -> None:
        """Move on."""
        if not self._is_shown():
            return
        position = progress.position
        total = position.size if position is not None else None
        done = position.consumed if position is not None else progress.written
        self._progress.update(
            self._task,
            total=total,
            completed=done,
            description=f"{self._what} {progress.source}",
            count=f"{max(progress.read, progress.written):,}",
        )

    def count(self, done: int, total: int) -> None:
        """Move on to so many done of so many."""
        if self._is_shown():
            self._progress.update(self._task, total=total, completed=done, count=f"{done:,} of {total:,}")

    def _is_shown(self) -> bool:
        if self._progress is None and time.monotonic() - self._start >= _PATIENCE:
            self._begin()
        return self._progress is not None

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]} memories"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(self._what, total=None, count="0")
        self._progress.start()
