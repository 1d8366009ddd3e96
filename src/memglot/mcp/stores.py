"""The open stores of a server: each is used by one call at a time, and readers never wait for writers."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from memglot.errors import MemglotError, NoStore, StoreError
from memglot.mcp.config import Serving
from memglot.memory import Memory
from memglot.settings import IDLE_SECONDS, store_url

_IN_MEMORY = ":memory:"
_KEPT = 4
"""So many idle stores of a kind stay open: each may hold the vectors of all memories."""


class _Idle(NamedTuple):
    """An open store that nobody uses, which file it is, and since when."""

    memory: Memory
    file: int
    since: float


class Stores:
    """Lends open stores to calls. A store for reading has a connection of its own, so it waits for nobody.

    One that is not asked for is closed after a while: only where no process has it open can it be restored.
    """

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._idle: dict[bool, list[_Idle]] = {False: [], True: []}
        self._lock = threading.Lock()
        self.url = serving.store or store_url()
        # One that lives in memory is there only once, so calls take turns, and it is never closed.
        self._turn = threading.Lock() if self.url == _IN_MEMORY else None
        self._only: Memory | None = None
        self._closed = False
        self._clock: threading.Timer | None = None

    @contextmanager
    def lend(self, *, write: bool) -> Iterator[Memory]:
        """A store that nobody else uses meanwhile; it comes back unless something is wrong with it."""
        if self._turn is None:
            with self._lend(write) as memory:
                yield memory
            return
        with self._turn:
            self._only = self._only or self._opened(True)[0]
            if not self._only.store.is_resting:
                # What was left in the middle of something lets go when it is collected.
                gc.collect()
            yield self._only

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
                memory, file, _ = self._idle[write].pop()
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
                self._idle[write].append(_Idle(memory, file, time.monotonic()))
                self._watch(IDLE_SECONDS)
                return
        memory.close()

    def _watch(self, seconds: float) -> None:
        """Look after a while for stores to let go of."""
        if self._clock is None:
            self._clock = threading.Timer(seconds, self._let_go)
            self._clock.daemon = True
            self._clock.start()

    def _let_go(self) -> None:
        """Close the stores that nobody has asked for of late."""
        gone: list[_Idle] = []
        with self._lock:
            self._clock = None
            now = time.monotonic()
            for write, idle in self._idle.items():
                gone += [one for one in idle if now - one.since >= IDLE_SECONDS]
                self._idle[write] = [one for one in idle if now - one.since < IDLE_SECONDS]
            if kept := [one.since for idle in self._idle.values() for one in idle]:
                self._watch(min(kept) + IDLE_SECONDS - now)
        # The last to close a store also takes in its log, which can take a while.
        for one in gone:
            one.memory.close()

    def close(self) -> None:
        """Close all that are idle; those that are lent are closed when they come back."""
        with self._lock:
            self._closed = True
            if self._clock is not None:
                self._clock.cancel()
            idle = [one.memory for kind in self._idle.values() for one in kind]
            self._idle = {False: [], True: []}
            idle += [self._only] if self._only is not None else []
        for memory in idle:
            memory.close()


def _file_at(url: str) -> int:
    """Which file lies at a path."""
    try:
        return os.stat(url).st_ino
    except OSError:
        return 0
