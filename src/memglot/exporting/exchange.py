"""Remember what an export wrote for another tool, so that a round trip through the tool is not an edit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from memglot.disk import DiskList
from memglot.formats.base import Format, WriteOptions
from memglot.importing.bases import Bases, new_base
from memglot.merging.tool_edits import ToolSource, add_exchange, tool_format
from memglot.model import Item, Record
from memglot.model.fingerprints import parse_name
from memglot.report import Report
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Base, Store

_MAX_NAMES = 10_000


class ToolExchange:
    """What one export said about each memory, on disk."""

    def __init__(self, format: Format, options: WriteOptions) -> None:
        self._format = tool_format(format)
        self._written: DiskList[Base] = DiskList(Base)
        self._renamed: DiskList[Base] = DiskList(Base)
        self._held: dict[str, bool] = {}
        merging = format.merging
        carried = merging.carries_all and not options.plain
        # Other formats are merged by memglot's own clocks, or not at all.
        self._is_needed = format.conflict == "merge" and not merging.has_clocks and not carried

    def watch(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, and note what is written of each record."""
        for item in items:
            if self._is_needed and isinstance(item, Record):
                self._written.append(new_base(self._format, item, self._holds))
            yield item

    def rename(self, report: Report) -> None:
        """Note the ids under which the tool will return some of the memories."""
        for id, here in report.renamed if self._is_needed else ():
            self._renamed.append(Base(tool=self._format.source, space="", record=id, same_as=here))

    def __len__(self) -> int:
        return len(self._written) + len(self._renamed)

    def _holds(self, name: str) -> bool:
        """Return True if the format has a place for the value of this name."""
        found = self._held.get(name)
        if found is None:
            path = parse_name(name)
            found = path is not None and self._format.can_hold(path)
            if len(self._held) < _MAX_NAMES:
                self._held[name] = found
        return found

    def remember(self, store: Store) -> None:
        """Store what was written as the base of the next import from the tool."""
        for batch in _batches(self._written):
            with store.writing():
                store.history.put_bases(_changed(store, batch))
            store.give_way()
        for batch in _batches(self._renamed):
            with store.writing():
                store.history.put_bases(batch)


def _batches(bases: Iterable[Base]) -> Iterator[list[Base]]:
    found = iter(bases)
    while batch := list(islice(found, BATCH_SIZE)):
        yield batch


def _changed(store: Store, batch: list[Base]) -> list[Base]:
    """Return the bases after an export, except those that the store knows already."""
    bases, found, unknown = Bases(store), [], {}
    bases.use([now.record for now in batch])
    for now in batch:
        source = ToolSource(now.tool, now.space)
        if (known := bases.stored(source, now.record)) is not None:
            after = add_exchange(known, now)
            found += [after] if (known.said, known.held) != (after.said, after.held) else []
        elif not bases.is_from(source, now.record):
            found.append(now)
        elif not bases.is_as_imported(now.record):
            unknown[now.record] = now
    for record in store.records.get(list(unknown)) if unknown else ():
        now = unknown[record.id]
        found.append(add_exchange(bases.as_imported(ToolSource(now.tool, now.space), record), now))
    return found
