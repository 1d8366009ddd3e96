"""Share tags between duplicates (active memories with the same content, kind and scope) when stores are merged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from memglot.disk import DiskList
from memglot.merging.memory_state import revision_value
from memglot.merging.records import sorted_union
from memglot.model import Conflict, Record
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store


def missing_shared_tags(store: Store) -> Iterator[dict[str, list[str]]]:
    """Yield batches of the ids of memories that lack tags of their duplicates, each with the union of the tags."""
    found = _lacking(store)
    while batch := dict(islice(found, BATCH_SIZE)):
        yield batch


def _lacking(store: Store) -> Iterator[tuple[str, list[str]]]:
    # A read transaction that stays open would make our own writes wait.
    groups: DiskList[list[str]] = DiskList()
    for ids in store.records.duplicates():
        groups.append(ids)
    for ids in groups:
        tags = sorted_union(tag for record in _read(store, ids) for tag in record.tags)
        # The order of tags is made equal too, so that it does not depend on which memory came first.
        yield from ((record.id, tags) for record in _read(store, ids) if record.tags != tags)


def _read(store: Store, ids: list[str]) -> Iterator[Record]:
    """Yield the memories of a group, which may be large, reading a batch at a time."""
    for start in range(0, len(ids), BATCH_SIZE):
        yield from store.records.get(ids[start : start + BATCH_SIZE])


def add_shared_tags(store: Store, wanted: dict[str, list[str]]) -> list[tuple[dict[str, Any], Record]]:
    """Return each memory's revision value and the memory with its new tags, as of the present transaction.

    They keep their times and clocks, since nobody edited them: the result is the same on every machine, however often
    this runs.
    """
    had: dict[str, list[Conflict]] = {id: [] for id in wanted}
    for conflict in store.things.select(Conflict, list(wanted)):
        had[conflict.record].append(conflict)
    return [
        (
            revision_value(record, had[record.id]),
            msgspec.structs.replace(record, tags=sorted_union([*record.tags, *wanted[record.id]])),
        )
        for record in store.records.get(list(wanted))
    ]
