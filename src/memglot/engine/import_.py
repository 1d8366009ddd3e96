"""Import: readers' items are checked, deduplicated and landed in batches, each one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from memglot.engine.merge import merge_records, same, unite
from memglot.formats import registry
from memglot.formats.format import Options
from memglot.formats.reading import Input, read_inputs
from memglot.model import (
    Item,
    Minter,
    Record,
    Thing,
    Tombstone,
    check_tree,
    content_hash,
    now,
    plain,
    settle,
)
from memglot.notes import note_deleted, note_differ, note_no_ids, note_twice
from memglot.report import Report
from memglot.settings import BATCH_SIZE
from memglot.store.contract import ContentKey, Import, Revision, Store


@dataclass(frozen=True)
class ImportOptions:
    """What a caller may ask of an import."""

    format: str | None = None
    dedup: str | None = None
    conflict: str | None = None
    tree: str = ""
    tags: tuple[str, ...] = ()
    fail_fast: bool = False
    restore_deleted: bool = False
    reading: Options = field(default_factory=Options)


def import_into(store: Store, inputs: Iterable[Input], options: ImportOptions, report: Report) -> Import | None:
    """Import everything the inputs hold. Returns what the store recorded of it; `None` when nothing changed."""
    inputs = list(inputs)
    format = registry.get(options.format) if options.format not in (None, "auto") else None
    names = ["content" if isinstance(given, bytes) else str(given) for given in inputs]
    with ExitStack() as stack:
        importer = _Importer(store, options, report, names, stack)
        for item in read_inputs(inputs, format, report, options.reading):
            if options.fail_fast and len(report.errors):
                break
            importer.take(item)
        importer.land()
        importer.finish()
    return importer.entry if importer.started else None


class _Importer:
    """One import under way."""

    def __init__(
        self, store: Store, options: ImportOptions, report: Report, names: list[str], stack: ExitStack
    ) -> None:
        self.store, self.options, self.report, self._stack = store, options, report, stack
        self._minter = Minter(now() // 1000)
        self.entry = Import(id=self._minter.mint(), at=self._minter.milliseconds * 1000, sources=names, format="")
        self.started = False
        self._records: list[Record] = []
        self._things: list[Thing] = []
        self._explicit: set[str] = set()
        self._format = ""
        self._dedup = self._conflict = ""
        self._without_id = self._twice = self._differ = self._deleted = 0
        self._has_tombstones = store.count_things(Tombstone) > 0
        self._prefix = check_tree(options.tree)
        self._gives = bool(self._prefix or options.tags)

    def take(self, item: Item) -> None:
        """Take one item; land a batch when there are enough."""
        if not isinstance(item, Record):
            self._things.append(item)
            if len(self._things) >= BATCH_SIZE:
                self.land()
            return
        report = self.report
        report.read += 1
        if report.format != self._format:
            self.land()
            self._set_format(report.format)
        if item.id:
            if item.id in self._explicit and self._is_double(item.id):
                return
            self._explicit.add(item.id)
        if self._gives:
            self._give(item)
        self._records.append(item)
        if len(self._records) >= BATCH_SIZE:
            self.land()

    def _is_double(self, id: str) -> bool:
        """An id that stands in this batch already: skipped, or met in the store once the batch has landed."""
        if self._conflict != "skip":
            self.land()
            return False
        self._twice += 1
        self._skip([id])
        return True

    def _give(self, record: Record) -> None:
        """Put a record below the prefix, and give it the tags, that the caller asked for."""
        if self._prefix:
            record.tree = f"{self._prefix}.{record.tree}" if record.tree else self._prefix
        record.tags = [*record.tags, *(tag for tag in self.options.tags if tag not in record.tags)]

    def _set_format(self, name: str) -> None:
        self._format = name
        declared = registry.get(name) if name else None
        self._dedup = self.options.dedup or (declared.dedup if declared else "id")
        self._conflict = self.options.conflict or (declared.conflict if declared else "skip")

    def land(self) -> None:
        """Land what was taken so far, in one transaction."""
        records, things = self._records, self._things
        if not records and not things:
            return
        self._records, self._things, self._explicit = [], [], set()
        if not self.started:
            self._land_first(records, things)
        else:
            self._land(records, things)
        self.report.tick()

    def _land_first(self, records: list[Record], things: list[Thing]) -> None:
        # A load is begun only when something will change, so that a repeated import writes nothing at all.
        plan = self._plan(records)
        if plan.is_empty and not self._new_things(things):
            self._account(plan)
            return
        self.started = True
        self._stack.enter_context(self.store.loading(by_content=self._dedup == "content"))
        with self.store.writing():
            self.store.put_import(self.entry)
        self._land(records, things)

    def _land(self, records: list[Record], things: list[Thing]) -> None:
        report, store = self.report, self.store
        with store.writing():
            plan = self._plan(records)
            new_things = self._new_things(things)
            if not plan.is_empty or new_things:
                batch = store.new_batch(self.entry.id)
                for record in plan.new:
                    if not record.id or not record.created_at:
                        settle(record, self._minter)
                digest = store.add(plan.new, batch)
                self._change(plan, new_things, batch)
                report.formats[self._format] += len(plan.new)
                store.log(
                    "import",
                    self.entry.id,
                    "",
                    {"batch": batch, "count": len(plan.new), "merged": len(plan.merged), "digest": digest.hex()},
                )
        self._account(plan)

    def _account(self, plan: _Plan) -> None:
        report = self.report
        report.imported += len(plan.new)
        report.ids.extend([record.id for record in plan.new])
        report.merged += len(plan.merged)
        self._skip(plan.skipped)
        self._without_id += plan.without_id
        self._differ += plan.differ
        self._deleted += plan.deleted
        self._twice += plan.twice

    def _change(self, plan: _Plan, things: list[Thing], batch: int) -> None:
        at = self.entry.at
        revisions = []
        changed = [(plain(before), after) for before, after, _ in plan.merged] + plan.united
        for before, after in changed:
            self.store.replace(after)
            revisions.append(Revision(kind="record", key=after.id, at=at, deed="import", before=before, batch=batch))
        for tombstone in plan.restored:
            self.store.take([tombstone])
            value = plain(tombstone)
            revisions.append(
                Revision(kind="tombstone", key=tombstone.id, at=at, deed="import", before=value, batch=batch)
            )
        conflicts = [conflict for *_, found in plan.merged for conflict in found]
        self.store.put([*things, *conflicts], batch)
        self.store.remember(revisions)

    def _new_things(self, things: list[Thing]) -> list[Thing]:
        """Those that are not there yet; a tombstone only where its memory is not."""
        alive = self.store.known([thing.id for thing in things if isinstance(thing, Tombstone)])
        return [
            thing
            for thing in things
            if self.store.kept(thing) is None and not (isinstance(thing, Tombstone) and thing.id in alive)
        ]

    def _skip(self, ids: list[str]) -> None:
        self.report.skipped += len(ids)
        self.report.skipped_ids.extend(ids)

    def _plan(self, records: list[Record]) -> _Plan:
        plan = _Plan()
        rest = self._without_deleted(records, plan) if self._has_tombstones else records
        explicit = [record.id for record in rest if record.id]
        there = {record.id: record for record in self.store.get(list(self.store.known(explicit)))} if explicit else {}
        by_content = self._dedup == "content"
        doubles = self._doubles(rest) if by_content else {}
        for record in rest:
            if record.id in there:
                self._meet(plan, there[record.id], record)
            elif by_content and (double := doubles.setdefault(_key(record), record)) is not record:
                self._meet_double(plan, double, record)
            else:
                plan.new.append(record)
                plan.without_id += not record.id
        return plan

    def _doubles(self, records: list[Record]) -> dict[ContentKey, Record]:
        """The stored record of each content that is there already."""
        ids = self.store.ids_of_contents([_key(record) for record in records])
        found = {record.id: record for record in self.store.get(list(ids.values()))}
        return {key: found[id] for key, id in ids.items()}

    def _without_deleted(self, records: list[Record], plan: _Plan) -> list[Record]:
        ids = [record.id for record in records if record.id]
        buried = {tombstone.id: tombstone for tombstone in self.store.things(Tombstone, ids)}
        rest = []
        for record in records:
            tombstone = buried.get(record.id) if record.id else self._buried_content(record)
            if tombstone is None or self.options.restore_deleted:
                rest.append(record)
                plan.restored += [tombstone] if tombstone is not None else []
            else:
                plan.deleted += 1
                plan.skipped.append(tombstone.id)
        return rest

    def _buried_content(self, record: Record) -> Tombstone | None:
        for tombstone in self.store.mentions(Tombstone, content_hash(record.content).hex()):
            if (tombstone.kind, tombstone.scope) == (record.kind, record.scope):
                return tombstone
        return None

    def _meet(self, plan: _Plan, local: Record, remote: Record) -> None:
        """What to do about a record whose id is there already."""
        if self._conflict != "skip":
            merged, conflicts = merge_records(local, remote, self._conflict)
            if merged != local or any(self.store.kept(conflict) != conflict for conflict in conflicts):
                plan.merged.append((local, merged, conflicts))
                return
        elif self.started and self.store.batch_of(local.id) == self.entry.id:
            plan.twice += 1
        elif not same(local, remote):
            plan.differ += 1
        plan.skipped.append(local.id)

    def _meet_double(self, plan: _Plan, stays: Record, record: Record) -> None:
        """A record whose content is there already gives its tags and foreign ids to the one that stays."""
        plan.skipped.append(stays.id)
        before = plain(stays)
        unite(stays, record)
        if plain(stays) != before and not any(stays is new for new in plan.new):
            plan.united.append((before, stays))

    def finish(self) -> None:
        """Say what a person should know, and close the import's entry."""
        report = self.report
        if self._without_id and self._dedup == "id":
            report.note(note_no_ids(self._without_id))
        if self._twice:
            report.note(note_twice(self._twice))
        if self._differ:
            report.note(note_differ(self._differ))
        if self._deleted:
            report.note(note_deleted(self._deleted))
        if self.started:
            entry = self.entry
            entry.format = next(iter(report.formats), self._format) if len(report.formats) < 2 else "mixed"
            entry.imported, entry.merged, entry.skipped = report.imported, report.merged, report.skipped
            entry.failed, entry.state, entry.finished_at = report.failed, "done", now()
            with self.store.writing():
                self.store.put_import(entry)


@dataclass
class _Plan:
    """What a batch will do."""

    new: list[Record] = field(default_factory=list)
    merged: list[tuple[Record, Record, list[Any]]] = field(default_factory=list)
    united: list[tuple[dict[str, Any], Record]] = field(default_factory=list)
    restored: list[Tombstone] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    without_id: int = 0
    differ: int = 0
    deleted: int = 0
    twice: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.new or self.merged or self.united or self.restored)


def _key(record: Record) -> ContentKey:
    return content_hash(record.content), record.kind, record.scope
