"""Results of imports and exports, and memories as JSON objects."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import msgspec

from memglot.disk import DiskList
from memglot.display import html_table, short_repr
from memglot.errors import StoreError
from memglot.model import Record, format_time
from memglot.report import Fault, Report
from memglot.store.contract import Import, Store

_MAX_SHOWN = 20


class Exchange(Protocol):
    """What an export wrote for another tool."""

    def __len__(self) -> int:
        """Return the number of memories to remember."""

    def remember(self, store: Store) -> None:
        """Store what was written, as the base of the next import from the tool."""


class ImportResult:
    """Result of an import: `imported + merged + skipped + failed` is the number of records read."""

    def __init__(self, report: Report, entry: Import | None, *, dry_run: bool) -> None:
        self._report = report
        self.import_id = entry.id if entry is not None and not dry_run else None
        self.dry_run = dry_run
        self.imported = report.imported
        self.merged = report.merged
        self.skipped = report.skipped
        self.failed = report.failed
        self.other_errors = report.other_errors
        """Number of errors that affect no record, such as a file that cannot be read."""
        self.batches = report.batches
        """Number of batches, committed or failed."""
        self.conflicts = report.conflicts
        """Number of unresolved conflicts that this import added or found."""
        self.marked = report.marked
        """Scopes that the input marked as sensitive."""
        self.notes = [*report.notes, *loss_notes(report)]
        self.embedded = 0
        """Number of memories that got a vector for semantic search after the import."""
        used = {name: count for name, count in report.formats.items() if name}
        self.formats = used
        self.format = "mixed" if len(used) > 1 else next(iter(used), report.format)

    @property
    def ids(self) -> Iterator[str]:
        """Ids of the imported memories in the order of the input, read from disk."""
        return iter(self._report.ids)

    @property
    def skipped_ids(self) -> Iterator[str]:
        """Ids that were already stored, or were deleted before."""
        return iter(self._report.skipped_ids)

    @property
    def replaced_edits(self) -> Iterator[str]:
        """Ids of memories of which an edit made here was replaced by a later one; `history` shows both."""
        return iter(self._report.replaced_edits)

    @property
    def errors(self) -> Iterator[Fault]:
        """Records that could not be read, each with its place and reason."""
        return self._report.faults()

    @property
    def error_counts(self) -> Iterator[int]:
        """Number of records that each of the errors is about."""
        return iter(self._report.error_counts)

    @property
    def exit_code(self) -> int:
        """0 for success; 1 for errors, but some records were imported or already stored; 2 for errors only."""
        if not len(self._report.errors):
            return 0
        return 1 if self.dry_run or self.imported or self.merged or self.skipped else 2

    def __repr__(self) -> str:
        return short_repr("ImportResult", self._summary(), 200)

    def _repr_html_(self) -> str:
        errors = [("error", str(fault)) for fault in islice(self.errors, _MAX_SHOWN)]
        return html_table((), [*self._summary().items(), *errors])

    def _summary(self) -> dict[str, object]:
        counts = {name: getattr(self, name) for name in ("imported", "merged", "skipped", "failed", "conflicts")}
        rest = {"dry_run": self.dry_run or None, "import_id": self.import_id, "format": self.format}
        return {**counts, **rest, "notes": self.notes}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values, with all of its lists in memory."""
        return loaded(self.value())

    def value(self) -> dict[str, Any]:
        """Return the result as a JSON object; its lists are streamed."""
        value: dict[str, Any] = {
            "imported": self.imported,
            "merged": self.merged,
            "skipped": self.skipped,
            "failed": self.failed,
            "conflicts": self.conflicts,
            "embedded": self.embedded,
            "ids": self._report.ids,
            "skippedIds": self._report.skipped_ids,
            "replacedEdits": self._report.replaced_edits,
            "errors": self._report.errors,
            "importId": self.import_id,
            "format": self.format,
            "notes": self.notes,
        }
        if self.format == "mixed":
            value["formats"] = self.formats
        if self.dry_run:
            value["dryRun"] = True
        return value


class ExportResult:
    """Result of an export; `content` is set if neither a path nor a stream was given."""

    def __init__(
        self,
        report: Report,
        format: str,
        path: Path | None,
        content: bytes | None,
        exchange: Exchange | None = None,
        *,
        is_written: bool = True,
    ) -> None:
        self._report = report
        self.is_written = is_written
        """Whether anything was written; `sync_export` leaves a file alone that already contains everything."""
        self.exchange = exchange
        """What was written for another tool, for `Memory.remember_export`."""
        self.format = format
        self.path = path
        self.content = content
        self.count = report.proof.count if report.proof else 0
        self.digest = report.proof.digest if report.proof else ""
        self.is_partial = report.is_partial
        """Whether something is missing because the store is damaged; `notes` says what."""
        self.losses = dict(report.dropped_counts)
        self.notes = report.notes

    def note_forgotten(self, error: StoreError) -> None:
        """Note that the export was written, but that the store could not remember it."""
        reason = f"the export was written, but the store could not record it: {error}"
        self._report.note(f"{reason}; edits that the tool makes in it may not be imported")

    def __repr__(self) -> str:
        return short_repr("ExportResult", self._summary(), 200)

    def _repr_html_(self) -> str:
        return html_table((), self._summary().items())

    def _summary(self) -> dict[str, object]:
        path = None if self.path is None else str(self.path)
        summary: dict[str, object] = {"count": self.count, "format": self.format, "path": path}
        summary |= {} if self.is_written else {"is_written": False}
        return {**summary, "is_partial": self.is_partial or None, "losses": self.losses, "notes": self.notes}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return loaded(self.value())

    def value(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        value: dict[str, Any] = {
            "count": self.count,
            "path": str(self.path),
            "format": self.format,
            "digest": self.digest,
        }
        value |= {"partial": True} if self.is_partial else {}
        value |= {} if self.is_written else {"unchanged": True}
        return {**value, "losses": self.losses, "notes": self.notes}


def loaded(value: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON object with the lists that are on disk in memory."""
    return {name: list(one) if isinstance(one, DiskList) else one for name, one in value.items()}


def loss_notes(report: Report) -> list[str]:
    """Return a note for each field that could not be imported."""
    return [f"dropped {field} of {count:,}" for field, count in sorted(report.dropped_counts.items())]


def record_value(record: Record) -> dict[str, Any]:
    """Return a memory as a JSON object; `id content tree tags kind scope temporal created_at` are always present."""
    return record.to_dict()


def import_value(entry: Import) -> dict[str, Any]:
    """Return an import as a JSON object."""
    value: dict[str, Any] = msgspec.to_builtins(entry)
    del value["closed"]
    finished = entry.finished_at
    return value | {"at": format_time(entry.at), "finished_at": None if finished is None else format_time(finished)}
