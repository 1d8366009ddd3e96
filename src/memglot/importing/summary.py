"""Tally: what an import counts on the way, and what a person is told of it in the end."""

from functools import partial

import msgspec

from memglot.importing.plan import Plan
from memglot.model import Record
from memglot.notes import (
    note_conflicts,
    note_deleted,
    note_differ,
    note_no_ids,
    note_poorer,
    note_removed,
    note_to_itself,
    note_twice,
    note_unapplied,
)
from memglot.report import Report


class Tally:
    """The counts of one import, beside those that its report holds."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._without_id = self._twice = self._differ = self._deleted = self._poorer = 0

    def account(self, plan: Plan) -> None:
        """Count what one batch did."""
        report = self._report
        report.imported += len(plan.new)
        report.ids.extend([record.id for record in plan.new])
        report.merged += len(plan.merged)
        self._skip(plan.skipped)
        self._without_id += plan.without_id
        self._differ += plan.differ
        self._deleted += plan.deleted
        self._twice += plan.twice
        self._poorer += plan.poorer

    def skip_double(self, id: str) -> None:
        """Count a record whose id stands twice in the input."""
        self._twice += 1
        self._skip([id])

    def _skip(self, ids: list[str]) -> None:
        self._report.skipped += len(ids)
        self._report.skipped_ids.extend(ids)

    def tell(self, *, by_id: bool, would: bool, conflicts: int, removed: int, unapplied: int, to_itself: int) -> None:
        """Say what a person should know; `would` where nothing was done in truth."""
        self._report.conflicts = conflicts
        for count, note in (
            (self._without_id if by_id else 0, partial(note_no_ids, would=would)),
            (self._twice, note_twice),
            (self._differ, note_differ),
            (self._poorer, note_poorer),
            (self._deleted, note_deleted),
            (conflicts, partial(note_conflicts, would=would)),
            (removed, partial(note_removed, would=would)),
            (unapplied, note_unapplied),
            (to_itself, note_to_itself),
        ):
            if count:
                self._report.note(note(count))


def weight_of(record: Record) -> int:
    """About how many bytes a record takes as JSON: its text, and what else it may hold much of."""
    weight = len(record.content) if record.content.isascii() else len(record.content.encode("utf-8", "replace"))
    if record.meta or record.extra:
        weight += len(msgspec.json.encode((record.meta, record.extra)))
    return weight
