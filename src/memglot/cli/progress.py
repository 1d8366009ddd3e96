"""A progress bar that appears only when an operation takes long."""

from __future__ import annotations

import sys
import time
from shutil import get_terminal_size
from typing import TYPE_CHECKING, NoReturn

from memglot.cli.terminal import unsafe_stream
from memglot.display import visible
from memglot.report import Progress

if TYPE_CHECKING:
    from tqdm import tqdm

_DELAY = 1.0


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
        text = f"{what}: {count} memories"
        if self._bar is None:
            if time.monotonic() - self._start < _DELAY:
                return
            self._bar = _make_bar(text, total)
        self._bar.total = total
        self._bar.bar_format = _format(total)
        self._bar.set_description_str(text, refresh=False)
        self._bar.update(done - self._bar.n)


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
