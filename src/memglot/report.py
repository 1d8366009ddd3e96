"""What happened on the way: counts, errors with their places, notes, losses, progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from memglot.disk import DiskList
from memglot.display import printable
from memglot.errors import MemglotError

T = TypeVar("T")
_TICK = 1_000
"""After so many records that failed a progress bar moves on, though none landed."""


class Fault(msgspec.Struct, omit_defaults=True):
    """One thing that could not be read: where it stands, and why."""

    source: str
    error: str
    item: int | None = None
    line: int | None = None
    hint: str | None = None
    batch: int | None = None
    """Which batch could not land, from 0, where it is one; `count` and `ids` tell what was in it."""
    count: int = 0
    ids: list[str] = []

    def __str__(self) -> str:
        place = self.source
        if self.line is not None:
            place += f":{self.line}"
        elif self.item is not None:
            place += f" item {self.item}"
        return f"{place}: {self.error}"


class Proof(msgspec.Struct, omit_defaults=True):
    """The end mark of a record file: how many records it holds, and their joint digest."""

    count: int
    digest: str
    beside: int = 0
    """How many things lie beside the file."""
    alone: bool = False
    """Whether the digest is that of the records alone, without what rides with them."""
    rest: str = ""
    """The digest of all that is no record, in the order of the file; empty where it is not proved."""


class FailFast(Exception):
    """The first fault, where a caller wants no second."""


class Stopped(Exception):
    """Raised by a progress callback whose caller wants no more: whole batches stay."""


class Report:
    """Collects what one deed has to tell.

    Readers set `line` and `item` before they yield a record; where the line is dear to know, `find_line` finds it.
    They add to `sensitive` the scopes that their input marks so, before they yield records of such a scope.
    """

    def __init__(self, progress: Callable[[Report], None] | None = None) -> None:
        self.source = ""
        self.fail_fast = False
        self.line: int | None = None
        self.item: int | None = None
        self.offset = 0
        self.find_line: Callable[[], int] | None = None
        self.read = self.imported = self.merged = self.skipped = self.failed = self.conflicts = 0
        self.written_count = 0
        self.batches = 0
        """How many batches landed, or failed to."""
        self.format = ""
        self.current: Any = None
        self.errors: DiskList[dict[str, Any]] = DiskList()
        self.error_counts: DiskList[int] = DiskList()
        """How many records each of the errors is about."""
        self.ids: DiskList[str] = DiskList()
        self.skipped_ids: DiskList[str] = DiskList()
        self.notes: list[str] = []
        self.formats: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()
        self.carried: Counter[str] = Counter()
        self.dropped_counts: Counter[str] = Counter()
        self.dropped_records: DiskList[tuple[str, str]] = DiskList()
        self.broken_chain: str | None = None
        """What is wrong with an audit chain that was taken all the same."""
        self.unopened = 0
        """What was sealed, and could not be read for want of a passphrase."""
        self.sensitive: set[str] = set()
        self.marked: list[str] = []
        self.end: Proof | None = None
        self._progress = progress

    def failed_record(self, error: MemglotError | str, *, line: int | None = None, item: int | None = None) -> None:
        """Count a record that could not be read or kept, and say why."""
        self.read += 1
        self.failed += 1
        if not self.failed % _TICK:
            self.tick()
        if line is None:
            line = self.line if self.find_line is None else self.find_line()
        self.fault(error, line=line, item=item or self.item, count=1)

    def fault(
        self, error: MemglotError | str, *, line: int | None = None, item: int | None = None, count: int | None = None
    ) -> None:
        """Tell of something wrong with an input that is none of its records, or with so many of them."""
        reason = getattr(error, "reason", None) or str(error)
        fault = Fault(printable(self.source), printable(reason), item, line, getattr(error, "hint", None))
        self._tell(fault, count or 0)

    def _tell(self, fault: Fault, count: int) -> None:
        self.errors.append(msgspec.to_builtins(fault))
        self.error_counts.append(count)
        if self.fail_fast:
            raise FailFast

    def lost_batch(self, error: MemglotError, count: int, ids: list[str]) -> None:
        """Count the records of a batch that could not land, and say why."""
        self.failed += count
        fault = Fault(printable(self.source), str(error), None, None, error.hint, self.batches, count, ids)
        self._tell(fault, count)

    def refused(self, error: MemglotError, count: int, source: str) -> None:
        """Count records of an input that may not be taken, and say why; others may have been read since."""
        self.failed += count
        self._tell(Fault(printable(source), str(error), hint=error.hint), count)

    def faults(self) -> Iterator[Fault]:
        """The errors, in the order they were met."""
        for error in self.errors:
            yield msgspec.convert(error, Fault)

    def note(self, text: str) -> None:
        """Keep a sentence that a person should read; the same sentence once."""
        text = printable(text)
        if text not in self.notes:
            self.notes.append(text)

    def dropped(self, field: str, record: str) -> None:
        """Record that a field of a record did not survive."""
        self.dropped_counts[field] += 1
        self.dropped_records.append((field, record))

    def losses(self) -> list[dict[str, Any]]:
        """What was dropped, by field, with the records it was dropped from."""
        found: dict[str, list[str]] = {}
        for field, record in self.dropped_records:
            found.setdefault(field, []).append(record)
        return [{"field": field, "records": records} for field, records in sorted(found.items())]

    def written(self, end: Proof) -> None:
        """Say what a writer wrote."""
        self.end = end

    def start_source(self, name: str) -> None:
        """Begin with the next input."""
        self.source = name
        self.line = self.item = self.find_line = None
        self.end = None

    def tick(self) -> None:
        """Let a progress bar move on."""
        if self._progress is not None:
            self._progress(self)
