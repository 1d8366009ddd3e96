"""Upkeep: the part of `Memory` that looks at a store's past and cares for the store itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from memglot.engine import past, undo
from memglot.engine.arguments import make_filter
from memglot.engine.meaning import Meaning
from memglot.engine.scopes import sensitive_scopes
from memglot.errors import NoStore
from memglot.model import Conflict, Event, Record
from memglot.report import Report
from memglot.store.asking import Filter
from memglot.store.contract import Import, Store

# As in `exchange.py`, the deeds are imported when they are done.
if TYPE_CHECKING:
    from memglot.engine.consolidate import Consolidation
    from memglot.engine.results import ImportResult
    from memglot.engine.verify import Verdict


class Upkeep:
    """What `Memory` does with the past of a store, and for its health."""

    _store: Store | None
    _sensitive = True

    @property
    def store(self) -> Store:
        """The store underneath."""
        if self._store is None:
            raise NoStore("dry run")
        return self._store

    def _hidden(self) -> frozenset[str]:
        """The scopes that are not shown."""
        return frozenset() if self._sensitive else sensitive_scopes(self.store)

    @property
    def hides(self) -> bool:
        """Tell whether the store has sensitive scopes that are not shown."""
        return bool(self._hidden())

    def _filter(self, filters: dict[str, Any]) -> Filter:
        """A filter that lets only through what is shown."""
        filter, hidden = make_filter(**filters), self._hidden()
        return replace(filter, without_scopes=(*filter.without_scopes, *sorted(hidden))) if hidden else filter

    @cached_property
    def meaning(self) -> Meaning:
        """What the store knows of the meaning of its memories."""
        return Meaning(self.store)

    def history(self, id: str) -> tuple[Sequence[past.Version], str | None]:
        """Every version of a memory, oldest first, and the import that brought it."""
        return past.history(self.store, id)

    def imports(self) -> Iterator[Import]:
        """All imports, newest first.

        Where sensitive scopes are not shown, those of people to whom they were are not either: counts, errors and the
        names of files may tell of them.
        """
        hides = self.hides
        return (entry for entry in self.store.imports() if entry.closed or not hides)

    def import_report(self, id: str = "last") -> Import:
        """What was recorded of an import: its state, counts, errors and notes; by default of the newest."""
        return past.find_import(self.imports(), id)

    def undo(self, import_id: str, *, force: bool = False) -> ImportResult:
        """Undo an import, or the `last` one: `imported` counts what was removed, `merged` what was put back."""
        from memglot.engine.results import ImportResult

        report = Report()
        entry = undo.undo(self.store, import_id, report, force=force)
        self.mirror_conflicts()
        return ImportResult(report, entry, dry_run=False)

    def conflicts(self, id: str | None = None, field: str | None = None) -> Sequence[Conflict]:
        """Values that no rule decides between: all, those of a memory, or of one of its fields."""
        from memglot.engine import conflicts

        return conflicts.conflicts(self.store, id, field)

    def resolve(self, id: str, field: str | None = None, **choice: Any) -> Record:
        """Settle a conflict with `take=`, the number of one of its values from 1, or with `value=`, another one.

        It is an ordinary edit, so it travels to other machines. `None` as the value takes the field away.
        """
        from memglot.engine import conflicts

        record = conflicts.settle(self.store, id, field, **choice)
        self.mirror_conflicts(record.id)
        return record

    def mirror_conflicts(self, *ids: str) -> None:
        """Bring the files in `_conflicts/` beside the store up to date, or only those of some memories.

        Every deed that may change them does so.
        """
        from memglot.engine.mirror import mirror

        mirror(self.store, ids or None)

    def audit_log(self, *, target: str | None = None, limit: int | None = None) -> Sequence[Event]:
        """Rows of the audit chain, newest first."""
        return past.audit_log(self.store, target=target, limit=limit)

    def audit_imported(self, *, target: str | None = None, limit: int | None = None) -> Sequence[dict[str, Any]]:
        """Rows of other machines' and tools' chains that came with imported files, newest first."""
        from memglot.engine import audit

        return audit.imported_rows(self.store, target=target, limit=limit)

    def audit_verify(self) -> dict[str, Any]:
        """Whether the audit chain is whole."""
        return past.audit_verify(self.store)

    def consolidate(self, *, dry_run: bool = False) -> Consolidation:
        """Merge exact doubles and bring strengths up to date; nothing is deleted for being weak."""
        from memglot.engine.consolidate import consolidate

        result = consolidate(self.store, dry_run=dry_run)
        self.mirror_conflicts()
        return result

    def stats(self) -> dict[str, Any]:
        """How much of what the store keeps."""
        from memglot.engine import care

        return care.stats(self.store)

    def doctor(self, *, fix: bool = False) -> Verdict:
        """Check the store; with `fix`, rebuild its indexes."""
        from memglot.engine import care

        return care.doctor(self.store, fix=fix)

    def backup(self, path: str | Path, *, force: bool = False) -> int:
        """Write a clean copy of the whole store; tells its size in bytes."""
        from memglot.engine import care

        return care.backup(self.store, Path(path), force=force)
