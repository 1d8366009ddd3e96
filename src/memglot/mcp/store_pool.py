"""A pool of open stores: each is used by one call at a time, and readers never wait for writers."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from memglot.errors import MemglotError, NoStore, StoreError
from memglot.mcp.config import ServerConfig
from memglot.memory import Memory
from memglot.settings import IDLE_SECONDS, store_url

_IN_MEMORY = ":memory:"
_MAX_IDLE = 4
"""Maximum number of idle stores of each kind; each may hold the vectors of all memories in RAM."""


class _IdleStore(NamedTuple):
    """An open store that no call uses, the inode of its file, and since when it is idle."""

    memory: Memory
    inode: int
    since: float


class StorePool:
    """Open stores for calls. Each reader has its own connection, so it never waits for a writer.

    Idle stores are closed after a while, because a store can only be restored when no process has it open.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._idle: dict[bool, list[_IdleStore]] = {False: [], True: []}
        self._lock = threading.Lock()
        self.url = config.store or store_url()
        # There is only one in-memory store, so calls take turns, and it is never closed while the server runs.
        self._memory_lock = threading.Lock() if self.url == _IN_MEMORY else None
        self._in_memory: Memory | None = None
        self._closed = False
        self._timer: threading.Timer | None = None

    @contextmanager
    def acquire(self, *, write: bool) -> Iterator[Memory]:
        """Yield a store for exclusive use; it returns to the pool unless it failed."""
        if self._memory_lock is None:
            with self._acquire_file(write) as memory:
                yield memory
            return
        with self._memory_lock:
            self._in_memory = self._in_memory or self._open(True)[0]
            if not self._in_memory.store.is_resting:
                # An unfinished iterator releases its transaction when it is garbage-collected.
                gc.collect()
            yield self._in_memory

    @contextmanager
    def _acquire_file(self, write: bool) -> Iterator[Memory]:
        memory, inode = self._reuse(write) or self._open(write)
        try:
            yield memory
        except MemglotError as error:
            if isinstance(error, StoreError):
                memory.close()
            else:
                self._release(write, memory, inode)
            raise
        except BaseException:
            memory.close()
            raise
        self._release(write, memory, inode)

    def _reuse(self, write: bool) -> tuple[Memory, int] | None:
        with self._lock:
            while self._idle[write]:
                memory, inode, _ = self._idle[write].pop()
                if inode == _inode(memory.store.url):
                    return memory, inode
                # Another file replaced it, for example by `memglot restore`.
                memory.close()
        return None

    def _open(self, write: bool) -> tuple[Memory, int]:
        config = self._config
        try:
            memory = Memory.open(config.store, write=write, sensitive=config.allow_sensitive)
        except NoStore:
            if config.read_only:
                raise
            # Create the store, so that agents can search before anything is stored.
            Memory.open(config.store).close()
            memory = Memory.open(config.store, write=write, sensitive=config.allow_sensitive)
        return memory, _inode(memory.store.url)

    def _release(self, write: bool, memory: Memory, inode: int) -> None:
        with self._lock:
            # A store with an unfinished read would show the state of that moment forever.
            if not self._closed and len(self._idle[write]) < _MAX_IDLE and memory.store.is_resting:
                self._idle[write].append(_IdleStore(memory, inode, time.monotonic()))
                self._start_timer(IDLE_SECONDS)
                return
        memory.close()

    def _start_timer(self, seconds: float) -> None:
        """Schedule closing idle stores."""
        if self._timer is None:
            self._timer = threading.Timer(seconds, self._close_idle)
            self._timer.daemon = True
            self._timer.start()

    def _close_idle(self) -> None:
        """Close the stores that were idle for `IDLE_SECONDS`."""
        gone: list[_IdleStore] = []
        with self._lock:
            self._timer = None
            now = time.monotonic()
            for write, idle in self._idle.items():
                gone += [one for one in idle if now - one.since >= IDLE_SECONDS]
                self._idle[write] = [one for one in idle if now - one.since < IDLE_SECONDS]
            if kept := [one.since for idle in self._idle.values() for one in idle]:
                self._start_timer(min(kept) + IDLE_SECONDS - now)
        # Closing the last connection checkpoints the write-ahead log, which can take a while.
        for one in gone:
            one.memory.close()

    def close(self) -> None:
        """Close all idle stores; those in use are closed when they are released."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            idle = [one.memory for kind in self._idle.values() for one in kind]
            self._idle = {False: [], True: []}
            idle += [self._in_memory] if self._in_memory is not None else []
        for memory in idle:
            memory.close()


def _inode(url: str) -> int:
    """Return the inode of the file at a path, or 0."""
    try:
        return os.stat(url).st_ino
    except OSError:
        return 0
