"""Text for eyes: colours on a terminal, its width, ages, and a pager for long lists."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TextIO

from memglot.cli.terminal import unsafe_stream
from memglot.display import visible
from memglot.model import format_time, now
from memglot.settings import colours_wanted, pager
from memglot.text.highlight import Span

_WIDTH = 100
"""Width of lines in files and pipes, and the most that is used of a terminal."""
_RESET = "\x1b[0m"
_CODES = {"id": "\x1b[33m", "title": "\x1b[1m", "match": "\x1b[1;31m", "about": "\x1b[2m"}
_UNITS = (("year", 31_557_600), ("month", 2_629_800), ("week", 604_800), ("day", 86_400), ("hour", 3_600), ("min", 60))
MAX_TAGS = 3


class Style:
    """How text is shown on standard output. All stored text passes through it, and is escaped."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.is_terminal = self.stream.isatty()
        self.has_colours = self.is_terminal and colours_wanted()
        self.width = min(shutil.get_terminal_size((_WIDTH, 24)).columns, _WIDTH) if self.is_terminal else _WIDTH

    def paint(self, text: str, name: str) -> str:
        """Return a text in the colour of a part, such as `title`; without colours, the text itself."""
        shown = visible(text)
        return f"{_CODES[name]}{shown}{_RESET}" if self.has_colours and shown else shown

    def highlight(self, line: str, spans: Iterable[Span]) -> str:
        """Return a line with its matches in colour."""
        parts, at = [], 0
        for start, end in spans if self.has_colours else ():
            parts += [visible(line[at:start]), self.paint(line[start:end], "match")]
            at = end
        return "".join([*parts, visible(line[at:])])

    def age(self, at: int) -> str:
        """Return how long ago a time was, in a file or a pipe its date."""
        return age(now() - at) if self.is_terminal else format_time(at)[:10]

    def tags(self, tags: list[str]) -> str:
        """Return the first tags, and how many more there are."""
        shown = [f"#{tag}" for tag in tags[:MAX_TAGS]]
        return " ".join([*shown, *([f"+{len(tags) - MAX_TAGS}"] if len(tags) > MAX_TAGS else [])])

    def show(self, lines: Iterable[str]) -> None:
        """Print lines that this style made; on a terminal, through a pager if they do not fit."""
        lines = iter(lines)
        if not self.is_terminal:
            for line in lines:
                self.stream.write(line + "\n")
            return
        target = unsafe_stream(self.stream)
        rows = shutil.get_terminal_size().lines - 1
        first = list(islice(lines, rows))
        command = pager() if len(first) == rows else None
        if command is None or not _page(command, chain(first, lines)):
            for line in chain(first, lines):
                target.write(line + "\n")


def age(microseconds: int) -> str:
    """Return a length of time as people say it: `2 hours ago`."""
    seconds = microseconds // 1_000_000
    for name, length in _UNITS:
        if seconds >= length:
            count = seconds // length
            return f"{count} {name}{'s' if count > 1 and name != 'min' else ''} ago"
    return "just now" if seconds >= 0 else "in the future"


def _page(command: str, lines: Iterator[str]) -> bool:
    """Show lines in a pager; return False if it cannot be started."""
    try:
        process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, text=True, encoding="utf-8")
    except (OSError, ValueError):
        return False
    assert process.stdin is not None
    try:
        with process.stdin:
            for line in lines:
                process.stdin.write(line + "\n")
    except BrokenPipeError:
        # The reader has seen enough.
        pass
    except KeyboardInterrupt:
        # The pager handles it.
        pass
    process.wait()
    return True
