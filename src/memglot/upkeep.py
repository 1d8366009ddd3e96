"""History and maintenance of a store: the part of the Python API that people need less often."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Unpack

from memglot.arguments import Filters, make_filter
from memglot.editing import deleted, history, operations
from memglot.errors import NotFound, UsageError
from memglot.importing import undo as import_undo
from memglot.model import Conflict, Event, Record
from memglot.search.semantic import SemanticIndex
from memglot.store.contract import Compaction, Import, Operation, Store
from memglot.store.view import refused
from memglot.tables import to_arrow, to_pandas
from memglot.threads import one_at_a_time

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from memglot.editing.backup import Backup
    from memglot.editing.consolidate import Consolidation
    from memglot.editing.undo import Undone
    from memglot.exporting.verify import Verdict

LAST_OPERATION = "last-operation"
"""What `undo` takes by default."""


@one_at_a_time
class Upkeep:
    """What `Memory` does for the history, the conflicts and the maintenance of its store."""

    _lock: RLock

    @property
    def store(self) -> Store:
        """The underlying store."""
        raise NotImplementedError

    @property
    def meaning(self) -> SemanticIndex:
        """The vectors of the store, for semantic search."""
        raise NotImplementedError

    def _complete_store(self, operation: str) -> Store:
        """Return the store, or raise `UsageError` if this is a view that hides sensitive scopes."""
        if self.store.hidden is not None:
            raise refused(operation)
        return self.store

    def to_pandas(self, **filters: Unpack[Filters]) -> pandas.DataFrame:
        """Return the memories that match the filters of `list` as a DataFrame of pandas."""
        return to_pandas(self.store.records.select(make_filter(**filters)))

    def to_arrow(self, **filters: Unpack[Filters]) -> pyarrow.Table:
        """Return the memories that match the filters of `list` as a table of pyarrow."""
        return to_arrow(self.store.records.select(make_filter(**filters)))

    def undelete_many(
        self,
        *ids: str,
        tree: str | None = None,
        since: Any = None,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Restore memories by their ids, or all that were deleted in a branch of the tree or since a time.

        Return their number. With a tree or a time, memories that were merged into another one stay merged.
        """
        filters = {"tree": tree, "since": since}
        count = deleted.undelete_many(
            self.store, ids, **filters, dry_run=dry_run, restored=self.meaning.embed_restored, progress=progress
        )
        self.mirror_conflicts()
        return count

    def deleted(
        self, *, tree: str | None = None, since: Any = None, limit: int | None = None, offset: int = 0
    ) -> tuple[Sequence[deleted.DeletedMemory], int]:
        """Return deleted memories, the newest deletion first, and the number of all that match.

        They can be limited to a branch of the tree, and to deletions since a time. `undelete` restores one.
        """
        return deleted.deleted(self.store, tree=tree, since=since, limit=limit, offset=offset)

    def history(self, id: str) -> tuple[Sequence[history.Version], str | None]:
        """Return every version of a memory, oldest first, and the import that added it."""
        return history.history(self.store, id)

    def imports(self) -> Iterator[Import]:
        """Return all imports, newest first."""
        return self.store.history.imports()

    def import_report(self, id: str = "last") -> Import:
        """Return the state, counts, errors and notes of an import, by default of the newest."""
        return history.find_import(self.imports(), id)

    def operations(self) -> Iterator[Operation]:
        """Return what was done with this store, imports included, newest first; `undo` takes their ids."""
        return operations.operations(self.store)

    def undo(
        self,
        id: str | None = LAST_OPERATION,
        *,
        force: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Undone:
        """Undo an operation or an import, by default the last operation that is not undone.

        `id` is one of `operations`, or `last` for the newest import, even if it is undone already. What was changed
        since is kept, with a note, unless `force` is set. Undoing an undo does its operation again. `None`, the
        `import_id` of an import that changed nothing, is an error.
        """
        from memglot.editing.undo import undo_operation

        found = self._operation_to_undo(id)
        if found.action == operations.IMPORT:
            undone = import_undo.undo(self.store, found.id, force=force, progress=progress)
        else:
            changed = self.meaning.embed_restored
            undone = undo_operation(self.store, found, force=force, changed=changed, progress=progress)
        self.mirror_conflicts()
        return undone

    def _operation_to_undo(self, id: str | None) -> Operation:
        if id is None:
            raise UsageError("there is no import to undo: it changed nothing", "`undo()` undoes the last operation")
        if id == LAST_OPERATION:
            return operations.last_operation(self.store)
        if id != "last" and (found := operations.find_operation(self.store, id)):
            return found
        try:
            return operations.as_operation(history.find_import(self.store.history.imports(), id))
        except NotFound:
            if id == "last":
                raise
            raise operations.not_found(id) from None

    def conflicts(self, id: str | None = None, field: str | None = None) -> Sequence[Conflict]:
        """Return all conflicts, those of a memory, or those of one of its fields."""
        from memglot.merging import conflicts

        return conflicts.conflicts(self.store, id, field)

    def resolve(self, id: str, field: str | None = None, **choice: Any) -> Record:
        """Resolve a conflict with `take=`, the number of one of its values from 1, or with `value=`, a new one.

        This is an ordinary edit, so it is synced to other machines. The value `None` removes the field.
        """
        from memglot.merging import conflicts

        record = conflicts.resolve_conflict(self.store, id, field, **choice)
        self.mirror_conflicts(record.id)
        return record

    def mirror_conflicts(self, *ids: str) -> None:
        """Update the conflict files in `_conflicts/` next to the store, or only those of some memories.

        Every operation that may change them calls this. The files of hidden memories are left alone.
        """
        from memglot.merging.conflict_files import write_conflict_files

        write_conflict_files(self.store, ids or None)

    def audit_log(self, *, target: str | None = None, limit: int | None = None) -> Sequence[Event]:
        """Return rows of the audit chain, newest first."""
        return history.audit_log(self.store, target=target, limit=limit)

    def audit_imported(self, *, target: str | None = None, limit: int | None = None) -> Sequence[dict[str, Any]]:
        """Return audit rows of other machines and tools that came with imports, newest first."""
        from memglot.exporting import audit_file

        return audit_file.imported_rows(self.store, target=target, limit=limit)

    def audit_verify(self) -> dict[str, Any]:
        """Check the audit chain. It covers all scopes, including hidden ones."""
        return history.audit_verify(self.store)

    def consolidate(self, *, dry_run: bool = False) -> Consolidation:
        """Merge exact duplicates and update strengths; weak memories are not deleted."""
        from memglot.editing.consolidate import consolidate

        result = consolidate(self.store, dry_run=dry_run)
        self.mirror_conflicts()
        return result

    def stats(self) -> dict[str, Any]:
        """Return statistics about the store."""
        from memglot.editing.stats import stats

        return stats(self.store)

    def doctor(self, *, fix: bool = False) -> Verdict:
        """Check the store; with `fix`, rebuild its indexes."""
        from memglot.exporting.verify import verify_store

        if fix:
            self.store.repair()
        return verify_store(self.store)

    def compact(self) -> Compaction:
        """Give the space of what was deleted back to the file system; others can read meanwhile, but not write."""
        return self.store.compact()

    def backup(self, path: str | Path, *, force: bool = False, keep: str | None = None) -> Backup:
        """Write a verified copy of the complete store to a file, or to a new file in a folder.

        `keep`, such as `7d,4w,12m`, then removes older backups from the folder, except the newest one of each of the
        last 7 days, 4 weeks and 12 months that have one. Not possible if sensitive scopes are hidden here.
        """
        from memglot.editing.backup import backup

        return backup(self._complete_store("a backup"), Path(path), force=force, keep=keep)
