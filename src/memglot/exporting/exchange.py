"""Remember what an export wrote for another tool, so that a round trip through the tool is not an edit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from memglot.disk import DiskList
from memglot.formats.base import Format, WriteOptions
from memglot.importing.bases import Bases, new_base
from memglot.merging.tool_edits import add_exchange, tool_format
from memglot.model import Item, Record
from memglot.report import Report
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Base, Store


class ToolExchange:
    """What one export said about each memory, on disk."""

    def __init__(self, format: Format, options: WriteOptions) -> None:
        self._format = tool_format(format)
        self._written: DiskList[Base] = DiskList(Base)
        self._renamed: DiskList[Base] = DiskList(Base)
        merging = format.merging
        carried = merging.carries_all and not options.plain
        # Other formats are merged by memglot's own clocks, or not at all.
        self._is_needed = format.conflict == "merge" and not merging.has_clocks and not carried

    def watch(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, and note what is written of each record."""
        for item in items:
            if self._is_needed and isinstance(item, Record):
                self._written.append(new_base(self._format, item, self._format.can_hold))
            yield item

    def rename(self, report: Report) -> None:
        """Note the ids under which the tool will return some of the memories."""
        for id, here in report.renamed if self._is_needed else ():
            self._renamed.append(Base(tool=self._format.source, space="", record=id, same_as=here))

    def __len__(self) -> int:
        return len(self._written) + len(self._renamed)

    def remember(self, store: Store) -> None:
        """Store what was written as the base of the next import from the tool."""
        written, bases = iter(self._written), Bases(store)
        while batch := list(islice(written, BATCH_SIZE)):
            with store.writing():
                ids = [base.record for base in batch]
                bases.load(ids)
                records = {record.id: record for record in store.records.get(ids)}
                changed = []
                for now in batch:
                    if (local := records.get(now.record)) is None:
                        continue
                    known = bases.known(now, local)
                    after = add_exchange(known, now)
                    if known is None or (known.said, known.held) != (after.said, after.held):
                        changed.append(after)
                store.history.put_bases(changed)
            store.give_way()
        renamed = iter(self._renamed)
        while batch := list(islice(renamed, BATCH_SIZE)):
            with store.writing():
                store.history.put_bases(batch)
