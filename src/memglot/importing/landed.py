"""Parts of a file of lines that an earlier import stored, so that repeating it need not read them.

A part is the lines of one batch of which every line became a new memory. The audit row of the batch says where the part
is in its file, and has the digest of its lines together with what the import did to them. When a file begins with parts
whose memories are all stored as they were imported, reading these lines again would skip every one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from typing import Any

import msgspec

from memglot import __version__
from memglot.formats import registry
from memglot.formats.base import ReadOptions
from memglot.formats.core.source import Source
from memglot.importing.plan import BatchPlan
from memglot.model import canonical
from memglot.report import LineDigest, LinePosition, Place, Report, SourceReport
from memglot.store.contract import Store

_IMPORTS = 20
"""Number of imports, from the newest, whose parts are looked for."""


class Part(msgspec.Struct):
    """Lines of a file that became the memories after a number in the store: `start` and `end` are their positions."""

    digest: str
    start: LinePosition
    end: LinePosition
    after: int


class _Stored(msgspec.Struct):
    """The audit row of a batch."""

    batch: int
    count: int
    digest: str
    lines: Part | None = None


class LandedLines:
    """Skips the lines that are stored, and describes the parts that this import stores."""

    def __init__(
        self, store: Store, report: Report, options: dict[str, Any], reading: ReadOptions, before: Callable[[], object]
    ) -> None:
        """`options` decide what becomes of a line; `before` is called before lines are skipped."""
        self._store, self._report, self._before = store, report, before
        self._options = options
        self._is_plain = replace(reading, own=frozenset(), passphrase=None) == ReadOptions()
        self._place: SourceReport | None = None
        self._start: LinePosition | None = None
        self._state = self._faults()
        self._salt = b""
        self._known: dict[int, list[_Stored]] | None = None

    def begin(self, place: SourceReport, source: Source) -> LinePosition:
        """Begin to read the lines of a source; skip those that are stored, and return the position after them."""
        start = LinePosition(source.start, 0, 0)
        self._place = self._start = None
        if not self._applies(place.format):
            return start
        self._salt = canonical({**self._options, "format": place.format, "version": __version__})
        if self._known is None:
            self._known = self._find()
        if self._known:
            self._before()
            start = self._skip(source, start)
        place.lines = LineDigest()
        self._place, self._start, self._state = place, start, self._faults()
        return start

    def _applies(self, name: str) -> bool:
        """Return True if a memory whose id is stored is skipped, whatever else is in its line."""
        format = registry.get(name)
        skips = (self._options["conflict"] or format.conflict) == "skip" and (
            self._options["dedup"] or format.dedup
        ) == "id"
        return skips and self._is_plain and self._store.hidden is None

    def _find(self) -> dict[int, list[_Stored]]:
        """Return the parts that earlier imports stored, by the position at which they start."""
        found: dict[int, list[_Stored]] = {}
        for entry in islice(self._store.history.imports(), _IMPORTS):
            for event in self._store.history.events(target=entry.id):
                if "lines" in event.details:
                    stored = msgspec.convert(event.details, _Stored)
                    assert stored.lines is not None
                    found.setdefault(stored.lines.start.offset, []).append(stored)
        return found

    def _skip(self, source: Source, position: LinePosition) -> LinePosition:
        while self._known and (candidates := self._known.get(position.offset)):
            found = next(filter(None, (self._match(source, stored) for stored in candidates)), None)
            if found is None:
                break
            position = found
        return position

    def _match(self, source: Source, stored: _Stored) -> LinePosition | None:
        """Skip a part if it comes next and its memories are stored as they were imported."""
        part = stored.lines
        assert part is not None
        raw = source.stream.read(part.end.offset - part.start.offset)
        if sha256(self._salt + sha256(raw).digest()).hexdigest() == part.digest:
            ids, digest = self._store.records.added_by(stored.batch, part.after, stored.count)
            if len(ids) == stored.count and digest.hex() == stored.digest:
                self._report.read += len(ids)
                self._report.skipped += len(ids)
                self._report.skipped_ids.extend(ids)
                self._report.tick()
                return part.end
        source.put_back(raw)
        return None

    def end_part(self, place: Place | None, *, complete: bool, memories: int) -> Part | None:
        """End a part with the current line, or before it if this is not `complete`.

        Return it if its lines are this number of memories and nothing else; `None` also if the lines are not known.
        """
        start, state = self._start, self._state
        if place is None or place is not self._place or self._place.lines is None:
            self._place = self._start = None
            return None
        end, raw = self._place.lines.take(complete=complete)
        self._start, self._state = end, self._faults()
        if start is None or end is None or state != self._state or end.item - start.item != memories:
            return None
        digest = sha256(self._salt + raw).hexdigest()
        return Part(digest, start, end, self._store.search.newest())

    def _faults(self) -> tuple[object, ...]:
        """Return what must stay equal while every line becomes a memory, and nothing else has to be said."""
        report = self._report
        notes, sensitive = tuple(report.notes), frozenset(report.inputs.sensitive)
        return len(report.errors), report.skipped, len(report.dropped_records), notes, sensitive, report.inputs.proof


def is_new(plan: BatchPlan) -> bool:
    """Return True if a batch only adds memories that have ids of their own."""
    changed = plan.merged or plan.extended or plan.restored or plan.deleted_states or plan.conflicting or plan.bases
    return not (changed or plan.skipped or plan.digests or plan.renamed or plan.duplicates)
