"""Change many memories in short transactions, so that others can write in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from time import monotonic

from memglot.disk import DiskList
from memglot.model import Record
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store

ShowCount = Callable[[int, int], None]
"""Called after each transaction with the number of memories done, and of all."""

_SECONDS = 0.2
"""Time that a transaction should take; others wait for its end."""
_FIRST = 50


def change_in_batches(
    store: Store, ids: Iterable[str], change: Callable[[list[Record]], int], progress: ShowCount | None = None
) -> int:
    """Change memories in batches, each in a transaction; return the sum of what `change` returns.

    `change` gets memories as they are now: they may have been changed or deleted since their ids were read. Inside of
    a transaction, all batches belong to it.
    """
    wanted: DiskList[str] = DiskList(str)
    for id in ids:
        wanted.append(id)
    rest, size, done, changed = iter(wanted), _FIRST, 0, 0
    while some := list(islice(rest, size)):
        started = monotonic()
        with store.writing():
            changed += change(store.records.get(some))
        taken = monotonic() - started
        store.give_way()
        done += len(some)
        if progress is not None:
            progress(done, len(wanted))
        # Memories can be large, and disks slow.
        size = max(1, min(BATCH_SIZE, 2 * size, int(len(some) * _SECONDS / max(taken, 0.001))))
    return changed


def ids_of(records: Iterable[Record]) -> Iterator[str]:
    """Yield the ids of records."""
    return (record.id for record in records)
