"""The Python API: everything memglot does with a store."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Unpack

from memglot.arguments import (
    Edits,
    Filters,
    check_choice,
    check_whole_number,
    make_filter,
    make_tags,
    make_temporal,
    parse_size,
    without_conversations,
)
from memglot.display import html_table, plural
from memglot.editing import entities, identity, links, memory, scopes, supersede, tags, tree
from memglot.errors import ClosedStore, MemglotError, NoStore, StoreError, UsageError
from memglot.model import DEFAULT_SCOPE, Document, Entity, Record, Relation, Supersession
from memglot.report import Report, ShowProgress
from memglot.search import run as searching
from memglot.search.parse import parse_filter
from memglot.search.results import Results
from memglot.search.semantic import EmbedResult, SemanticIndex
from memglot.settings import Passphrase
from memglot.store.contract import Store
from memglot.store.hidden import complete
from memglot.store.location import open_store
from memglot.store.own_files import skipped_paths
from memglot.store.view import VisibleStore
from memglot.syncing import Syncing
from memglot.threads import one_at_a_time

# Imports inside methods keep start-up fast: a search needs no format, and starts twice as fast without them.
if TYPE_CHECKING:
    from memglot.exporting.sync_path import SyncResult
    from memglot.formats.core.read import Input
    from memglot.importing.run import ImportOptions
    from memglot.results import ExportResult, ImportResult


@one_at_a_time
class Memory(Syncing):
    """A store of memories. Use it as a context manager, or call `close()`.

    Several threads may use one object: its calls run one after another. Open one object for each thread to run them at
    the same time.

    Optional arguments have the names of the command-line options. Errors are `memglot.MemglotError`: their text says
    what went wrong, and their `hint` what to do next.
    """

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._lock = RLock()
        self._is_closed = False
        self._meaning: SemanticIndex | None = None

    @classmethod
    def open(cls, url: str | Path | None = None, *, write: bool = True, sensitive: bool = True) -> Memory:
        """Open a store: a path, `sqlite:///path` or `:memory:`; by default `$MEMGLOT_STORE` or the user's store.

        With `write=False` the store must exist and is never changed. With `sensitive=False` sensitive scopes are
        hidden: their memories cannot be shown, found, counted, exported, added, changed or deleted.
        """
        store = open_store(url, write=write)
        return cls(store if sensitive else VisibleStore(store))

    @classmethod
    def open_for_dry_run(cls, url: str | Path | None = None) -> Memory:
        """Open a store for `import_from(dry_run=True)`; it need not exist and is not created."""
        try:
            return cls.open(url, write=False)
        except NoStore:
            return cls(None)

    @property
    def notes(self) -> list[str]:
        """Warnings about the store, such as an incomplete index."""
        return self._store.notes if self._store else []

    def close(self) -> None:
        """Close the store; a second call does nothing."""
        self._is_closed = True
        if self._store is not None:
            self._store.close()

    def __repr__(self) -> str:
        return f"Memory({self._store.url if self._store else None!r}, {self._describe()})"

    def _repr_html_(self) -> str:
        return html_table((), [("store", self._store.url if self._store else None), ("memories", self._describe())])

    def _describe(self) -> str:
        """Return what can be said of the store without waiting for another thread, and without an error."""
        if self._store is None or self._is_closed:
            return "closed" if self._store else "dry run"
        if not self._lock.acquire(blocking=False):
            return "in use"
        try:
            return plural(self._store.records.count(), "memory")
        except MemglotError as error:
            return error.code
        finally:
            self._lock.release()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def store(self) -> Store:
        """The underlying store."""
        if self._store is None:
            raise NoStore("dry run")
        if self._is_closed:
            raise ClosedStore(self._store.url)
        return self._store

    def _open_store(self) -> Store | None:
        return None if self._store is None else self.store

    @property
    def hides(self) -> bool:
        """Return True if the store has sensitive scopes that are hidden here."""
        return self.store.hidden is not None and bool(self.store.hidden.scopes)

    @property
    def meaning(self) -> SemanticIndex:
        """The vectors of the store, for semantic search."""
        store = self.store
        if self._meaning is None:
            self._meaning = SemanticIndex(store)
        return self._meaning

    # One memory

    def add(
        self,
        content: str,
        *,
        id: str = "",
        title: str | None = None,
        kind: str = "semantic",
        scope: str = "user",
        tree: str = "",
        tags: Sequence[str] = (),
        meta: dict[str, Any] | None = None,
        temporal: Any = None,
        strength: float | None = None,
        confidence: float | None = None,
        source: dict[str, Any] | None = None,
    ) -> Record:
        """Add a memory and return it with its id. `source` says where it is from, such as `{"tool": "codex"}`."""
        record = Record(
            id=id,
            content=content,
            title=title,
            kind=kind,
            scope=scope,
            tree=tree,
            tags=make_tags(tags),
            meta=meta or {},
            temporal=make_temporal(temporal),
            strength=strength,
            confidence=confidence,
            source=source or {},
        )
        # One transaction, because each waits for the disk.
        with self.store.writing():
            added = memory.add(self.store, record)
            self.meaning.embed_new([added.id])
        return added

    def get(self, id: str) -> Record:
        """Return the memory with this id, or the only one whose id begins or ends with these six or more characters."""
        return memory.get(self.store, id)

    def list(
        self, *, limit: int | None = None, offset: int = 0, newest_first: bool = False, **filters: Unpack[Filters]
    ) -> Iterator[Record]:
        """Return memories, oldest first.

        Filters: `tree tags without_tags kind scope status meta source`, `since until updated_since updated_until`, and
        `temporal_` with `contains overlaps within before after`. A memory must match all that are given.
        """
        return self.store.records.select(make_filter(**filters), newest_first=newest_first, limit=limit, offset=offset)

    def count(self, **filters: Unpack[Filters]) -> int:
        """Return the number of memories that match the filters of `list`."""
        return self.store.records.count(make_filter(**filters))

    def update(
        self, id: str, *, add_tags: Sequence[str] = (), remove_tags: Sequence[str] = (), **changes: Unpack[Edits]
    ) -> Record:
        """Change fields of a memory, such as `content`, `tree`, `tags` or `meta`; each replaces the old value."""
        wanted = tags.make_changes({**changes}, add_tags, remove_tags)
        with self.store.writing():
            record = memory.get(self.store, id)
            record = memory.update(self.store, record.id, wanted.of(record))
            self.meaning.embed_new([record.id])
        self.mirror_conflicts(record.id)
        return record

    def update_many(
        self,
        *ids: str,
        where: str | None = None,
        changes: Edits | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
        **filters: Unpack[Filters],
    ) -> int:
        """Change fields of the memories with these ids, or of all that match the filters of `list`.

        Return the number of memories that differ afterwards. `changes` has the fields of `update`, such as
        `{"tree": "archive"}`; `where` has filters as in a search, such as `tag:old -tag:kept before:2024`. Large
        numbers are changed in batches; after an interruption, the same call changes the rest.
        """
        wanted = tags.make_changes({**(changes or {})}, add_tags, remove_tags)
        if ids and (filters or where is not None):
            raise UsageError("ids cannot be combined with filters", "give ids, or filters")
        filter = make_filter(**filters)
        selected = ids or (filter if where is None else parse_filter(where, filter))
        count = tags.update_many(self.store, selected, wanted, dry_run=dry_run, progress=progress)
        self.mirror_conflicts()
        return count

    def delete(self, *ids: str, reason: str = "") -> Sequence[str]:
        """Delete memories and return their ids; `undelete` restores one."""
        gone = memory.delete(self.store, ids, reason=reason)
        self.mirror_conflicts(*gone)
        return gone

    def undelete(self, id: str) -> Record:
        """Restore a deleted memory."""
        record = memory.undelete(self.store, id)
        self.meaning.embed_new([record.id])
        self.mirror_conflicts(record.id)
        return record

    def link(self, subject: str, predicate: str, object: str, *, weight: float | None = None) -> Relation:
        """Add a relation between two memories, or entities given as `entity:<id>`."""
        return links.link(self.store, subject, predicate, object, weight=weight)

    def unlink(self, subject: str, predicate: str, object: str) -> int:
        """Remove a relation and return how many there were."""
        return links.unlink(self.store, subject, predicate, object)

    # Many

    def search(
        self,
        query: str,
        *,
        limit: int | None = 10,
        offset: int = 0,
        mode: str = "hybrid",
        meaning: str | None = None,
        grep: str | None = None,
        context: int = 0,
        budget: int | None = None,
        touch: bool = False,
        **filters: Unpack[Filters],
    ) -> Results:
        """Search memories, best match first. Modes: `hybrid`, `fulltext`, `semantic`.

        A memory must contain every `"quoted phrase"` and no `-word`; `tag:x kind:x tree:a.b scope:x status:x`,
        `before:2024-05` and `after:2024` filter as the filters of `list` do. Each result says why it matches.
        `meaning` is another wording for the semantic part of the search. `context` adds this many memories before and
        after each result; `budget` packs the results into `block`, of at most this many tokens; `touch` records an
        access for each result.
        """
        check_choice("mode", mode, searching.MODES)
        for name, value in {"limit": limit, "offset": offset, "context": context, "budget": budget}.items():
            check_whole_number(name, value)
        wanted = searching.SearchOptions(
            mode=mode,
            limit=-1 if limit is None else limit,
            offset=max(offset, 0),
            meaning=meaning,
            grep=grep,
            context=context,
            budget=budget,
            touch=touch,
        )
        return searching.search(self.store, self.meaning, query, make_filter(**filters), wanted)

    def embed(
        self, model: str | None = None, *, again: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> EmbedResult:
        """Build vectors for semantic search, for memories without one or, with `again`, for all.

        `model` names another embedder, whose vectors replace all others.
        """
        return self.meaning.embed(model, again=again, progress=progress)

    def tags(self, **filters: Unpack[Filters]) -> Sequence[tags.TagCount]:
        """Return all tags with the number of their memories, the most common first; takes the filters of `list`."""
        return tags.count_tags(self.store, make_filter(**filters))

    def rename_tag(
        self, old: str, new: str, *, dry_run: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Rename a tag in all memories that have it and return their number; `new` may be a tag that exists."""
        count = tags.rename_tag(self.store, old, new, dry_run=dry_run, progress=progress)
        self.mirror_conflicts()
        return count

    def tree(self, path: str = "", *, depth: int | None = None) -> Sequence[tree.Branch]:
        """Return the tree at and below a path, with counts."""
        return tree.branches(self.store, path, depth)

    def move(
        self, source: str, target: str, *, dry_run: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Move a branch of the tree and return the number of its memories.

        Large branches are moved in batches, like `copy` and `delete_tree`; after an interruption, the same call
        finishes the rest.
        """
        count = tree.move(self.store, source, target, dry_run=dry_run, progress=progress)
        self.mirror_conflicts()
        return count

    def copy(
        self, source: str, target: str, *, dry_run: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Copy a branch of the tree under new ids and return the number of copies.

        Memories that are at the target already, with the same text, kind and scope, are not copied again.
        """
        return tree.copy(self.store, source, target, dry_run=dry_run, progress=progress)

    def delete_tree(
        self,
        path: str,
        *,
        dry_run: bool = False,
        reason: str = "",
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Delete a branch of the tree and return the number of its memories."""
        count = tree.delete_tree(self.store, path, dry_run=dry_run, reason=reason, progress=progress)
        self.mirror_conflicts()
        return count

    # Scopes, identity, entities and relations

    def scopes(self) -> Sequence[scopes.Scope]:
        """Return every scope, with the number of its memories and whether it is sensitive."""
        return scopes.scopes(self.store)

    def mark_sensitive(self, *names: str) -> Sequence[str]:
        """Mark scopes as sensitive, so that exports leave them out; return those that were not."""
        return self._mark(names, sensitive=True)

    def mark_normal(self, *names: str) -> Sequence[str]:
        """Mark scopes as not sensitive; return those that were. Not possible if sensitive scopes are hidden here."""
        self._complete_store("marking scopes as normal")
        return self._mark(names, sensitive=False)

    def _mark(self, names: Sequence[str], *, sensitive: bool) -> Sequence[str]:
        from memglot.merging.conflict_files import write_conflict_files

        ids = None if self.store.hidden is None else [conflict.record for conflict in self.conflicts()]
        changed = scopes.mark_all(self.store, names, sensitive=sensitive)
        # Remove texts that are sensitive now from the conflict files, also those of memories that are hidden now.
        write_conflict_files(complete(self.store), ids)
        return changed

    def identity(self, scope: str = DEFAULT_SCOPE) -> Document | None:
        """Return the identity text of a scope, by default the user's; `None` if there is none."""
        return identity.identity(self.store, scope)

    def set_identity(self, text: str, scope: str = DEFAULT_SCOPE) -> Document:
        """Set the identity text of a scope; `identity_history` keeps the previous ones."""
        return identity.set_identity(self.store, text, scope)[0]

    def identity_history(self, scope: str = DEFAULT_SCOPE) -> Sequence[Document]:
        """Return every identity text of a scope, the current one last."""
        return identity.identity_history(self.store, scope)

    def entities(self, query: str | None = None, *, type: str | None = None) -> Iterator[Entity]:
        """Return all entities, or those whose name, alias or id contains the query."""
        return entities.entities(self.store, query, type)

    def add_entity(self, name: str, type: str, *, aliases: Sequence[str] = (), scope: str | None = None) -> Entity:
        """Add an entity with the id `entity:<type>:<name>`; an existing one gets the new aliases."""
        return entities.add_entity(self.store, name, type, [aliases] if isinstance(aliases, str) else aliases, scope)

    def relations(self, id: str | None = None, *, predicate: str | None = None) -> Iterator[Relation]:
        """Return all relations, or those of one memory or `entity:<id>`, or with one predicate."""
        return (found for found in self._relations(id) if predicate in (None, found.predicate))

    def _relations(self, id: str | None) -> Iterator[Relation]:
        if id is None:
            yield from self.store.things.select(Relation)
            return
        end = links.parse_endpoint(self.store, id).id
        yield from self.store.things.select(Relation, [end])
        yield from (found for found in self.store.things.by_second_key(Relation, end) if found.subject.id != end)

    def supersede(self, newer: str, older: str, *, reason: str = "", entity: str | None = None) -> Supersession:
        """Replace a memory with a newer one; the older one gets the status `superseded`."""
        found, _ = supersede.supersede(self.store, newer, older, reason=reason, entity=entity)
        self.mirror_conflicts(found.newer, found.older)
        return found

    def chain(self, id: str | None = None) -> Sequence[Supersession]:
        """Return superseded memories and their replacements, oldest first: all, or the chain of one memory."""
        return supersede.supersessions(self.store, id)

    # Import, export and sync

    def import_from(
        self,
        *inputs: Input,
        format: str | None = None,
        dedup: bool | str | None = None,
        conflict: str | None = None,
        tree: str = "",
        tree_from: str | None = None,
        prune: bool | Callable[[str], bool] = False,
        tags: Sequence[str] = (),
        space: str | None = None,
        dry_run: bool = False,
        fail_fast: bool = False,
        lenient: bool = False,
        restore_deleted: bool = False,
        allow_duplicates: bool = False,
        passphrase: Passphrase = None,
        accept_broken_audit: bool = False,
        embed: bool = True,
        isolate: bool = False,
        max_record: int | str | None = None,
        map: str | Mapping[str, str] | Sequence[str] | None = None,
        table: str | None = None,
        progress: ShowProgress | None = None,
    ) -> ImportResult:
        """Import files, folders, `-` for standard input, or bytes that are the content itself.

        What was imported before is skipped, unless `allow_duplicates` is set. `errors` lists invalid records; with
        `isolate`, also batches that the store rejects. A path that does not exist is an error, before anything is
        imported. `prune` deletes memories whose notes are gone from a vault; a function is asked if that may be a
        mistake. `map` reads tables by the columns of fields, such as `{"content": "text"}`; `"auto"` guesses them.
        """
        from memglot.formats.base import ReadOptions
        from memglot.importing.run import ImportOptions
        from memglot.importing.tables import table_options

        options = ImportOptions(
            format=format,
            dedup=dedup if isinstance(dedup, str) else "id" if dedup is False else None,
            conflict=conflict,
            tree=tree,
            tree_from=tree_from,
            prune=prune,
            tags=tuple(make_tags(tags)),
            fail_fast=fail_fast,
            restore_deleted=restore_deleted,
            allow_duplicates=allow_duplicates,
            dry_run=dry_run,
            isolate=isolate,
            reading=ReadOptions(
                lenient=lenient,
                max_record=parse_size(max_record),
                space=space,
                passphrase=passphrase,
                accept_broken_audit=accept_broken_audit,
                own=skipped_paths(self._store),
                **table_options(map, table, format),
            ),
        )
        return self._import(inputs, options, Report(progress), embed=embed)

    def _import(self, inputs: Sequence[Input], options: ImportOptions, report: Report, *, embed: bool) -> ImportResult:
        """Run an import, or a dry run of one."""
        from memglot.formats.core.read import check_exists
        from memglot.importing.run import import_into
        from memglot.results import ImportResult

        _check_choices(options)
        self._open_store()
        for given in inputs:
            check_exists(given)
        if options.dry_run:
            from memglot.store.overlay import overlay

            with overlay(self._store) as scratch:
                entry = import_into(scratch, inputs, options, report)
                return ImportResult(report, entry, dry_run=True)
        try:
            entry = import_into(self.store, inputs, options, report)
        finally:
            # An import that was stopped may have added conflicts, or made a scope sensitive.
            self._update_conflict_files(report, options.isolate)
        result = ImportResult(report, entry, dry_run=False)
        if embed:
            self.embed_imported(result, progress=report.progress.count_embedded)
        return result

    def embed_imported(
        self, result: ImportResult | SyncResult, *, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Build the missing vectors after an import without `embed`; the notes of the result say if any are left."""
        result.embedded, note = self.meaning.complete(progress=progress)
        if note is not None:
            result.notes.append(note)

    def _update_conflict_files(self, report: Report, isolate: bool) -> None:
        """Update the conflict files; with `isolate`, only note a failure."""
        try:
            self.mirror_conflicts()
        except MemglotError as error:
            if not isolate:
                raise
            report.note_unfinished(error)

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
        for_spreadsheets: bool = False,
        one_note_per: str | None = None,
        progress: ShowProgress | None = None,
        **filters: Unpack[Filters],
    ) -> ExportResult:
        """Write memories to a file, a folder or a binary stream; without any, `result.content` contains them.

        The filters are those of `list`. `memglot verify` finds out whether an export was truncated or edited.
        `dialect="program"` writes what the original tool reads where that differs from its documentation, and
        `dialect="0.8"` what Memory Engine 0.8 reads. `for_spreadsheets` marks cells of a CSV that would run as code.
        `one_note_per="conversation"` writes each conversation as one note of a vault.
        """
        from memglot.exporting.run import ExportOptions, export_to
        from memglot.formats.base import WriteOptions
        from memglot.formats.core.target import Target
        from memglot.results import ExportResult

        check_choice("layout", layout, ("flat", "kind", "tree"))
        report = Report(progress)
        memory = io.BytesIO() if path is None and stream is None else None
        target = Target(Path(path) if path is not None else None, stream or memory, force=force, plain=plain)
        filter = make_filter(**filters)
        writing = WriteOptions(plain=plain, layout=layout, created_at=created_at, dialect=dialect, space=space)
        writing = replace(writing, for_spreadsheets=for_spreadsheets, one_note_per=one_note_per)
        options = ExportOptions(
            format=format,
            filter=filter if include_conversations else without_conversations(filter),
            limit=limit,
            include_embeddings=include_embeddings,
            partial=True,
            writing=writing,
        )
        used, exchange = export_to(self.store, target, options, report)
        result = ExportResult(report, used.name, target.path, memory.getvalue() if memory else None, exchange)
        if self.store.is_writable and not result.is_partial:
            try:
                self.remember_export(result)
            except StoreError as error:
                result.note_forgotten(error)
        return result

    def remember_export(self, result: ExportResult) -> None:
        """Remember what an export wrote for another tool, so that only what the tool changes is imported again.

        `export` does this itself, unless the store was opened for reading only.
        """
        if result.exchange is not None and len(result.exchange):
            result.exchange.remember(self.store)

    def sync_import(self, path: Input, *, conflict: str = "merge", **options: Any) -> ImportResult:
        """Import memories.json and merge it; takes the options of `import_from`."""
        check_choice("conflict", conflict, ("merge", "prefer-local", "prefer-remote"))
        return self.import_from(path, format="memories-json", conflict=conflict, **options)


def _check_choices(options: ImportOptions) -> None:
    """Raise `UsageError` for a choice that does not exist."""
    check_choice("dedup", options.dedup, ("content", "id"))
    check_choice("conflict", options.conflict, ("skip", "merge", "prefer-local", "prefer-remote"))
    check_choice("tree_from", options.tree_from, ("folders",))
