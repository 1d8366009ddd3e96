"""A memglot store as a format: everything in it, including vectors and deletions. Importing one merges it."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from pathlib import Path

from memglot.disk import DiskMap
from memglot.errors import BadRecord, DamagedStore, NotADatabase, StoreError, Unreadable
from memglot.formats.base import ALL_FIELDS, STORE, Format, MergeSupport, ReadOptions, WriteOptions, WriteSupport
from memglot.formats.core.proof import Prover
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.syntax.sqlite_input import application_id, check_complete, is_database
from memglot.model import Item, Record, Thing, record_digest
from memglot.model.record_errors import altered_row
from memglot.report import Report, SourceReport
from memglot.settings import BATCH_SIZE
from memglot.store.contract import Store
from memglot.store.hidden import SENSITIVE, HiddenScopes, sensitive_scopes
from memglot.store.sqlite.schema import APPLICATION_ID
from memglot.store.stream import everything

_RECOVER = "`memglot doctor --store FILE` lists the damage"


def recognise(head: bytes) -> bool:
    """Return True for a memglot store, by the application id in its header."""
    return is_database(head) and application_id(head) == APPLICATION_ID


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield everything in a store, including deleted memories."""
    from memglot.store.location import open_input_store

    if not is_database(source.head):
        raise NotADatabase(source.name)
    with source.as_file() as path:
        check_complete(source, path)
        try:
            store = open_input_store(path, _DamageReport(report), source.max_record)
            try:
                yield from _items_of(store, report, options)
            finally:
                store.close()
        except DamagedStore as error:
            raise Unreadable(source.name, f"it is damaged: {error.reason}", _RECOVER) from error
        except StoreError as error:
            raise Unreadable(source.name, str(error).replace(f"`{path}`", "it"), error.hint) from error


def _items_of(store: Store, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield everything in a store, except records that do not match their digest."""
    number = 0
    report.inputs.sensitive |= (marked := sensitive_scopes(store))
    left_out = HiddenScopes(store, marked) if marked and not options.sensitive else None
    for item in everything(store, hidden=left_out, with_digest=True):
        if isinstance(item, Record):
            number += 1
            report.item = number
            if item.digest != record_digest(item):
                report.failed_record(altered_row(f"memory {item.id}"))
                continue
            # Whoever gets the record may change it.
            item.digest = b""
        yield item
    if left_out is not None:
        left_out.report_left_out(report.results)


class _DamageReport:
    """Reports the rows of a store that cannot be read, each once."""

    def __init__(self, report: SourceReport) -> None:
        self._report, self._found = report, DiskMap()

    def __call__(self, error: BadRecord, is_memory: bool) -> None:
        """Report a row. Its number among the items is unknown; the message names it."""
        if str(error) in self._found:
            return
        self._found[str(error)] = True
        item, self._report.item = self._report.item, None
        (self._report.failed_record if is_memory else self._report.fault)(error)
        self._report.item = item


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write a new store that contains the items and nothing else: no history, no audit log."""
    from memglot.store.location import merge_log, open_store

    with target.place() as path:
        store = open_store(str(path))
        try:
            writer = _StoreWriter(store, report)
            with store.loading(by_content=False):
                for item in items:
                    writer.add(item)
                writer.flush()
            with store.writing():
                for scope in sorted(report.inputs.sensitive):
                    store.put_setting(SENSITIVE + scope, "")
        finally:
            store.close()
        merge_log(path)
    if writer.duplicates:
        report.note_repeated_ids(writer.duplicates)
    report.proof = writer.prover.end(alone=True)


class _StoreWriter:
    """Fills a new store in batches."""

    def __init__(self, store: Store, report: Report) -> None:
        self._store, self._report = store, report
        self._records: dict[str, Record] = {}
        self._things: list[Thing] = []
        self.duplicates = 0
        self.prover = Prover()

    def add(self, item: Item) -> None:
        """Add one item; write a batch when there are enough."""
        if not isinstance(item, Record):
            self._things.append(item)
        elif item.id in self._records:
            self._drop_duplicate(item)
        else:
            self._records[item.id] = item
        if len(self._records) >= BATCH_SIZE or len(self._things) >= BATCH_SIZE:
            self.flush()

    def flush(self) -> None:
        """Write the items added so far."""
        there = self._store.records.known(list(self._records)) if self.prover.count else set()
        new = [record for id, record in self._records.items() if id not in there]
        for id in there:
            self._drop_duplicate(self._records[id])
        with self._store.writing():
            self._store.records.add(new)
            self._store.things.put(self._things)
        for record in new:
            self.prover.add(record)
        self._records, self._things = {}, []
        self._report.progress.written = self.prover.count
        self._report.tick()

    def _drop_duplicate(self, record: Record) -> None:
        """Drop a record whose id was already written."""
        self.duplicates += 1
        self._report.dropped("record", record.id)


def is_store(path: Path) -> bool:
    """Return True if a file is a memglot store."""
    try:
        with open(path, "rb") as file:
            head = file.read(100)
    except OSError as error:
        if error.errno == errno.EIO:
            raise Unreadable(str(path), "the disk reported an error") from error
        return False
    return recognise(head)


FORMAT = Format(
    name=STORE,
    title="memglot store, a SQLite file",
    tool="memglot",
    family="sqlite",
    extensions=(".sqlite", ".db", ".sqlite3"),
    fields=ALL_FIELDS,
    carry="",
    read=read,
    write=write,
    conflict="merge",
    recognise=recognise,
    writing=WriteSupport(needs_ids=True, includes_vectors=True),
    merging=MergeSupport(has_clocks=True),
)
