"""Import: readers' items are checked, deduplicated and landed in batches, each one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from itertools import islice

import msgspec

from memglot.display import first_few, plural, printable, quoted
from memglot.editing.scopes import mark_all
from memglot.errors import StoreError
from memglot.formats import registry
from memglot.formats.base import STORE
from memglot.formats.core.audit_chain import is_audit
from memglot.formats.core.read import Input, Read, read_inputs
from memglot.importing.access import refuse_hidden_records
from memglot.importing.apply import Changes
from memglot.importing.duplicates import Doubles
from memglot.importing.options import ImportOptions
from memglot.importing.plan import Plan, Planner
from memglot.importing.summary import Tally, weight_of
from memglot.merging.shared_tags import add_shared_tags, missing_shared_tags
from memglot.merging.things import ThingChanges
from memglot.model import (
    Blob,
    Item,
    Minter,
    Record,
    Thing,
    Tombstone,
    assign_id_and_times,
    check_tree,
    now,
)
from memglot.notes import note_unfinished
from memglot.report import FailFast, Place, Report, Stopped
from memglot.settings import BATCH_BYTES, BATCH_SIZE
from memglot.store.contract import Import, Store
from memglot.store.hidden import HiddenScopes

_KEPT_ERRORS = 100
"""So many errors stay with the store's entry of an import."""


def import_into(store: Store, inputs: Iterable[Input], options: ImportOptions, report: Report) -> Import | None:
    """Import everything the inputs hold. Returns what the store recorded of it; `None` when nothing changed."""
    inputs = list(inputs)
    format = registry.get(options.format) if options.format not in (None, "auto") else None
    names = ["content" if isinstance(given, bytes) else printable(str(given)) for given in inputs]
    stack = ExitStack()
    importer = _Importer(store, options, report, names, stack)
    try:
        with stack:
            stack.callback(importer.doubles.close)
            report.fail_fast = options.fail_fast
            _take_all(importer, read_inputs(inputs, format, report, options.reading))
    except StoreError as error:
        if not (options.isolate and importer.started):
            raise
        # Every batch that could land has landed; only what comes after them could not be done.
        report.note(note_unfinished(str(error)))
    return importer.entry if importer.started else None


def _take_all(importer: _Importer, reads: Iterable[Read]) -> None:
    try:
        with suppress(FailFast):
            for item, place in reads:
                importer.take(item, place)
        importer.land()
        importer.land_waiting()
        importer.reunite()
        importer.unite()
    except Stopped:
        importer.finish("stopped")
        raise
    importer.finish()


