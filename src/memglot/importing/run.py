"""Import: plan what readers yield, and write it to the store in batches, each in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import msgspec

from memglot.display import first_few, plural, printable, quoted
from memglot.editing.scopes import mark_all
from memglot.errors import StoreError
from memglot.formats import registry
from memglot.formats.base import STORE, ReadOptions
from memglot.formats.core.audit_chain import is_audit
from memglot.formats.core.read import Input, Read, read_inputs
from memglot.importing.access import refuse_hidden_records
from memglot.importing.apply import BatchWriter
from memglot.importing.duplicates import Duplicates
from memglot.importing.folder_tree import FOLDERS, tree_in_folders
from memglot.importing.imported_before import ImportedBefore
from memglot.importing.landed import LandedLines, Part, is_new
from memglot.importing.plan import BatchPlan, Planner
from memglot.importing.prune import (
    NOT_ALL_READ,
    Confirm,
    Vanished,
    check_prunable,
    find_vanished,
    is_vault,
    not_a_vault,
    tombstones,
)
from memglot.importing.replaced_edits import replaced_edits
from memglot.importing.summary import ImportSummary
from memglot.merging.shared_tags import add_shared_tags, missing_shared_tags
from memglot.merging.things import ThingChanges
from memglot.merging.tool_edits import tool_format
from memglot.model import Blob, Item, Minter, Record, Thing, Tombstone, assign_id_and_times, check_tree, now
from memglot.report import FailFast, Place, Report, Stopped
from memglot.settings import BATCH_BYTES, BATCH_SIZE
from memglot.store.contract import Import, Store
from memglot.store.hidden import HiddenScopes

_KEPT_ERRORS = 100
"""Number of errors that the store's entry of an import keeps."""


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import."""

    format: str | None = None
    dedup: str | None = None
    conflict: str | None = None
    tree: str = ""
    tree_from: str | None = None
    """`folders` to give memories without a path in the tree that of the folder in which they were read."""
    prune: bool | Confirm = False
    """Whether to delete memories whose notes are gone from a vault; a function asks where that may be a mistake."""
    tags: tuple[str, ...] = ()
    fail_fast: bool = False
    restore_deleted: bool = False
    allow_duplicates: bool = False
    """Whether records without an id are imported again if they were imported before."""
    dry_run: bool = False
    isolate: bool = False
    """Whether a batch that the store refuses is reported and skipped, so that the others are still imported."""
    reading: ReadOptions = field(default_factory=ReadOptions)
    watch: Callable[[Item], object] | None = None
    """Called with each item as it was read, before it is imported."""
    writes_back: bool = False
    """Whether the input is replaced afterwards, and then lacks what was deleted here."""


def import_into(store: Store, inputs: Iterable[Input], options: ImportOptions, report: Report) -> Import | None:
    """Import all items of the inputs. Return the store's entry of this import; `None` if nothing changed."""
    inputs = list(inputs)
    if options.prune:
        check_prunable(inputs, options.format)
    format = registry.get(options.format) if options.format not in (None, "auto") else None
    if options.reading.columns is not None:
        format = registry.get("table")
    names = ["content" if isinstance(given, bytes) else printable(str(given)) for given in inputs]
    stack = ExitStack()
    importer = _Importer(store, options, report, names, stack)
    if options.tree_from == FOLDERS:
        importer.folders = [str(given) for given in inputs if not isinstance(given, bytes)]
    try:
        with stack:
            stack.callback(importer.close)
            report.fail_fast = options.fail_fast
            importer.run(read_inputs(inputs, format, report, options.reading), inputs if options.prune else ())
    except StoreError as error:
        if not (options.isolate and importer.started):
            raise
        # Every batch that could be stored is stored; only the work after the batches failed.
        report.note_unfinished(error)
    return importer.entry if importer.started else None


