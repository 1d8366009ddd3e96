"""Objects that several threads may use: their calls run one after another."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from threading import RLock
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
