"""Change many memories in short transactions, so that others can write in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from time import monotonic

from memglot.disk import DiskList
from memglot.editing.operations import Recorder
from memglot.model import Record
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store

ShowCount = Callable[[int, int], None]
"""Called after each transaction with the number of memories done, and of all."""

_SECONDS = 0.2
"""Time that a transaction should take; others wait for its end."""
_FIRST = 50


def change_in_batches(
    store: Store,
    ids: Iterable[str],
    change: Callable[[list[Record]], int],
    progress: ShowCount | None = None,
    recorder: Recorder | None = None,
) -> int:
    """Change memories in batches, each in a transaction; return the sum of what `change` returns.

    `change` gets memories as they are now: they may have been changed or deleted since their ids were read. Inside of
    a transaction, all batches belong to it.
    """
    return work_in_batches(store, ids, lambda some: change(store.records.get(some)), progress, recorder)


def work_in_batches(
    store: Store,
    keys: Iterable[str],
    work: Callable[[list[str]], int],
    progress: ShowCount | None = None,
    recorder: Recorder | None = None,
) -> int:
    """Call `work` with keys in batches, each in a transaction; return the sum of what it returns.

    All batches are one operation if there is a `recorder`.
    """
    wanted: DiskList[str] = DiskList(str)
    for key in keys:
        wanted.append(key)
    rest, size, done, changed = iter(wanted), BatchSize(), 0, 0
    while some := list(islice(rest, size.next)):
        started = monotonic()
        with store.writing() if recorder is None else recorder.transaction():
            changed += work(some)
        size.adjust(len(some), monotonic() - started)
        store.give_way()
        done += len(some)
        if progress is not None:
            progress(done, len(wanted))
    return changed


class BatchSize:
    """The size of the next batch, so that its transaction takes a fifth of a second."""

    def __init__(self) -> None:
        self.next = _FIRST

    def adjust(self, count: int, seconds: float) -> None:
        """Learn from a batch: memories can be large, and disks slow."""
        self.next = max(1, min(BATCH_SIZE, 2 * self.next, int(count * _SECONDS / max(seconds, 0.001))))


def ids_of(records: Iterable[Record]) -> Iterator[str]:
    """Yield the ids of records."""
    return (record.id for record in records)
