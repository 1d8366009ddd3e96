"""The open stores of a server: each is used by one call at a time, and readers never wait for writers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from memglot.engine.memory import Memory
from memglot.errors import MemglotError, NoStore, StoreError
from memglot.mcp.serving import Serving
from memglot.settings import store_url

_IN_MEMORY = ":memory:"
_KEPT = 4
"""So many idle stores of a kind stay open: each may hold the vectors of all memories."""


class Stores:
    """Lends open stores to calls. A store for reading has a connection of its own, so it waits for nobody."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._idle: dict[bool, list[tuple[Memory, int]]] = {False: [], True: []}
        self._lock = threading.Lock()
        # One that lives in memory is there only once, so calls take turns.
        self._turn = threading.Lock() if (serving.store or store_url()) == _IN_MEMORY else None
        self._closed = False

    @contextmanager
    def lend(self, *, write: bool) -> Iterator[Memory]:
        """A store that nobody else uses meanwhile; it comes back unless something is wrong with it."""
        if self._turn is None:
            with self._lend(write) as memory:
                yield memory
            return
        with self._turn, self._lend(True) as memory:
            yield memory

    @contextmanager
    def _lend(self, write: bool) -> Iterator[Memory]:
        memory, file = self._taken(write) or self._opened(write)
        try:
            yield memory
        except MemglotError as error:
            self._back(write, memory, file) if not isinstance(error, StoreError) else memory.close()
            raise
        except BaseException:
            memory.close()
            raise
        self._back(write, memory, file)

    def _taken(self, write: bool) -> tuple[Memory, int] | None:
        with self._lock:
            while self._idle[write]:
                memory, file = self._idle[write].pop()
                if file == _file_at(memory.store.url):
                    return memory, file
                # Another file was put in its place, by `memglot restore`, say.
                memory.close()
        return None

    def _opened(self, write: bool) -> tuple[Memory, int]:
        serving = self._serving
        try:
            memory = Memory.open(serving.store, write=write, sensitive=serving.allow_sensitive)
        except NoStore:
            if serving.read_only:
                raise
            # An agent may look before anybody has kept anything.
            Memory.open(serving.store).close()
            memory = Memory.open(serving.store, write=write, sensitive=serving.allow_sensitive)
        return memory, _file_at(memory.store.url)

    def _back(self, write: bool, memory: Memory, file: int) -> None:
        with self._lock:
            # One that was left in the middle of something would show that moment for ever.
            if not self._closed and len(self._idle[write]) < _KEPT and memory.store.is_resting:
                self._idle[write].append((memory, file))
                return
        memory.close()

    def close(self) -> None:
        """Close all that are idle; those that are lent are closed when they come back."""
        with self._lock:
            self._closed = True
            idle = [memory for kind in self._idle.values() for memory, _ in kind]
            self._idle = {False: [], True: []}
        for memory in idle:
            memory.close()


def _file_at(url: str) -> int:
    """Which file lies at a path."""
    try:
        return os.stat(url).st_ino
    except OSError:
        return 0
