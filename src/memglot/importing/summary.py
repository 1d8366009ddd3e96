"""Tally: what an import counts on the way, and what a person is told of it in the end."""

from functools import partial

import msgspec

from memglot.display import many
from memglot.importing.plan import Plan
from memglot.model import Record
from memglot.notes import note_twice
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
            (self._without_id if by_id else 0, partial(_no_ids, would=would)),
            (self._twice, note_twice),
            (self._differ, _differ),
            (self._poorer, _poorer),
            (self._deleted, _deleted),
            (conflicts, partial(_conflicts, would=would)),
            (removed, partial(_removed, would=would)),
            (unapplied, _unapplied),
            (to_itself, _to_itself),
        ):
            if count:
                self._report.note(note(count))


def weight_of(record: Record) -> int:
    """About how many bytes a record takes as JSON: its text, and what else it may hold much of."""
    weight = len(record.content) if record.content.isascii() else len(record.content.encode("utf-8", "replace"))
    if record.meta or record.extra:
        weight += len(msgspec.json.encode((record.meta, record.extra)))
    return weight


def _no_ids(count: int, *, would: bool = False) -> str:
    """Records without ids, in a format that compares ids alone; in a dry run, what would be done about them."""
    done = "would get" if would else "got"
    return f"{many(count)} no id and {done} a new one: importing the same file again will add them again"


def _differ(count: int) -> str:
    """Skipped records that are not what is stored."""
    return f"{many(count)} an id that is stored with other values: `--conflict prefer-remote` takes the file's"


def _poorer(count: int) -> str:
    """Skipped doubles that are not all alike."""
    return f"{many(count)} the content of one that is there, but other fields, and stayed out: `--no-dedup` takes them"


def _conflicts(count: int, *, would: bool = False) -> str:
    """Values that no rule decides between; in a dry run, those that would clash."""
    many = "1 field clashes" if count == 1 else f"{count:,} fields clash"
    if would:
        many = "1 field" if count == 1 else f"{count:,} fields"
        return f"{many} would clash and no rule decides: all values would be kept, and one would stand meanwhile"
    return f"{many} and no rule decides: all values are kept and one stands meanwhile; `memglot conflicts` shows them"


def _removed(count: int, *, would: bool = False) -> str:
    """Deletions that a file brought, or would bring."""
    if would:
        return f"{'1 memory' if count == 1 else f'{count:,} memories'} would be deleted, as the file says"
    return f"{many(count)} been deleted, as the file says: `memglot undo` brings them back"


def _to_itself(count: int) -> str:
    """Relations between two memories that became one."""
    many = "1 relation leads" if count == 1 else f"{count:,} relations lead"
    return f"{many} from a memory to its own double and stayed out"


def _unapplied(count: int) -> str:
    """Deletions in a file that was imported without merging."""
    return f"{many(count)} been deleted according to the file and stay here: `--conflict merge` deletes them"


def _deleted(count: int) -> str:
    """Records that were deleted before."""
    return f"{many(count)} been deleted earlier and stay so: `--restore-deleted` brings them back"
