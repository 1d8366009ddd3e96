"""Summary of an import: its counts, and the notes about them."""

from collections.abc import Iterator

from memglot.display import plural
from memglot.importing.plan import BatchPlan
from memglot.report import Report


class ImportSummary:
    """Counts what the batches of one import did."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._imported_before = self._repeated = self._differing = self._deleted_before = self._other_fields = 0
        self._went_back = self._never_exchanged = 0

    def add(self, plan: BatchPlan) -> None:
        """Count what one batch did."""
        report = self._report
        report.imported += len(plan.new)
        report.ids.extend([record.id for record in plan.new])
        report.merged += len(plan.merged)
        self._skip(plan.skipped)
        self._imported_before += plan.imported_before
        self._differing += plan.differing
        self._deleted_before += plan.deleted_before
        self._repeated += plan.repeated
        self._other_fields += plan.other_fields
        self._went_back += plan.went_back
        self._never_exchanged += plan.never_exchanged

    def skip_repeated(self, id: str) -> None:
        """Count a record whose id occurs twice in the input."""
        self._repeated += 1
        self._skip([id])

    def _skip(self, ids: list[str]) -> None:
        self._report.skipped += len(ids)
        self._report.skipped_ids.extend(ids)

    def notes(
        self, *, dry_run: bool, writes_back: bool, conflicts: int, deleted: int, not_deleted: int, to_itself: int
    ) -> Iterator[str]:
        """Return the notes about this import; those of a dry run say what it would do."""
        if count := self._imported_before:
            memories = plural(
                count,
                "memory without an id that was imported before; use `--allow-duplicates` to import it again",
                "memories without an id that were imported before; use `--allow-duplicates` to import them again",
            )
            yield f"skipped {memories}"
        if count := self._repeated:
            yield f"skipped {_memories(count)} whose id occurs earlier in the input"
        if count := self._differing:
            yield (
                f"skipped {_memories(count)} whose id is stored with other values; use `--conflict prefer-remote` to "
                "import the values of the file"
            )
        if count := self._other_fields:
            yield (
                f"skipped {_memories(count)} whose text is already stored (other fields differ); use `--no-dedup` to "
                "import them"
            )
        if (count := self._deleted_before) and not writes_back:
            deleted_before = plural(count, "memory that was", "memories that were")
            yield f"skipped {deleted_before} deleted earlier; use `--restore-deleted` to import deleted memories"
        yield from self._kept_values()
        if conflicts:
            yield _conflicts(conflicts, dry_run=dry_run)
        if deleted:
            yield (
                f"would delete {_memories(deleted)}, as the file says"
                if dry_run
                else f"deleted {_memories(deleted)}, as the file says; `memglot undo` restores them"
            )
        if not_deleted:
            kept = f"kept {_memories(not_deleted)} that the file says were deleted"
            yield f"{kept}; use `--conflict merge` to delete them"
        if to_itself:
            yield f"skipped {plural(to_itself, 'relation')} between a memory and its duplicate"

    def _kept_values(self) -> Iterator[str]:
        """Return the notes about values of a source that were not imported."""
        if count := self._went_back:
            yield (
                f"kept newer values of {_memories(count)}: the source went back in time; use `--conflict "
                "prefer-remote` to import its older values"
            )
        if count := self._never_exchanged:
            yield (
                f"kept values of {_memories(count)} that differ in a source without edit times; use `--conflict "
                "prefer-remote` to import the values of the source"
            )


def _memories(count: int) -> str:
    return plural(count, "memory")


def _conflicts(count: int, *, dry_run: bool) -> str:
    if dry_run:
        return f"{plural(count, 'field')} would have conflicting values; all would be kept"
    fields = plural(count, "field has", "fields have")
    return f"{fields} conflicting values; all are kept, and one is used until you resolve it with `memglot conflicts`"
