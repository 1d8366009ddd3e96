"""Sync with a file: merge what it contains, and write the union of both sides back."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from memglot.arguments import parse_size
from memglot.disk import DiskList
from memglot.display import html_table, plural, quoted, short_repr
from memglot.errors import CannotWrite, UsageError
from memglot.exporting.run import refuse_own
from memglot.exporting.sync import check_passphrase, keeps_changing, require_passphrase, write_sync_file
from memglot.exporting.sync_file import (
    ATTEMPTS,
    FORMAT,
    V5,
    Changed,
    FileState,
    NothingNew,
    Replacement,
    SideChanges,
    facts_of,
    fingerprint,
)
from memglot.files import folder_lock
from memglot.formats.base import ReadOptions
from memglot.formats.core.compression import inner_extension
from memglot.formats.core.target import Target
from memglot.importing.run import ImportOptions, import_into
from memglot.model import Tombstone
from memglot.report import Fault, Report, ShowProgress
from memglot.settings import BATCH_SIZE, Passphrase
from memglot.store.contract import Store
from memglot.store.location import open_store
from memglot.store.query import Filter

NAME = "memories.json"
"""The file in a folder that is given to sync with."""
_PAUSE = 0.2


class SyncResult:
    """Result of a sync: what came into the store, and what went into the file."""

    def __init__(self, path: Path, *, dry_run: bool) -> None:
        self.path = path
        self.dry_run = dry_run
        self.format = FORMAT
        self.received = SideChanges()
        """What the store got from the file."""
        self.sent = SideChanges()
        """What the file got from the store."""
        self.count = 0
        """Number of memories in the file."""
        self.is_written = False
        """Whether the file was replaced; it stays as it is if it already contains everything."""
        self.failed = self.conflicts = 0
        self.embedded = 0
        """Number of memories that got a vector for semantic search afterwards."""
        self.import_ids: list[str] = []
        """The imports that brought what was received; each can be undone."""
        self.notes: list[str] = []
        self.existed = False
        """Whether there was a file to read."""
        self._read = 0
        self._report = Report()
        self._replaced: DiskList[str] = DiskList()

    @property
    def errors(self) -> Iterator[Fault]:
        """What could not be read of the file; it is not replaced if there is any."""
        return self._report.faults()

    @property
    def replaced_edits(self) -> Iterator[str]:
        """Ids of memories of which an edit made here was replaced by a later one; `history` shows both."""
        return iter(self._replaced)

    @property
    def exit_code(self) -> int:
        """0 for success; 1 for errors, but something was read; 2 for errors only."""
        return 0 if not len(self._report.errors) else 1 if self._read else 2

    def __repr__(self) -> str:
        return short_repr("SyncResult", self._summary(), 200)

    def _repr_html_(self) -> str:
        return html_table((), self._summary().items())

    def _summary(self) -> dict[str, object]:
        summary: dict[str, object] = {"path": str(self.path), "received": self.received, "sent": self.sent}
        summary |= {"count": self.count, "is_written": self.is_written, "failed": self.failed or None}
        return {**summary, "conflicts": self.conflicts or None, "dry_run": self.dry_run or None, "notes": self.notes}

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values, with all of its lists in memory."""
        return {name: list(one) if isinstance(one, DiskList) else one for name, one in self.value().items()}

    def value(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        value: dict[str, Any] = {
            "path": str(self.path),
            "format": self.format,
            "count": self.count,
            "received": msgspec.to_builtins(self.received),
            "sent": msgspec.to_builtins(self.sent),
            "written": self.is_written,
            "failed": self.failed,
            "conflicts": self.conflicts,
            "embedded": self.embedded,
            "replacedEdits": self._replaced,
            "importIds": self.import_ids,
            "errors": self._report.errors,
            "notes": self.notes,
        }
        return value | {"dryRun": True} if self.dry_run else value

    def add_received(self, report: Report, import_id: str | None) -> None:
        """Add what an import brought."""
        found = self.received
        found.new += report.imported
        found.changed += report.merged
        found.deleted += report.deleted
        found.others += max(0, report.others - report.deleted)
        self._report, self.failed, self.conflicts = report, report.failed, report.conflicts
        self._read = report.read - report.failed
        self._replaced.extend(list(report.replaced_edits))
        self.import_ids += [] if import_id is None or self.dry_run else [import_id]
        self.add_notes(report)

    def add_notes(self, report: Report) -> None:
        """Add the notes of a report."""
        self.notes += [note for note in report.notes if note not in self.notes]


@dataclass(frozen=True)
class SyncOptions:
    """Options of a sync."""

    passphrase: Passphrase = None
    max_record: int | str | None = None
    dry_run: bool = False


def place_to_sync(path: Path) -> Path:
    """Return the file to sync with; of a folder, the memories.json in it. Raise `UsageError`."""
    if path.is_dir():
        path = path / NAME
    if path.exists() and not path.is_file():
        raise UsageError(f"`{path}` is not a file", "give the path of a memories.json, which may be a new one")
    if not path.parent.is_dir():
        raise UsageError(
            f"the folder `{path.parent}` does not exist", "create it, or connect the disk or share that it is on"
        )
    if not path.exists() and inner_extension(path.name).lower() != ".json":
        raise UsageError(
            f"`{path}` does not exist, and its name does not end in `.json`",
            f"`memglot sync {path.with_name(NAME)}` creates a file to sync with",
        )
    return path


def sync_path(store: Store, path: Path, options: SyncOptions, progress: ShowProgress | None = None) -> SyncResult:
    """Merge a file into the store, and write everything back to it.

    A file that changes meanwhile is merged again. A file that cannot be read completely is not replaced.
    """
    path = place_to_sync(path)
    refuse_own(store, Target(path))
    result = SyncResult(path, dry_run=options.dry_run)
    secret = cache(options.passphrase) if callable(options.passphrase) else options.passphrase
    reading = ReadOptions(passphrase=secret, max_record=parse_size(options.max_record))
    # Other machines cannot be locked out, but the programs on this one need not disturb each other.
    with folder_lock(path.resolve().parent):
        for attempt in range(ATTEMPTS):
            try:
                _Attempt(store, result, reading, progress).run()
                return result
            except Changed:
                if result.existed and not path.exists():
                    # Perhaps an empty folder is left where a disk or share was.
                    raise _not_written(result, "it vanished while it was read") from None
                time.sleep(_PAUSE * attempt)
    raise _not_written(result, keeps_changing(path).reason)


class _Attempt:
    """Merges and writes a file once. Raise `Changed` if somebody else changed it meanwhile."""

    def __init__(self, store: Store, result: SyncResult, reading: ReadOptions, progress: ShowProgress | None) -> None:
        self._store, self._result, self._reading, self._progress = store, result, reading, progress
        self._path = result.path
        self._before = fingerprint(self._path)
        self._facts = facts_of(self._path)

    def run(self) -> None:
        """Merge the file, and write it unless it could not be read completely."""
        result, path = self._result, self._path
        result.format = self._facts.format
        check_passphrase(path, self._facts, self._reading.passphrase)
        self._require_passphrase()
        with closing(FileState()) as state:
            if self._facts.exists:
                result.existed = True
                self._merge(state)
                if next(result.errors, None) is not None:
                    if fingerprint(path) != self._before:
                        raise Changed
                    result.count = state.count
                    result.notes.append(_unreadable(path))
                    return
            try:
                self._require_passphrase()
                self._write(state)
            except OSError as error:
                raise _not_written(result, (error.strerror or str(error)).lower()) from error
            except CannotWrite as error:
                raise _not_written(result, error.reason) from error

    def _require_passphrase(self) -> None:
        if self._facts.format != V5:
            require_passphrase(self._store, self._reading.passphrase, self._facts.scope)

    def _merge(self, state: FileState) -> None:
        report = Report(self._progress)
        options = ImportOptions(
            format=FORMAT,
            conflict="merge",
            reading=self._reading,
            watch=state.add,
            writes_back=True,
            dry_run=self._result.dry_run,
        )
        entry = import_into(self._store, [self._path], options, report)
        self._result.add_received(report, None if entry is None else entry.id)

    def _write(self, state: FileState) -> None:
        """Write the file, unless it contains everything already."""
        result, facts, report = self._result, self._facts, Report(self._progress)
        with ExitStack() as stack:
            target = Target(self._path, force=True)
            target.make_folders = False
            if result.dry_run:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="memglot-"))
                target.path = Path(folder) / self._path.name
            replacement = _Union(target, facts, self._before, state, self._reading)
            replacement.path, replacement.store = self._path, self._store
            target.before_replacing = replacement.check
            try:
                write_sync_file(
                    self._store,
                    target,
                    report,
                    scope=facts.scope,
                    audit=facts.has_audit,
                    embeddings=facts.has_embeddings,
                    passphrase=self._reading.passphrase,
                    v5=facts.format == V5,
                )
                result.is_written = True
            except NothingNew:
                result.is_written = False
        result.sent, result.count = replacement.changes, replacement.count
        if facts.scope is not None and (note := _only_scope(self._store, result.path, facts.scope)) not in result.notes:
            result.notes += [note] if note else []
        result.add_notes(report)


