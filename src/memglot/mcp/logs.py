"""What a server writes to standard error: a limited number of short messages."""

from __future__ import annotations

import logging
import time
from typing import TextIO

_MAX_RECORDS = 20
"""Maximum number of messages in each period."""
_PERIOD_SECONDS = 60.0
_MAX_LENGTH = 4_000


def limit_logs() -> None:
    """Write warnings of all modules to standard error, within limits that no client can exceed."""
    root = logging.getLogger()
    if not any(isinstance(handler, LimitedHandler) for handler in root.handlers):
        root.addHandler(LimitedHandler())


class LimitedHandler(logging.StreamHandler[TextIO]):
    """Write at most `_MAX_RECORDS` messages a minute, each shortened, and then how many were left out."""

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(stream)
        self.setLevel(logging.WARNING)
        self._since = time.monotonic()
        self._written = self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message, unless too many were written recently."""
        if time.monotonic() - self._since >= _PERIOD_SECONDS:
            self._since, self._written = time.monotonic(), 0
        self._written += 1
        if self._written > _MAX_RECORDS:
            self._left_out += 1
            return
        super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        """Return a message with the end of its traceback, which says what failed."""
        text = super().format(record)
        if len(text) > _MAX_LENGTH:
            text = f"{text[: _MAX_LENGTH // 4]}\n…\n{text[-_MAX_LENGTH * 3 // 4 :]}"
        if self._left_out:
            text = f"left out {self._left_out:,} messages\n{text}"
            self._left_out = 0
        return text
