"""Twins: active memories of one content, kind and scope under several ids. Where stores are merged they share tags."""

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

Pair = tuple[dict[str, Any], Record]
"""A memory as it was, with its clashes, and as it becomes."""


def missing_shared_tags(store: Store) -> Iterator[dict[str, list[str]]]:
    """The memories that lack tags of their twins, in batches, each with the sorted union of all their tags."""
    found = _lacking(store)
    while batch := dict(islice(found, BATCH_SIZE)):
        yield batch


def _lacking(store: Store) -> Iterator[tuple[str, list[str]]]:
    # Who reads on while others write would have to wait for them to write anything himself.
    groups: DiskList[list[str]] = DiskList()
    for ids in store.records.duplicates():
        groups.append(ids)
    for ids in groups:
        tags = sorted_union(tag for record in _read(store, ids) for tag in record.tags)
        # An order of one's own goes too: it would tell which of them came first.
        yield from ((record.id, tags) for record in _read(store, ids) if record.tags != tags)


def _read(store: Store, ids: list[str]) -> Iterator[Record]:
    """The memories of a group, which may be large, a batch at a time."""
    for start in range(0, len(ids), BATCH_SIZE):
        yield from store.records.get(ids[start : start + BATCH_SIZE])


def add_shared_tags(store: Store, wanted: dict[str, list[str]]) -> list[Pair]:
    """What memories become that get tags of their twins, as they are in the present transaction.

    Nobody edited them: they keep their times and clocks, so that it does not matter who unites them, or how often.
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