def _not_written(result: SyncResult, reason: str) -> CannotWrite:
    """Return the error for a file that could not be written, and say what happened to the store."""
    path = result.path
    if not path.parent.is_dir():
        reason = f"the folder `{path.parent}` is gone"
    error = CannotWrite(str(path), reason)
    kept = "nothing was changed"
    if result.import_ids:
        undo = " and ".join(f"`memglot undo {id}`" for id in result.import_ids)
        kept = f"what came from the file is in the store, and {undo} removes it"
    error.hint = f"{kept}; run the same command again when the file can be written"
    return error


class _Union(Replacement):
    """Also checks that the new file has every memory of the old one that was not deleted."""

    store: Store

    def check_missing(self, ids: Iterator[str]) -> None:
        """Raise `CannotWrite` if the new file lacks memories that were not deleted."""
        lost = elsewhere = 0
        while batch := list(islice(ids, BATCH_SIZE)):
            deleted = {tombstone.id for tombstone in self.store.things.select(Tombstone, batch)}
            moved = self.store.records.get(batch) if self.facts.scope is not None else []
            elsewhere += sum(record.scope != self.facts.scope for record in moved)
            lost += len(set(batch) - deleted)
        if elsewhere:
            scope = quoted(self.facts.scope or "")
            verb = plural(elsewhere, "memory of it is", "memories of it are")
            reason = f"it contains only the scope {scope}, and {verb} in another scope here"
            raise CannotWrite(str(self.path), f"{reason}; move them back, or sync with a file that has all scopes")
        if lost:
            count = plural(lost, "memory that was not deleted", "memories that were not deleted")
            raise CannotWrite(str(self.path), f"the new file would lack {count}, and the format cannot store them")


def _only_scope(store: Store, path: Path, scope: str) -> str:
    """Return the note about memories that a file with only one scope does not get; empty if there are none."""
    count = store.records.count(Filter()) - store.records.count(Filter(scope=(scope,)))
    kept = plural(count, "memory of another scope was", "memories of other scopes were")
    return f"`{path}` contains only the scope {quoted(scope)}; {kept} not sent" if count else ""


def _unreadable(path: Path) -> str:
    """Return the note for a file that is not replaced."""
    return (
        f"`{path}` was not replaced, because not all of it can be read; repair it, or rename it and sync again to "
        "write a new one"
    )


@contextmanager
def scratch_copy(store: Store | None) -> Iterator[Store]:
    """Open a temporary copy of a store, or an empty store; it is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="memglot-") as folder:
        place = os.path.join(folder, "copy.db")
        if store is not None:
            store.copy_to(place)
        copy = open_store(place)
        try:
            yield copy
        finally:
            copy.close()
