"""A progress bar that appears only when an operation takes long."""

from __future__ import annotations

import sys
import time
from shutil import get_terminal_size
from threading import Event, Thread
from typing import TYPE_CHECKING, NoReturn

from memglot.cli.terminal import unsafe_stream
from memglot.display import visible
from memglot.report import Progress

if TYPE_CHECKING:
    from tqdm import tqdm

_DELAY = 1.0
_INTERVAL = 0.25


class Bar:
    """Show the progress of an operation that takes longer than a second."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()
        self._bar: tqdm[NoReturn] | None = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, progress: Progress) -> None:
        """Update the bar."""
        position = progress.position
        self._update(
            visible(f"{self._what} {progress.source}"),
            done=position.consumed if position is not None else progress.written,
            total=position.size if position is not None else None,
            count=f"{max(progress.read, progress.written):,}",
        )

    def count(self, done: int, total: int) -> None:
        """Update the bar: `done` of `total` items are finished."""
        self._update(self._what, done=done, total=total, count=f"{done:,} of {total:,}")

    def _update(self, what: str, *, done: int, total: int | None, count: str) -> None:
        self._draw(f"{what}: {count} memories", done=done, total=total)

    def _draw(self, text: str, *, done: int, total: int | None) -> None:
        if self._bar is None:
            if time.monotonic() - self._start < _DELAY:
                return
            self._bar = _make_bar(text, total)
        self._bar.total = total
        self._bar.bar_format = _format(total)
        self._bar.set_description_str(text, refresh=False)
        self._bar.update(done - self._bar.n)


class Clock(Bar):
    """Show for how long work goes on that does not say how far it is, such as one statement of SQLite."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self._is_done = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Clock:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_done.set()
        self._thread.join()
        super().__exit__(*error)

    def _run(self) -> None:
        while not self._is_done.wait(_INTERVAL):
            self._draw(self._what, done=0, total=None)


def _make_bar(text: str, total: int | None) -> tqdm[NoReturn]:
    """Return a bar on standard error that is removed at the end."""
    from tqdm import tqdm

    # A bar needs no thread that watches it.
    tqdm.monitor_interval = 0
    width = get_terminal_size().columns
    return tqdm(
        desc=text,
        total=total,
        bar_format=_format(total),
        file=unsafe_stream(sys.stderr),
        leave=False,
        ncols=width,
    )


def _format(total: int | None) -> str:
    return "{desc} {percentage:3.0f}%|{bar}| {remaining} left" if total else "{desc} {elapsed}"