class _Importer:
    """One import under way."""

    def __init__(
        self, store: Store, options: ImportOptions, report: Report, names: list[str], stack: ExitStack
    ) -> None:
        self.store, self.options, self.report, self._stack = store, options, report, stack
        self._minter = Minter(now() // 1000)
        self.entry = Import(
            id=self._minter.mint(),
            at=self._minter.milliseconds * 1000,
            sources=names,
            format="",
            closed=store.hidden is not None,
        )
        self.started = False
        self._records: list[Record] = []
        self._sources: list[str] = []
        """Which input each of them is from, for whom some may be refused."""
        self._weight = 0
        self._tally = Tally(report)
        self._things: list[Thing] = []
        self._explicit: set[str] = set()
        self._format = self._source = ""
        self._planner = Planner(store, self.entry, options.restore_deleted)
        self.doubles = Doubles(store)
        self._changes = Changes(store, self.doubles, self.entry.at)
        self._bury = self._twins = False
        self._marked: set[str] = set()
        self._newly: list[str] = []
        self._prefix = check_tree(options.tree)
        self._gives = bool(self._prefix or options.tags)

    def take(self, item: Item, place: Place) -> None:
        """Take one item; land a batch when there are enough."""
        self._source = place.source
        if place.format != self._format:
            self.land()
            self.land_waiting()
            self._set_format(place.format)
        if not isinstance(item, Record):
            self._take_thing(item)
            return
        if self._things and self._bury:
            # What comes after a deletion must meet it in the store.
            self.land()
        if item.id:
            if item.id in self._explicit and self._is_double(item.id):
                return
            self._explicit.add(item.id)
        if self._gives:
            self._give(item)
        weight = weight_of(item)
        if self._records and self._weight + weight > BATCH_BYTES:
            self.land()
        self._records.append(item)
        self._sources += [] if self.store.hidden is None else [place.source]
        self._weight += weight
        if len(self._records) >= BATCH_SIZE:
            self.land()

    def _take_thing(self, thing: Thing) -> None:
        if isinstance(thing, Tombstone) and self._records:
            # Records that came before a deletion must be in the store to meet it.
            self.land()
        if self._planner.dedup == "content" and self.doubles.wait(thing):
            return
        if isinstance(thing, Blob) and is_audit(thing) and self.store.history.has_event(thing.key):
            # A row of this very store's chain that was at another machine.
            return
        self._things.append(thing)
        self._bury |= isinstance(thing, Tombstone)
        if len(self._things) >= BATCH_SIZE:
            self.land()

    def _is_double(self, id: str) -> bool:
        """An id that stands in this batch already: skipped, or met in the store once the batch has landed."""
        if self._planner.conflict != "skip":
            self.land()
            return False
        self._tally.skip_double(id)
        return True

    def _give(self, record: Record) -> None:
        """Put a record below the prefix, and give it the tags, that the caller asked for."""
        if self._prefix:
            record.tree = f"{self._prefix}.{record.tree}" if record.tree else self._prefix
        record.tags = [*record.tags, *(tag for tag in self.options.tags if tag not in record.tags)]

    def _set_format(self, name: str) -> None:
        self._format = name
        declared = registry.get(name) if name else None
        self._planner.dedup = self.options.dedup or (declared.dedup if declared else "id")
        self._planner.conflict = self.options.conflict or (declared.conflict if declared else "skip")
        self._twins |= name == STORE and self._planner.conflict == "merge"
        self._planner.notes = declared.notes if declared is not None else None

    def land(self) -> None:
        """Land what was taken so far, in one transaction."""
        records, things, sources = self._records, self._things, self._sources
        if not records and not things:
            return
        self._records, self._things, self._sources, self._explicit = [], [], [], set()
        self._weight, self._bury = 0, False
        explicit = [record.id for record in records if record.id]
        kept, formats = msgspec.structs.replace(self.entry), self.report.formats.copy()
        try:
            self._mark()
            if (view := self.store.hidden) is not None:
                hidden = HiddenScopes(view.store, view.scopes | self.report.inputs.sensitive)
                records, things = refuse_hidden_records(hidden, records, things, self.report, sources)
            self._land(records, things) if self.started else self._land_first(records, things)
        except StoreError as error:
            if not self.options.isolate:
                raise
            self.entry.imported, self.entry.merged, self.report.formats = kept.imported, kept.merged, formats
            self.report.failed_batch(error, self._source, len(records), explicit)
        self.report.batches += 1
        self.report.tick()

    def _mark(self) -> None:
        """Mark the scopes that the input calls sensitive, before any memory of theirs is there to be exported."""
        if self.store.hidden is None and not self.report.inputs.sensitive <= self._marked:
            self._newly += mark_all(self.store, sorted(self.report.inputs.sensitive - self._marked), sensitive=True)
            self._marked |= self.report.inputs.sensitive

    def land_waiting(self) -> None:
        """Land the relations that waited for all memories of their format."""
        for thing in self.doubles.waiting():
            self._things.append(thing)
            if len(self._things) >= BATCH_SIZE:
                self.land()
        self.land()

    def _land_first(self, records: list[Record], things: list[Thing]) -> None:
        # A load is begun only when something will change, so that a repeated import writes nothing at all.
        plan = self._planner.records(records)
        self.doubles.learn(plan.doubles)
        met = self._meet(plan, things)
        if plan.is_empty and not met.put and not met.removed:
            self._tally.account(plan)
            return
        self._start()
        self._land(records, things)

    def _start(self) -> None:
        self.started = self._planner.started = True
        self._stack.enter_context(self.store.loading(by_content=self._twins or self._planner.dedup == "content"))
        with self.store.writing():
            self.store.history.put_import(self.entry)

    def _land(self, records: list[Record], things: list[Thing]) -> None:
        with self.store.writing():
            plan = self._planner.records(records)
            for record in plan.new:
                if not record.id or not record.created_at:
                    assign_id_and_times(record, self._minter)
            self.doubles.learn(plan.doubles)
            self._write(plan, self._meet(plan, things))
        self._tally.account(plan)

    def _write(self, plan: Plan, met: ThingChanges) -> None:
        """Make the changes of one batch, if there are any."""
        if plan.is_empty and not met.put and not met.removed:
            return
        batch = self._changes.begin(self.entry.id)
        digest = self.store.records.add(plan.new, batch)
        self._changes.make(plan, met, batch)
        self.report.formats[self._format] += len(plan.new)
        details = {"batch": batch, "count": len(plan.new), "merged": len(plan.merged), "digest": digest.hex()}
        self.store.history.log("import", self.entry.id, "", details)
        self._note_progress(plan)

    def unite(self) -> None:
        """Let memories of one content share their tags, where a whole store was merged."""
        for lacking in missing_shared_tags(self.store) if self._twins else ():
            if not self.started:
                self._start()
            with self.store.writing():
                self._write(Plan(united=add_shared_tags(self.store, lacking)), ThingChanges())

    def _meet(self, plan: Plan, things: list[Thing]) -> ThingChanges:
        """What the things change, once the plan is done; clashes become part of the plan."""
        found = self._alive(self.doubles.repointed(things))
        self._planner.clashes(plan, found)
        return self._planner.things(found)

    def _alive(self, things: list[Thing]) -> list[Thing]:
        """Without deletions of memories whose content is alive in the same input under another id."""
        return [thing for thing in things if not (isinstance(thing, Tombstone) and self.doubles.stays(thing.id))]

    def _note_progress(self, plan: Plan) -> None:
        """Keep the entry true at every moment, so that a load that is cut off tells what landed."""
        self.entry.format = self._format if self.entry.format in ("", self._format) else "mixed"
        self.entry.imported += len(plan.new)
        self.entry.merged += len(plan.merged)
        self.store.history.put_import(self.entry)

    def reunite(self) -> None:
        """Let what came of merged memories reach those that they live on in."""
        if self.started:
            self._changes.reunite(self.entry.id)

    def finish(self, state: str = "done") -> None:
        """Say what a person should know, and close the import's entry."""
        report, would = self.report, self.options.dry_run
        self._tally.tell(
            by_id=self._planner.dedup == "id",
            would=would,
            conflicts=self._changes.conflicts,
            removed=self._changes.removed,
            unapplied=len(self._planner.unapplied),
            to_itself=self.doubles.to_itself,
        )
        self._mark()
        if self._newly:
            report.marked = self._newly
            report.note(_marked(self._newly, would=would))
        if self.started:
            entry = self.entry
            entry.skipped, entry.failed, entry.state, entry.finished_at = report.skipped, report.failed, state, now()
            entry.errors, entry.notes = list(islice(report.errors, _KEPT_ERRORS)), report.notes
            with self.store.writing():
                self.store.history.put_import(entry)


def _marked(scopes: list[str], *, would: bool = False) -> str:
    """Scopes that a file marks as sensitive, or would mark."""
    names = first_few([quoted(scope) for scope in scopes])
    return (
        f"{'would mark' if would else 'marked'} {plural(len(scopes), 'scope')} as sensitive, as the file says: {names}"
    )