class _Importer:
    """Collects items into batches, and writes them."""

    def __init__(
        self, store: Store, options: ImportOptions, report: Report, names: list[str], stack: ExitStack
    ) -> None:
        self.store, self.options, self.report, self._stack = store, options, report, stack
        # Exact, because operations of the same millisecond are listed, and undone, in order.
        at = now()
        self._minter = Minter(at // 1000)
        self.entry = Import(
            id=self._minter.mint(),
            at=at,
            sources=names,
            format="",
            closed=store.hidden is not None,
        )
        self.started = False
        """Whether anything was written."""
        self._records: list[Record] = []
        self._sources: list[str] = []
        """The input of each record, if some may be refused."""
        self._size = 0
        self._things: list[Thing] = []
        self._ids: set[str] = set()
        """Ids of the records in this batch."""
        self._has_tombstones = False
        self._format = self._source = ""
        self._merges_store = False
        self._summary = ImportSummary(report)
        tree = check_tree(options.tree)
        self._imported_before = ImportedBefore(store, self.entry.id, allow=options.allow_duplicates)
        self._planner = Planner(store, self.entry, options.restore_deleted, self._imported_before, tree, options.tags)
        self.duplicates = Duplicates(store)
        self._writer = BatchWriter(store, self.duplicates, self.entry.at)
        self.folders: list[str] = []
        """The inputs whose folders become paths in the tree."""
        decides = {"dedup": options.dedup, "conflict": options.conflict, "tree": tree, "tags": list(options.tags)}
        self._landed = LandedLines(store, report, decides, options.reading, self._flush)
        if not options.dry_run and options.tree_from is None and options.watch is None:
            report.begin_lines = self._landed.begin
        self._part: Part | None = None
        """What is known of the lines of the batch that is written."""
        self._seen_sensitive: set[str] = set()
        self._newly_sensitive: list[str] = []
        self._pruned = 0

    def close(self) -> None:
        """Delete the files on disk."""
        self.duplicates.close()
        self._imported_before.close()

    def run(self, reads: Iterable[Read], vaults: Iterable[Input] = ()) -> None:
        """Import items, each with the place it was read from; then delete what is gone from some vaults."""
        try:
            with suppress(FailFast):
                for item, place in reads:
                    self._add(item, place)
            with suppress(FailFast):
                self._flush()
                self._flush_waiting()
                for vault in self._prunable(vaults):
                    self._prune(Path(str(vault)))
            if self.started:
                self._writer.update_redirects(self.entry.id)
            self._share_tags()
        except Stopped:
            self._finish("stopped")
            raise
        self._finish("done")

    def _prunable(self, vaults: Iterable[Input]) -> list[Input]:
        """Return the vaults, if all of their notes were read: a note that is gone may be one that was moved."""
        found = list(vaults)
        if found and self.report.has_unread:
            self.report.note(NOT_ALL_READ)
            return []
        return found

    def _prune(self, folder: Path) -> None:
        """Delete the memories whose notes are gone from a vault; those with other notes only lose their place."""
        if not folder.is_dir():
            return
        if not is_vault(folder, self.options.format):
            self.report.note(not_a_vault(folder))
            return
        found = find_vanished(self.store, folder, self.options.reading.space or folder.resolve().name)
        if not found.paths or not self._may_prune(found):
            return
        self._set_format("obsidian")
        before = self._writer.deleted
        for tombstone in tombstones(found.deleted, self._minter.milliseconds * 1000):
            self._add_thing(tombstone)
        self._flush()
        if found.moved:
            with self.store.writing():
                self._write(BatchPlan(extended=found.moved), ThingChanges())
        deleted = self._writer.deleted - before
        self._pruned += deleted
        self.report.note(found.note(deleted, dry_run=self.options.dry_run))

    def _may_prune(self, found: Vanished) -> bool:
        """Return True if no question is needed, or if the answer is yes."""
        question, prune = found.question, self.options.prune
        if self.options.dry_run or not question:
            return True
        if callable(prune) and prune(f"{question}. Delete their memories?"):
            return True
        self.report.note(f"deleted nothing: {question}; check the folder, then use `--prune --yes`")
        return False

    def _add(self, item: Item, place: Place) -> None:
        """Add an item to the batch; write the batch if it is full."""
        if self.options.watch is not None:
            self.options.watch(item)
        self._source = place.source
        if place.format != self._format:
            self._flush()
            self._flush_waiting()
            self._set_format(place.format)
        if not isinstance(item, Record):
            self._add_thing(item)
            return
        item.modified_at = item.modified_at or place.modified_at
        item.tree = item.tree or tree_in_folders(place.source, self.folders)
        if self._has_tombstones:
            # A record after a deletion is merged with the deletion in the store.
            self._flush()
        if item.id:
            if item.id in self._ids and self._skips_repeated(item.id):
                return
            self._ids.add(item.id)
        size = _size_of(item)
        if self._records and self._size + size > BATCH_BYTES:
            self._flush(place, complete=False)
        self._records.append(item)
        if self.store.hidden is not None:
            self._sources.append(place.source)
        self._size += size
        if len(self._records) >= BATCH_SIZE:
            self._flush(place)

    def _add_thing(self, thing: Thing) -> None:
        if isinstance(thing, Tombstone) and self._records:
            # A deletion is merged with the records before it in the store.
            self._flush()
        if self._planner.dedup == "content" and self.duplicates.wait(thing):
            return
        if isinstance(thing, Blob) and is_audit(thing) and self.store.history.has_event(thing.key):
            # An audit row of this store that comes back from another machine.
            return
        self._things.append(thing)
        self._has_tombstones |= isinstance(thing, Tombstone)
        if len(self._things) >= BATCH_SIZE:
            self._flush()

    def _skips_repeated(self, id: str) -> bool:
        """Skip a record whose id is already in this batch, or write the batch, so that the two can be merged."""
        if self._planner.conflict != "skip":
            self._flush()
            return False
        self._summary.skip_repeated(id)
        return True

    def _set_format(self, name: str) -> None:
        self._format = name
        format = registry.get(name) if name else None
        self._planner.dedup = self.options.dedup or (format.dedup if format else "id")
        self._planner.separates_own = self.options.dedup is None
        self._planner.conflict = self.options.conflict or (format.conflict if format else "skip")
        self._planner.format = None if format is None else tool_format(format)
        self._merges_store |= name == STORE and self._planner.conflict == "merge"

    def _flush(self, place: Place | None = None, *, complete: bool = True) -> None:
        """Write the batch, in one transaction.

        It ends with the current line of a place, or with the one before if that is not `complete`.
        """
        records, things, sources = self._records, self._things, self._sources
        if not records and not things:
            return
        part = self._landed.end_part(place, complete=complete, memories=len(records))
        self._part = part if not things else None
        self._records, self._things, self._sources, self._ids = [], [], [], set()
        self._size, self._has_tombstones = 0, False
        ids = [record.id for record in records if record.id]
        before, formats = msgspec.structs.replace(self.entry), self.report.formats.copy()
        try:
            self._mark_sensitive()
            if (view := self.store.hidden) is not None:
                hidden = HiddenScopes(view.store, view.scopes | self.report.inputs.sensitive)
                records, things = refuse_hidden_records(hidden, records, things, self.report, sources)
            self._commit_batch(records, things)
        except StoreError as error:
            if not self.options.isolate:
                raise
            self.entry.imported, self.entry.merged, self.report.formats = before.imported, before.merged, formats
            self.report.failed_batch(error, self._source, len(records), ids)
        self.report.batches += 1
        self.report.tick()

    def _flush_waiting(self) -> None:
        """Write the relations that waited for all memories of their format."""
        for thing in self.duplicates.waiting():
            self._things.append(thing)
            if len(self._things) >= BATCH_SIZE:
                self._flush()
        self._flush()

    def _mark_sensitive(self) -> None:
        """Mark the scopes that the input calls sensitive before any of their memories can be exported."""
        found = self.report.inputs.sensitive
        if self.store.hidden is None and not found <= self._seen_sensitive:
            self._newly_sensitive += mark_all(self.store, sorted(found - self._seen_sensitive), sensitive=True)
            self._seen_sensitive |= found

    def _commit_batch(self, records: list[Record], things: list[Thing]) -> None:
        """Plan a batch and make its changes, in one transaction. A batch that changes nothing writes nothing."""
        with self.store.writing():
            plan = self._planner.plan_records(records)
            for record in plan.new:
                if not record.id or not record.created_at:
                    assign_id_and_times(record, self._minter)
            self.duplicates.add(plan.duplicates)
            self.duplicates.add(plan.renamed, same=True)
            self.report.replaced_edits.extend(list(replaced_edits(self.store, plan.merged)))
            self._write(plan, self._plan_things(plan, things))
        self._summary.add(plan)

    def _plan_things(self, plan: BatchPlan, things: list[Thing]) -> ThingChanges:
        """Plan what else changes after the records; conflicts become part of the plan."""
        found = [
            thing
            for thing in self.duplicates.repoint(things)
            # The text of a deleted memory may still exist in the same input under another id.
            if not (isinstance(thing, Tombstone) and self.duplicates.is_kept(thing.id))
        ]
        self._planner.plan_conflicts(plan, found)
        return self._planner.plan_things(found)

    def _write(self, plan: BatchPlan, things: ThingChanges) -> None:
        """Make the changes of one batch, if there are any, and update the entry of this import."""
        if plan.is_empty and not things.put and not things.removed:
            # What a source said is remembered, but an import that changes nothing else leaves no entry.
            self._writer.write_bases(plan.bases, None)
            return
        self._begin()
        self.report.others += len(things.put) + len(things.removed)
        batch = self._writer.begin_batch(self.entry.id, self._format)
        part = self._part if is_new(plan) and not things.put and not things.removed else None
        digest = self.store.records.add(plan.new, batch)
        self._writer.write(plan, things, batch)
        self.report.formats[self._format] += len(plan.new)
        details = {"batch": batch, "count": len(plan.new), "merged": len(plan.merged), "digest": digest.hex()}
        details |= {"lines": msgspec.to_builtins(part)} if part is not None else {}
        self.store.history.log("import", self.entry.id, "", details)
        self.entry.format = self._format if self.entry.format in ("", self._format) else "mixed"
        self.entry.imported += len(plan.new)
        self.entry.merged += len(plan.merged)
        # The entry is correct after every batch, also if the import is interrupted.
        self.store.history.put_import(self.entry)

    def _begin(self) -> None:
        """Begin to write. An import that changes nothing never begins, and leaves no trace in the store."""
        if not self.started:
            self.started = self._planner.started = True
            by_content = self._merges_store or self._planner.dedup == "content"
            self._stack.enter_context(self.store.loading(by_content=by_content))

    def _share_tags(self) -> None:
        """Give memories with the same text the same tags, if a store was merged."""
        for lacking in missing_shared_tags(self.store) if self._merges_store else ():
            with self.store.writing():
                self._write(BatchPlan(extended=add_shared_tags(self.store, lacking)), ThingChanges())

    def _finish(self, state: str) -> None:
        """Add the notes, and complete the entry of this import."""
        report, dry_run = self.report, self.options.dry_run
        report.conflicts, report.deleted = self._writer.conflicts, self._writer.deleted
        for note in self._summary.notes(
            dry_run=dry_run,
            writes_back=self.options.writes_back,
            conflicts=self._writer.conflicts,
            deleted=self._writer.deleted - self._pruned,
            not_deleted=len(self._planner.not_deleted),
            to_itself=self.duplicates.to_itself,
        ):
            report.note(note)
        self._mark_sensitive()
        if self._newly_sensitive:
            report.marked = self._newly_sensitive
            report.note(_marked(self._newly_sensitive, dry_run=dry_run))
        if self.started:
            entry = self.entry
            entry.skipped, entry.failed, entry.state, entry.finished_at = report.skipped, report.failed, state, now()
            entry.errors, entry.notes = list(islice(report.errors, _KEPT_ERRORS)), report.notes
            with self.store.writing():
                self.store.history.put_import(entry)


def _size_of(record: Record) -> int:
    """Return the approximate size of a record as JSON, in bytes."""
    size = len(record.content) if record.content.isascii() else len(record.content.encode("utf-8", "replace"))
    if record.meta or record.extra:
        size += len(msgspec.json.encode((record.meta, record.extra)))
    return size


def _marked(scopes: list[str], *, dry_run: bool) -> str:
    names = first_few([quoted(scope) for scope in scopes])
    marked = f"{'would mark' if dry_run else 'marked'} {plural(len(scopes), 'scope')}"
    return f"{marked} as sensitive, as the file says: {names}"
