"""Export what can be read of a damaged store, and report what cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from memglot.errors import DamagedStore
from memglot.exporting.salvage import salvage
from memglot.model import Item, Record
from memglot.report import Report
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store
from memglot.store.hidden import SENSITIVE, sensitive_scopes
from memglot.store.location import open_store
from memglot.store.sqlite.store import SqliteStore

Read: TypeAlias = Callable[[Store, int], Iterator[Item]]
"""Reads a store, given the number of records that were yielded before."""


def readable_items(store: Store, read: Read, report: Report) -> Iterator[Item]:
    """Yield what `read` yields of a store; if that is damaged, then the rest of what can be read of it."""
    count = 0
    try:
        for item in read(store, 0):
            count += 1
            yield item
    except DamagedStore:
        if not isinstance(store, SqliteStore) or not Path(store.url).is_file():
            raise
        yield from _rest(store, read, report, count)


def _rest(store: SqliteStore, read: Read, report: Report, count: int) -> Iterator[Item]:
    """Yield the items after the first ones, from a copy of what can be read."""
    with TemporaryDirectory(prefix="memglot-") as folder:
        path = Path(folder) / "salvaged.db"
        salvage_for(store, path, report)
        rest = open_store(str(path))
        try:
            records = _remove(rest, islice(read(store, 0), count))
            yield from read(rest, records)
        finally:
            rest.close()


def salvage_for(store: SqliteStore, path: Path, report: Report) -> None:
    """Copy what can be read of a store, and report what is lost."""
    marked = sensitive_scopes(store)
    result = salvage(store.url, path)
    for text in result.problems() or ["everything in it could be read row by row"]:
        report.note(f"the store is damaged: {text}")
    report.note("`memglot doctor --salvage OUT` copies what can be read to a new store")
    report.is_partial = True
    copy = open_store(str(path))
    try:
        with copy.writing():
            for scope in sorted(marked):
                copy.put_setting(SENSITIVE + scope, "")
    finally:
        copy.close()


def _remove(store: Store, items: Iterator[Item]) -> int:
    """Remove items from a store, and return the number of records among them."""
    count = 0
    while batch := list(islice(items, BATCH_SIZE)):
        ids = [item.id for item in batch if isinstance(item, Record)]
        count += len(ids)
        with store.writing():
            store.records.remove(ids)
            store.things.remove([item for item in batch if not isinstance(item, Record)])
    return count
