"""A progress bar that appears only when an operation takes long."""

from __future__ import annotations

import sys
import time
from typing import Any

from memglot.cli.terminal import unsafe_stream
from memglot.display import visible
from memglot.report import Progress

_DELAY = 1.0


class Bar:
    """Show the progress of an operation that takes longer than a second."""

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
        """Update the bar."""
        if not self._is_visible():
            return
        position = progress.position
        total = position.size if position is not None else None
        done = position.consumed if position is not None else progress.written
        self._progress.update(
            self._task,
            total=total,
            completed=done,
            description=visible(f"{self._what} {progress.source}"),
            count=f"{max(progress.read, progress.written):,}",
        )

    def count(self, done: int, total: int) -> None:
        """Update the bar: `done` of `total` items are finished."""
        if self._is_visible():
            self._progress.update(self._task, total=total, completed=done, count=f"{done:,} of {total:,}")

    def _is_visible(self) -> bool:
        if self._progress is None and time.monotonic() - self._start >= _DELAY:
            self._start_bar()
        return self._progress is not None

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[count]} memories"),
            TimeRemainingColumn(),
            console=Console(file=unsafe_stream(sys.stderr)),
            transient=True,
            # What others print must not pass through rich, which obeys escape sequences.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task(self._what, total=None, count="0")
        self._progress.start()
