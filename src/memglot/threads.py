"""Objects that several threads may use: their calls run one after another; and native libraries that they share."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from threading import Event, RLock, Thread, current_thread, main_thread
from typing import Any, TypeVar

T = TypeVar("T")


def one_at_a_time(cls: type[T]) -> type[T]:
    """Make the public methods of a class wait for each other, with the `_lock` of the object."""
    for name, function in list(vars(cls).items()):
        if inspect.isfunction(function) and not name.startswith("_"):
            setattr(cls, name, _waiting(function))
    return cls


def _waiting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that holds the lock while it runs; an iterator that it returns holds it for each item."""

    @functools.wraps(function)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            result = function(self, *arguments, **options)
        return _items(self._lock, result) if isinstance(result, Iterator) else result

    return call


def _items(lock: RLock, items: Iterator[T]) -> Iterator[T]:
    try:
        while True:
            with lock:
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item
    finally:
        if inspect.isgenerator(items):
            with lock:
                items.close()


def import_for_all_threads(name: str) -> None:
    """Import a native library in a thread that never ends.

    The memory of some belongs to the thread that loads them: after its end, calls by other threads crash.
    """
    if name in sys.modules or current_thread() is main_thread():
        return
    loaded = Event()

    def load() -> None:
        # Whoever uses the library reports what is wrong with it.
        with suppress(ImportError):
            import_module(name)
        loaded.set()
        Event().wait()

    Thread(target=load, name=f"memglot loads {name}", daemon=True).start()
    loaded.wait()
