"""Limit the connections of the HTTP server, so that clients that send nothing, or slowly, do not lock others out."""

from __future__ import annotations

import asyncio
from typing import Any, Literal, NamedTuple, TypeAlias

from uvicorn.protocols.http.h11_impl import H11Protocol

_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_Phase: TypeAlias = Literal["headers", "body", "answer"]


class Limits(NamedTuple):
    """Limits of an HTTP server."""

    connections: int = 256
    header_seconds: float = 10.0
    """Maximum time from the start of a connection, or from the last answer, to the end of the headers of a request."""
    body_seconds: float = 60.0


class LimitedProtocol(H11Protocol):
    """One connection. If there are too many, the one that has waited longest for its client is closed."""

    def __init__(self, *args: Any, limits: Limits, waiting: dict[LimitedProtocol, None], **options: Any) -> None:
        super().__init__(*args, **options)
        self._limits = limits
        self._waiting = waiting
        """All connections whose client has not sent a complete request, longest waiting first."""
        self._phase: _Phase = "answer"
        self._cycle: object = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Add a connection, and close another one if there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            longest = next(iter(self._waiting), None)
            if longest is None:
                self.connections.discard(self)
                transport.write(_BUSY)
                transport.close()
                return
            longest.abort()
        self._update()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove a connection."""
        self._leave_phase()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        self._update()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._update()

    def abort(self) -> None:
        """Close the connection at once."""
        self._leave_phase()
        # It counts until the event loop calls `connection_lost`, which may be after other connections were made.
        self.connections.discard(self)
        self.transport.abort()

    def _update(self) -> None:
        """Start the timer of the phase that the connection is in now."""
        if self.cycle is None or self.cycle.response_complete:
            phase: _Phase = "headers"
        else:
            phase = "body" if self.cycle.more_body else "answer"
        if self.transport.is_closing() or (phase == self._phase and self.cycle is self._cycle):
            return
        self._leave_phase()
        self._phase, self._cycle = phase, self.cycle
        if phase != "answer":
            seconds = self._limits.header_seconds if phase == "headers" else self._limits.body_seconds
            self._timer = self.loop.call_later(seconds, self.abort)
            self._waiting[self] = None

    def _leave_phase(self) -> None:
        self._waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
