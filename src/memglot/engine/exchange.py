"""Exchange: the part of `Memory` that imports, exports and keeps machines in step."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memglot.engine.arguments import choice, make_tags, without_conversations
from memglot.engine.knowledge import Knowledge
from memglot.errors import MemglotError
from memglot.notes import note_embedded, note_unfinished
from memglot.report import Report
from memglot.settings import Passphrase

# The deeds are imported when they are done: a search needs no format, and starts twice as fast without them.
if TYPE_CHECKING:
    from memglot.engine.import_options import ImportOptions
    from memglot.engine.results import ExportResult, ImportResult
    from memglot.engine.sync import RemoteDiff
    from memglot.formats.reading import Input

Progress = Callable[[Report], None]


class Exchange(Knowledge):
    """What `Memory` does with files."""

    def import_from(
        self,
        *inputs: Input,
        format: str | None = None,
        dedup: bool | str | None = None,
        conflict: str | None = None,
        tree: str = "",
        tags: Sequence[str] = (),
        space: str | None = None,
        dry_run: bool = False,
        fail_fast: bool = False,
        lenient: bool = False,
        restore_deleted: bool = False,
        passphrase: Passphrase = None,
        accept_broken_audit: bool = False,
        embed: bool = False,
        isolate: bool = False,
        progress: Progress | None = None,
    ) -> ImportResult:
        """Import files, folders, `-` for standard input, or bytes that are the content itself.

        One bad record never costs its siblings: the result's `errors` name it, and `failed` counts it. `embed` lets
        what was imported be found by meaning at once; `Memory.embed` does so later. With `isolate`, a batch that the
        store refuses costs only itself.
        """
        from memglot.engine.import_options import ImportOptions
        from memglot.engine.own import passed_over
        from memglot.formats.format import Options

        report = Report(progress)
        options = ImportOptions(
            format=format,
            dedup=dedup if isinstance(dedup, str) else "id" if dedup is False else None,
            conflict=conflict,
            tree=tree,
            tags=tuple(make_tags(tags)),
            fail_fast=fail_fast,
            restore_deleted=restore_deleted,
            dry_run=dry_run,
            isolate=isolate,
            sensitive=self._sensitive,
            reading=Options(
                lenient=lenient,
                space=space,
                passphrase=passphrase,
                accept_broken_audit=accept_broken_audit,
                own=passed_over(self._store),
            ),
        )
        choice("dedup", options.dedup, ("content", "id"))
        choice("conflict", conflict, ("skip", "merge", "prefer-local", "prefer-remote"))
        return self._land(inputs, options, report, embed=embed)

    def _land(self, inputs: Sequence[Input], options: ImportOptions, report: Report, *, embed: bool) -> ImportResult:
        """Do an import, or only go through it."""
        from memglot.engine.import_ import import_into
        from memglot.engine.results import ImportResult

        if options.dry_run:
            from memglot.engine.overlay import overlay

            with overlay(self._store) as scratch:
                entry = import_into(scratch, inputs, options, report)
                return ImportResult(report, entry, dry_run=True)
        try:
            entry = import_into(self.store, inputs, options, report)
        finally:
            # What landed before an import was stopped may have clashed, or made a scope sensitive.
            self._mirror_after(report, options.isolate)
        if embed and (done := self.meaning.embed().embedded):
            report.note(note_embedded(done))
        return ImportResult(report, entry, dry_run=False)

    def _mirror_after(self, report: Report, isolate: bool) -> None:
        """Bring the files of conflicts up to date; where batches stand alone, this costs none of them."""
        try:
            self.mirror_conflicts()
        except MemglotError as error:
            if not isolate:
                raise
            report.note(note_unfinished(str(error)))

    def export(
        self,
        path: str | Path | None = None,
        *,
        format: str | None = None,
        limit: int | None = None,
        include_embeddings: bool = False,
        include_conversations: bool = True,
        plain: bool = False,
        layout: str = "flat",
        dialect: str | None = None,
        space: str | None = None,
        force: bool = False,
        stream: Any = None,
        created_at: bool = True,
        progress: Progress | None = None,
        **filters: Any,
    ) -> ExportResult:
        """Write memories to a file or folder, or to a binary stream; without either, `result.content` holds them.

        The filters are those of `list`. An export proves itself: `memglot verify` finds what was cut or edited.
        `dialect="program"` writes what the real tool reads, where that differs from what its page says.
        """
        from memglot.engine.export import ExportOptions, export_to
        from memglot.engine.results import ExportResult
        from memglot.formats.format import Options
        from memglot.formats.target import Target

        choice("layout", layout, ("flat", "kind", "tree"))
        report = Report(progress)
        memory = io.BytesIO() if path is None and stream is None else None
        target = Target(Path(path) if path is not None else None, stream or memory, force=force, plain=plain)
        filter = self._filter(filters)
        options = ExportOptions(
            format=format,
            filter=filter if include_conversations else without_conversations(filter),
            limit=limit,
            closed=not self._sensitive,
            include_embeddings=include_embeddings,
            writing=Options(
                plain=plain,
                layout=layout,
                created_at=created_at,
                dialect=dialect,
                space=space,
                closed=not self._sensitive,
            ),
        )
        used = export_to(self.store, target, options, report)
        return ExportResult(report, used.name, target.path, memory.getvalue() if memory else None)

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
        progress: Progress | None = None,
    ) -> ExportResult:
        """Write memories.json, for another machine, for memoryd or for mcp-memory-service.

        Sensitive scopes are sealed with the passphrase; without one they are refused, unless `plaintext`. With `v5`
        the file is mcp-memory-service's own, and leaves them out.
        """
        from memglot.engine.results import ExportResult
        from memglot.engine.sync import sync_export
        from memglot.formats.target import Target

        report = Report(progress)
        memory = io.BytesIO() if path is None and stream is None else None
        target = Target(Path(path) if path is not None else None, stream or memory, force=force)
        used = sync_export(
            self.store,
            target,
            report,
            scope=scope,
            audit=include_audit_chain,
            embeddings=include_embeddings,
            passphrase=passphrase,
            plaintext=plaintext,
            closed=not self._sensitive,
            v5=v5,
            chunk_size=chunk_size_mb,
        )
        return ExportResult(report, used.name, target.path, memory.getvalue() if memory else None)

    def sync_import(self, path: Input, *, conflict: str = "merge", **options: Any) -> ImportResult:
        """Import memories.json and merge it: `import_from` with that format, and the same options."""
        choice("conflict", conflict, ("merge", "prefer-local", "prefer-remote"))
        return self.import_from(path, format="memories-json", conflict=conflict, **options)

    def diff_with_remote(
        self, path: str | Path, *, passphrase: Passphrase = None, progress: Progress | None = None
    ) -> RemoteDiff:
        """What `sync_import` of a file would do, without doing it."""
        from memglot.engine.sync import diff_with_remote
        from memglot.formats.format import Options

        return diff_with_remote(self.store, path, Options(passphrase=passphrase), Report(progress), self._hidden())
