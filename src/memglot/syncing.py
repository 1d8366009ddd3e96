"""Syncing a store with other machines through memories.json: part of the Python API."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memglot.report import Report, ShowProgress
from memglot.settings import Passphrase
from memglot.store.contract import Store
from memglot.threads import one_at_a_time
from memglot.upkeep import Upkeep

# Imports inside methods keep start-up fast.
if TYPE_CHECKING:
    from memglot.exporting.sync import RemoteDiff
    from memglot.exporting.sync_path import SyncResult
    from memglot.results import ExportResult, ImportResult


@one_at_a_time
class Syncing(Upkeep):
    """What `Memory` does with memories.json."""

    def _open_store(self) -> Store | None:
        """Return the store; `None` for a dry run without one."""
        raise NotImplementedError

    def embed_imported(
        self, result: ImportResult | SyncResult, *, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Build the missing vectors after an import."""
        raise NotImplementedError

    def sync(
        self,
        path: str | Path,
        *,
        passphrase: Passphrase = None,
        max_record: int | str | None = None,
        dry_run: bool = False,
        embed: bool = True,
        progress: ShowProgress | None = None,
    ) -> SyncResult:
        """Merge a memories.json that several machines share, and write the union back to it.

        The file is created if it does not exist; of a folder, it is the `memories.json` in it. `received` and `sent`
        of the result count what each side got. An encrypted file needs its `passphrase`, and stays encrypted.
        """
        from memglot.exporting.sync_path import SyncOptions, scratch_copy, sync_path

        store = self._open_store()
        if store is not None:
            self._complete_store("syncing")
        options = SyncOptions(passphrase=passphrase, max_record=max_record, dry_run=dry_run)
        if dry_run:
            with scratch_copy(store) as copy:
                return sync_path(copy, Path(path), options, progress)
        try:
            result = sync_path(self.store, Path(path), options, progress)
        finally:
            self.mirror_conflicts()
        if embed:
            self.embed_imported(result, progress=Report(progress).progress.count_embedded)
        return result

    def sync_export(
        self,
        path: str | Path | None = None,
        *,
        scope: str | None = None,
        include_audit_chain: bool = False,
        include_embeddings: bool = False,
        passphrase: Passphrase = None,
        plaintext: bool = False,
        v5: bool = False,
        chunk_size_mb: int = 5,
        force: bool = False,
        stream: Any = None,
        progress: ShowProgress | None = None,
    ) -> ExportResult:
        """Write memories.json for another machine, for memoryd or for mcp-memory-service.

        Sensitive scopes are encrypted with the passphrase; without one the export is refused, unless `plaintext`. With
        `v5` the file has mcp-memory-service's own format and leaves them out. A file that contains what this store has
        not seen is replaced only with `force`; one that contains everything already stays as it is.
        """
        from memglot.exporting.sync import sync_export
        from memglot.formats.core.target import Target
        from memglot.results import ExportResult

        report = Report(progress)
        memory = io.BytesIO() if path is None and stream is None else None
        target = Target(Path(path) if path is not None else None, stream or memory, force=force)
        used, is_written = sync_export(
            self.store,
            target,
            report,
            scope=scope,
            audit=include_audit_chain,
            embeddings=include_embeddings,
            passphrase=passphrase,
            plaintext=plaintext,
            v5=v5,
            chunk_size=chunk_size_mb,
        )
        content = memory.getvalue() if memory else None
        return ExportResult(report, used.name, target.path, content, is_written=is_written)

    def diff_with_remote(
        self,
        path: str | Path,
        *,
        passphrase: Passphrase = None,
        max_record: int | str | None = None,
        progress: ShowProgress | None = None,
    ) -> RemoteDiff:
        """Return what `sync_import` of a file would change; nothing is changed."""
        from memglot.exporting.sync import diff_with_remote

        return diff_with_remote(self.store, path, Report(progress), passphrase=passphrase, max_record=max_record)
