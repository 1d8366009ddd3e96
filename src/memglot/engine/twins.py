"""Twins: active memories of one content, kind and scope under several ids. Where stores are merged they share tags."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from memglot.engine.merge import united
from memglot.engine.state import value_of
from memglot.model import Conflict, Record
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store

Pair = tuple[dict[str, Any], Record]
"""A memory as it was, with its clashes, and as it becomes."""


def unite_twins(store: Store) -> Iterator[list[Pair]]:
    """The memories that get tags of their twins, in batches: each has the sorted union of all of them then.

    Nobody edited them: they keep their times and clocks, so that it does not matter who unites them, or how often.
    """
    rest = _pairs(store)
    while batch := list(islice(rest, BATCH_SIZE)):
        yield batch


def _pairs(store: Store) -> Iterator[Pair]:
    for ids in store.doubles():
        tags = united([tag for record in _read(store, ids) for tag in record.tags])
        for record in _read(store, ids):
            # Its own order goes too: it would tell which of them came first.
            if record.tags != tags:
                had = store.things(Conflict, [record.id])
                yield value_of(record, had), msgspec.structs.replace(record, tags=tags)


def _read(store: Store, ids: list[str]) -> Iterator[Record]:
    """The memories of a group, which may be large, a batch at a time."""
    for start in range(0, len(ids), BATCH_SIZE):
        yield from store.get(ids[start : start + BATCH_SIZE])
