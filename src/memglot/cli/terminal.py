"""Standard output and error on a terminal: control characters in stored text are shown, not obeyed.

All text and data of the command line pass through here, whoever prints them. Files and pipes get every byte as it is.
"""

from __future__ import annotations

import codecs
import io
import os
from typing import TYPE_CHECKING, TextIO

from memglot.display import visible

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def safe_stream(stream: TextIO) -> TextIO:
    """Return a stream whose text and `buffer` are shown escaped if it is a terminal; else the stream itself."""
    if not stream.isatty() or isinstance(getattr(stream, "buffer", None), _Terminal):
        return stream
    return io.TextIOWrapper(
        _Terminal(stream), encoding="utf-8", errors="backslashreplace", newline="", line_buffering=True
    )


def unsafe_stream(stream: TextIO) -> TextIO:
    """Return the terminal behind a safe stream, for a progress bar that moves the cursor."""
    buffer = getattr(stream, "buffer", None)
    return buffer.terminal if isinstance(buffer, _Terminal) else stream


def buffered_stream(stream: TextIO) -> TextIO:
    """Return a stream that writes everything or fails. Without a buffer (`python -u`), a full disk may cut text off."""
    raw = getattr(stream, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        return stream
    # Named by its descriptor, because the stream that Python made closes its file at the end.
    return open(raw.fileno(), "w", encoding=stream.encoding, errors=stream.errors, buffering=1, closefd=False)


class _Terminal(io.BufferedIOBase):
    """A terminal that gets UTF-8, escaped by `visible`."""

    def __init__(self, terminal: TextIO) -> None:
        if isinstance(terminal, io.TextIOWrapper):
            # A terminal may have another encoding than UTF-8.
            terminal.reconfigure(errors="backslashreplace")
        self.terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._held = ""

    @property
    def name(self) -> str:
        """The name of the terminal's stream, such as `<stdout>`."""
        return self.terminal.name

    def write(self, data: ReadableBuffer) -> int:
        """Write UTF-8; a character may be split between calls."""
        content = bytes(data)
        text = self._held + self._decoder.decode(content)
        # Only the next call shows whether this is half of a line end.
        self._held = "\r" if text.endswith("\r") else ""
        self.terminal.write(visible(text.removesuffix("\r")))
        return len(content)

    def flush(self) -> None:
        """Show everything that was written."""
        self.terminal.write(visible(self._held))
        self._held = ""
        self.terminal.flush()

    def writable(self) -> bool:
        """Return True."""
        return True

    def isatty(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the file descriptor, but not on Windows: click would write to the console directly."""
        if os.name == "nt":
            raise io.UnsupportedOperation("fileno")
        return self.terminal.fileno()
