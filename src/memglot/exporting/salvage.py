"""Copy what can be read of a damaged store to a new store, and say what is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec

from memglot.disk import DiskList
from memglot.display import first_few, plural
from memglot.errors import BadRecord, StoreError, UsageError
from memglot.exporting.verify import verify_store
from memglot.files import replace_database
from memglot.formats.core.audit_chain import blob_of_event
from memglot.model import (
    DEFAULT_KIND,
    DEFAULT_STATUS,
    EARLIEST,
    LATEST,
    Event,
    Record,
    Thing,
    check_record,
    check_thing,
    check_types,
    id_time,
    is_id,
    repair_text,
)
from memglot.settings import BATCH_SIZE
from memglot.store.audit_chain import hash_event
from memglot.store.contract import Base, Import, Operation
from memglot.store.hidden import SENSITIVE
from memglot.store.location import merge_log, store_file
from memglot.store.query import Filter
from memglot.store.sqlite.damaged_file import DamagedFile
from memglot.store.sqlite.failures import FAILURES
from memglot.store.sqlite.history import event_of
from memglot.store.sqlite.rows import DIGEST, TABLES, from_row, thing_keys, thing_of, to_row
from memglot.store.sqlite.schema import RECORD_COLUMNS
from memglot.store.sqlite.store import SqliteStore

T = TypeVar("T")
_WRONG = (*FAILURES, BadRecord, msgspec.MsgspecError, ValueError, TypeError, AttributeError, RecursionError)
"""What decoding a damaged row can raise."""
_NO_SCOPE = "salvaged"
"""The scope of memories whose own scope cannot be read."""
_SETTING = "setting:"
_PLACE = {column: place for place, column in enumerate(RECORD_COLUMNS)}


class Salvage(msgspec.Struct):
    """What was copied from a damaged store, and what was lost."""

    path: str
    memories: int = 0
    lost: int = 0
    """Number of lost memories; `lost_ids` has those of their ids that are known."""
    lost_ids: DiskList[str] = msgspec.field(default_factory=DiskList)
    altered_ids: DiskList[str] = msgspec.field(default_factory=DiskList)
    """Memories that do not match their digest, copied as far as they could be read."""
    others: dict[str, dict[str, int]] = {}
    """Numbers of copied and lost items of each other kind."""
    notes: list[str] = []

    @property
    def is_complete(self) -> bool:
        """Return True if everything was copied unaltered."""
        return not (self.lost or len(self.altered_ids) or any(counts["lost"] for counts in self.others.values()))

    def problems(self) -> list[str]:
        """Return what is lost or altered, one line for each kind."""
        found = []
        if self.lost:
            known = first_few(list(islice(self.lost_ids, 21)), 20)
            found.append(f"lost {plural(self.lost, 'memory')}" + (f": {known}" if known else ", whose ids are unknown"))
        if count := len(self.altered_ids):
            ids = first_few(list(islice(self.altered_ids, 21)), 20)
            text = plural(count, "memory does", "memories do")
            found.append(f"{text} not match the digest, and may be altered by the damage: {ids}")
        for kind, counts in self.others.items():
            if counts["lost"]:
                found.append(f"lost {counts['lost']:,} of the {kind}")
        return found

    def value(self) -> dict[str, Any]:
        """Return the result as a JSON object; its lists are streamed."""
        return {
            "path": self.path,
            "memories": self.memories,
            "lost": self.lost,
            "lostIds": self.lost_ids,
            "alteredIds": self.altered_ids,
            "others": self.others,
            "notes": self.notes,
        }


def salvage(url: str | None, out: Path) -> Salvage:
    """Copy everything that can be read of a store to a new, verified store; the old one is not changed."""
    path = store_file(url)
    if out.exists():
        raise UsageError(f"`{out}` already exists", "use another path")
    result = Salvage(str(out))
    damaged = DamagedFile(str(path))
    try:
        with replace_database(out) as part:
            salvage_into(damaged, part, result)
            _verify(part)
    finally:
        damaged.close()
    return result


def salvage_into(damaged: DamagedFile, part: Path, result: Salvage) -> None:
    """Copy everything that can be read of a damaged file to a new store file without a write-ahead log."""
    store = SqliteStore(str(part), write=True)
    try:
        _Salvager(damaged, store, result).run()
    finally:
        store.close()
    merge_log(part)


def _verify(path: Path) -> None:
    store = SqliteStore(str(path), write=False)
    try:
        problems = verify_store(store).problems
    finally:
        store.close()
    if problems:
        raise StoreError(f"the salvaged store could not be verified: {problems[0]}", "check the disk and try again")


class _Numbers:
    """Row numbers of one table on disk: those that indexes contain, with a label, and those that were copied."""

    def __init__(self) -> None:
        self._db = apsw.Connection("")
        self._db.execute("CREATE TABLE known (number INTEGER PRIMARY KEY, label TEXT)")
        self._db.execute("CREATE TABLE copied (number INTEGER PRIMARY KEY); BEGIN")

    def is_new(self, number: int) -> bool:
        """Mark a row as copied; return False if it was before."""
        self._db.execute("INSERT OR IGNORE INTO copied VALUES (?)", (number,))
        return bool(self._db.changes())

    def forget(self, number: int) -> None:
        """Mark a row as lost."""
        self._db.execute("DELETE FROM copied WHERE number = ?", (number,))
        self.add_known([(number, None)])

    def add_known(self, entries: Iterable[tuple[int, str | None]]) -> None:
        """Add numbers of rows that exist or existed."""
        sql = "INSERT INTO known VALUES (?, ?) ON CONFLICT DO UPDATE SET label = coalesce(label, excluded.label)"
        self._db.executemany(sql, entries)

    def lost(self) -> Iterator[str | None]:
        """Yield the labels of the rows that were not copied."""
        sql = "SELECT label FROM known WHERE number NOT IN (SELECT number FROM copied) ORDER BY number"
        return (label for (label,) in self._db.execute(sql))

    def close(self) -> None:
        """Delete the file."""
        self._db.close()


class _Salvager:
    """Copies the tables of a damaged file."""

    def __init__(self, damaged: DamagedFile, store: SqliteStore, result: Salvage) -> None:
        self._damaged, self._store, self._result = damaged, store, result
        self._db = store.connection.db
        self._state = {
            name: value for name, value in damaged.both_ways("state", ["name", "value"]) if isinstance(name, str)
        }

    def run(self) -> None:
        """Copy everything."""
        self._copy_settings()
        with self._store.loading(by_content=False):
            self._copy_records()
        self._hide_unscoped()
        for kind, table in TABLES.items():
            self._copy_things(kind, table)
        self._copy_rows("imports", "rowid", ["id", "at", "doc"], _is_import)
        self._copy_rows("batches", "number", ["import_id", "format"], _is_batch)
        columns = ["kind", "key", "at", "action", "before", "batch", "previous_batch"]
        self._copy_rows("revisions", "number", columns, _is_revision)
        self._copy_rows("operations", "number", ["id", "doc"], _is_operation)
        self._copy_bases()
        self._copy_events()
        if self._state.get("vector_count"):
            self._result.notes.append("the vectors of semantic search are not copied; `memglot embed` builds them")

    def _copy_settings(self) -> None:
        settings = {name: value for name, value in self._state.items() if name.startswith(_SETTING)}
        with self._store.writing():
            for name, value in settings.items():
                self._store.put_setting(name.removeprefix(_SETTING), str(value))
        if "state" in self._damaged.incomplete or "chain_seq" not in self._state:
            self._result.notes.append(
                "the settings of the store cannot all be read; mark sensitive scopes again with `memglot scope`"
            )

    def _hide_unscoped(self) -> None:
        """Mark the scope of memories without one as sensitive if they may come from a sensitive scope."""
        may_be_sensitive = "state" in self._damaged.incomplete or any(self._store.settings())
        if may_be_sensitive and self._store.records.count(Filter(scope=(_NO_SCOPE,), with_deleted=True)):
            with self._store.writing():
                self._store.put_setting(SENSITIVE + _NO_SCOPE, "")

    def _copy_records(self) -> None:
        columns = [*RECORD_COLUMNS, "content_hash", "digest", "batch"]
        numbers = _Numbers()
        rows = self._damaged.rows("records", columns, "seq")
        while found := list(islice(rows, BATCH_SIZE)):
            self._add_records(list(_new_records(found, numbers)), numbers)
        numbers.add_known(self._damaged.entries("records", "id", "seq"))
        count = 0
        for batch in _in_batches(numbers.lost()):
            count += len(batch)
            ids = [id for id in batch if id is not None and is_id(id)]
            # The entry of an index may be damaged itself.
            there = self._store.records.known(ids)
            count -= len(there)
            self._result.lost_ids.extend([id for id in ids if id not in there])
        numbers.close()
        self._result.memories = self._store.records.count()
        expected = self._state.get("records")
        self._result.lost = max(count, expected - self._result.memories) if isinstance(expected, int) else count

    def _add_records(self, found: list[tuple[int, Record, bool, int | None]], numbers: _Numbers) -> None:
        there = self._store.records.known([record.id for _, record, _, _ in found])
        new: list[tuple[Record, int | None]] = []
        for number, record, is_intact, batch in found:
            if record.id in there:
                numbers.forget(number)
                continue
            there.add(record.id)
            new.append((record, batch))
            if not is_intact:
                self._result.altered_ids.append(record.id)
        with self._store.writing():
            for batch, group in groupby(new, key=lambda pair: pair[1]):
                self._store.records.add([record for record, _ in group], batch)

    def _copy_things(self, kind: type[Any], table: str) -> None:
        numbers = _Numbers()
        copied = 0
        columns = ["key", "owner", "second_key", "doc", "data", "batch"]
        for batch in _in_batches(self._damaged.rows(table, columns)):
            things = list(_new_things(kind, batch, numbers))
            copied += len(things)
            with self._store.writing():
                for thing, number in things:
                    self._store.things.put([thing], number)
        numbers.add_known(self._damaged.entries(table, "key"))
        self._count(table, copied, numbers)

    def _copy_rows(self, table: str, key: str, columns: Sequence[str], is_right: Callable[..., bool]) -> None:
        """Copy the rows of a table as they are, if their values are right."""
        numbers = _Numbers()
        copied = 0
        sql = f"INSERT OR IGNORE INTO {table} ({key}, {', '.join(columns)}) VALUES (?{', ?' * len(columns)})"
        for batch in _in_batches(self._damaged.rows(table, columns, key)):
            with self._store.writing():
                for number, values in batch:
                    if values is not None and _holds(is_right, *values) and numbers.is_new(number):
                        self._db.execute(sql, (number, *values))
                        copied += self._db.changes()
                    else:
                        numbers.add_known([(number, None)])
        numbers.add_known(self._damaged.entries(table, key, key))
        self._count(table, copied, numbers)

    def _copy_bases(self) -> None:
        columns = ["record", "tool", "space", "doc", "batch"]
        copied = 0
        for batch in _in_batches(self._damaged.both_ways("bases", columns)):
            with self._store.writing():
                for values in batch:
                    if _holds(_is_base, *values):
                        self._db.execute("INSERT OR IGNORE INTO bases VALUES (?, ?, ?, ?, ?)", values)
                        copied += self._db.changes()
        if "bases" in self._damaged.incomplete:
            self._result.notes.append(
                "not everything that other tools said about memories can be read; their next import may merge more"
            )

    def _copy_events(self) -> None:
        """Copy the audit chain up to its first damaged row; keep the rows after it as those of another chain."""
        columns = ["at", "actor", "action", "target", "scope", "details", "prev_hash", "this_hash"]
        seq, previous, copied, is_whole = 0, "", 0, True
        numbers = _Numbers()
        for batch in _in_batches(self._damaged.rows("events", columns, "seq")):
            with self._store.writing():
                for number, values in batch:
                    event = _event_of(number, values)
                    if event is None or not numbers.is_new(number):
                        numbers.add_known([(number, None)])
                        continue
                    copied += 1
                    is_whole = is_whole and (number, event.prev_hash) == (seq + 1, previous) and _is_hashed(event)
                    if not is_whole:
                        self._store.things.put([blob_of_event(event)])
                        continue
                    assert values is not None
                    self._db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (number, *values))
                    seq, previous = number, event.this_hash
        with self._store.writing():
            self._store.connection.set_state(chain_seq=seq, chain_hash=previous)
            details = {"memories": self._result.memories, "lost": self._result.lost, "chain": seq}
            self._store.history.log("salvage", "", "", details)
        numbers.add_known(self._damaged.entries("events", "seq", "seq"))
        if isinstance(expected := self._state.get("chain_seq"), int):
            numbers.add_known((number, None) for number in range(1, expected + 1))
        self._count("events", copied, numbers)
        if not is_whole:
            self._result.notes.append(f"the audit chain breaks after row {seq:,}; later rows are kept as imported ones")

    def _count(self, table: str, copied: int, numbers: _Numbers) -> None:
        lost = sum(1 for _ in numbers.lost())
        numbers.close()
        if copied or lost:
            self._result.others[table] = {"copied": copied, "lost": lost}


def _in_batches(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while batch := list(islice(rest, BATCH_SIZE)):
        yield batch


def _new_records(
    rows: Iterable[tuple[int, list[Any] | None]], numbers: _Numbers
) -> Iterator[tuple[int, Record, bool, int | None]]:
    """Yield the number of each row that was not copied yet, its record, whether that is intact, and its batch."""
    for number, values in rows:
        found = None if values is None else _record_of(values[:-3], values[-2])
        if found is None or values is None:
            numbers.add_known([(number, None)])
        elif numbers.is_new(number):
            record, is_intact = found
            yield number, record, is_intact, values[-1] if isinstance(values[-1], int) else None


def _record_of(values: Sequence[Any], digest: object) -> tuple[Record, bool] | None:
    """Return the record in a row and whether it matches its digest; `None` if its id or its text cannot be read."""
    if (record := _checked(values)) is not None:
        return record, to_row(record, None)[DIGEST] == digest
    id, content = values[_PLACE["id"]], values[_PLACE["content"]]
    if not (isinstance(id, str) and is_id(id) and isinstance(content, str)):
        return None
    created_at = min(id_time(id) * 1000, LATEST)
    default: dict[str, Any] = {"kind": DEFAULT_KIND, "scope": _NO_SCOPE, "tree": "", "status": DEFAULT_STATUS}
    default |= {"id": id, "content": repair_text(content)[0], "created_at": created_at, "updated_at": created_at}
    best = [default.get(column) for column in RECORD_COLUMNS]
    for place, value in enumerate(values):
        trial = [*best[:place], repair_text(value)[0] if isinstance(value, str) else value, *best[place + 1 :]]
        if _checked(trial) is not None:
            best = trial
    record = _checked(best)
    return None if record is None else (record, False)


def _checked(values: Sequence[Any]) -> Record | None:
    """Return the record in a row if it follows all rules."""
    try:
        record = from_row(values)
        check_types(record)
        check_record(record)
        return record if is_id(record.id) else None
    except _WRONG:
        return None


def _new_things(
    kind: type[Any], rows: Iterable[tuple[int, list[Any] | None]], numbers: _Numbers
) -> Iterator[tuple[Thing, int | None]]:
    """Yield the thing of each row that was not copied yet, and its batch."""
    for number, values in rows:
        thing = None if values is None else _thing_of(kind, *values[3:5])
        if thing is None or values is None:
            numbers.add_known([(number, None)])
        elif numbers.is_new(number):
            yield thing, values[5] if isinstance(values[5], int) else None


def _thing_of(kind: type[Any], doc: Any, data: Any) -> Thing | None:
    try:
        thing: Thing = check_thing(thing_of(kind, doc, data))
        thing_keys(thing)
        return thing
    except _WRONG:
        return None


def _event_of(number: int, values: Sequence[Any] | None) -> Event | None:
    if values is None:
        return None
    try:
        return event_of((number, *values))
    except FAILURES:
        return None


def _is_hashed(event: Event) -> bool:
    return _holds(lambda: hash_event(event) == event.this_hash)


def _holds(is_right: Callable[..., bool], *values: Any) -> bool:
    try:
        return is_right(*values)
    except _WRONG:
        return False


def _is_import(id: Any, at: Any, doc: Any) -> bool:
    return bool(msgspec.json.decode(doc, type=Import).id == id and EARLIEST <= at <= LATEST)


def _is_batch(import_id: Any, format: Any) -> bool:
    return isinstance(import_id, str) and isinstance(format, str)


def _is_revision(kind: Any, key: Any, at: Any, action: Any, before: Any, batch: Any, previous: Any) -> bool:
    if before is not None:
        msgspec.json.decode(before)
    texts = all(isinstance(value, str) for value in (kind, key, action))
    return (
        texts and EARLIEST <= at <= LATEST and all(isinstance(value, (int, type(None))) for value in (batch, previous))
    )


def _is_operation(id: Any, doc: Any) -> bool:
    operation = msgspec.json.decode(doc, type=Operation)
    return bool(operation.id == id and EARLIEST <= operation.at <= LATEST)


def _is_base(record: Any, tool: Any, space: Any, doc: Any, batch: Any) -> bool:
    base = msgspec.json.decode(doc, type=Base)
    return (base.record, base.tool, base.space) == (record, tool, space) and isinstance(batch, (int, type(None)))
