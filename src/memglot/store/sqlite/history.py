"""History in the SQLite store: revisions, the audit chain, imports."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from memglot.model import EARLIEST, LATEST, Event, digest_without_id, now
from memglot.settings import actor
from memglot.store.audit_chain import first_broken, hash_event
from memglot.store.contract import Base, Import, Operation, RecordOrigin, Revision
from memglot.store.sqlite.connection import Connection
from memglot.store.sqlite.failures import DamagedRow
from memglot.store.sqlite.rows import from_row, listed
from memglot.store.sqlite.schema import RECORD_COLUMNS

T = TypeVar("T")
_REVISION = "number, kind, key, at, action, before, batch, previous_batch"
_BATCHES = "batches LEFT JOIN imports ON imports.id = import_id"
# A batch of an earlier version has no format of its own.
_FORMAT = "coalesce(nullif(batches.format, ''), imports.doc ->> '$.format', '')"


class SqliteHistory:
    """Revisions, the audit chain and imports; see `memglot.store.contract.History`."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._db = connection, connection.db

    def problems(self) -> Iterator[str]:
        """Yield what of the history and the imports cannot be read; `first_broken` checks the audit chain."""
        for _ in self._connection.read(_revision_of, f"SELECT {_REVISION} FROM revisions ORDER BY number"):
            pass
        for _ in self.imports():
            pass
        for _ in self.operations():
            pass
        for _ in self._connection.read(_base_of, "SELECT doc, batch FROM bases"):
            pass
        yield from ()

    def add_revisions(self, revisions: Sequence[Revision]) -> None:
        """Add the states before a change."""
        sql = (
            "INSERT INTO revisions (kind, key, at, action, before, batch, previous_batch) VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        self._db.executemany(
            sql,
            [
                (
                    revision.kind,
                    revision.key,
                    revision.at,
                    revision.action,
                    None if revision.before is None else msgspec.json.encode(revision.before).decode(),
                    revision.batch,
                    revision.previous_batch,
                )
                for revision in revisions
            ],
        )

    def revisions(
        self, *, key: str | None = None, batches: Sequence[int] = (), previous_batches: Sequence[int] = ()
    ) -> Iterator[Revision]:
        """Yield revisions, oldest first."""
        if key is not None:
            where, bindings = "WHERE key = ?", key
        else:
            where = f"WHERE {'previous_batch' if previous_batches else 'batch'} IN (SELECT value FROM json_each(?))"
            bindings = msgspec.json.encode(list(previous_batches or batches)).decode()
        sql = f"SELECT {_REVISION} FROM revisions {where} ORDER BY number"
        return self._connection.read(_revision_of, sql, (bindings,))

    def revisions_between(self, first: int, last: int) -> Iterator[Revision]:
        """Yield the revisions with these numbers and those between them, newest first."""
        sql = f"SELECT {_REVISION} FROM revisions WHERE number BETWEEN ? AND ? ORDER BY number DESC"
        return self._connection.read(_revision_of, sql, (first, last))

    def record_changes(self, ids: Sequence[str], after: int) -> list[Revision]:
        """Return the revisions of records after a number, without the states before the changes, in any order."""
        sql = f"""
            SELECT {_REVISION.replace("before", "NULL")} FROM revisions
            WHERE key IN (SELECT value FROM json_each(?)) AND number > ? AND kind IN ('record', 'tombstone')
        """
        return list(self._connection.read(_revision_of, sql, (listed(ids), after)))

    def last_revision(self) -> int:
        """Return the number of the newest revision; 0 if there is none."""
        return int(self._connection.value("SELECT coalesce(max(number), 0) FROM revisions"))

    def count_changed(self, first: int, last: int) -> int:
        """Return the number of records that the revisions with these numbers and those between them are about."""
        sql = "SELECT count(DISTINCT key) FROM revisions WHERE number BETWEEN ? AND ? AND kind = 'record'"
        return int(self._connection.value(sql, (first, last)))

    def delete_revisions(self, numbers: Sequence[int]) -> None:
        """Delete the revisions of changes that were undone."""
        self._db.executemany("DELETE FROM revisions WHERE number = ?", [(number,) for number in numbers])

    def log(self, action: str, target: str, scope: str, details: dict[str, Any]) -> None:
        """Append a row to the audit chain."""
        seq, previous = self.chain_head()
        event = Event(
            seq=seq + 1,
            at=now(),
            actor=actor(),
            action=action,
            target=target,
            scope=scope,
            details=details,
            prev_hash=previous,
            this_hash="",
        )
        event.this_hash = hash_event(event)
        row = (*msgspec.structs.astuple(event)[:6], msgspec.json.encode(details).decode(), previous, event.this_hash)
        self._db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        self._connection.set_state(chain_seq=event.seq, chain_hash=event.this_hash)

    def events(
        self, *, target: str | None = None, newest_first: bool = False, limit: int | None = None
    ) -> Iterator[Event]:
        """Yield rows of the audit chain."""
        where, bindings = ("WHERE target = ?", (target,)) if target is not None else ("", ())
        order = "DESC" if newest_first else "ASC"
        sql = f"SELECT * FROM events {where} ORDER BY seq {order} LIMIT {-1 if limit is None else int(limit)}"
        return self._connection.read(event_of, sql, bindings)

    def count_events(self) -> int:
        """Return the number of rows of the audit chain."""
        return self.chain_head()[0]

    def first_broken(self) -> int | None:
        """Return the number of the first row of the audit chain that is wrong or missing; `None` if it is intact."""
        return first_broken(self.events(), self.chain_head())

    def has_event(self, this_hash: str) -> bool:
        """Return True if the audit chain has a row with this hash."""
        return self._connection.value("SELECT 1 FROM events WHERE this_hash = ?", (this_hash,)) is not None

    def chain_head(self) -> tuple[int, str]:
        """Return the number and the hash of the last row, as recorded apart from the rows."""
        found = self._connection.get_states("chain_seq", "chain_hash")
        return found["chain_seq"], found["chain_hash"]

    def put_operation(self, operation: Operation) -> None:
        """Store an operation, replacing the one with the same id."""
        doc = msgspec.json.encode(operation).decode()
        self._db.execute(
            "INSERT INTO operations (id, doc) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc",
            (operation.id, doc),
        )

    def operations(self) -> Iterator[Operation]:
        """Yield all operations, newest first."""
        return self._connection.read(_operation_of, "SELECT doc FROM operations ORDER BY number DESC")

    def put_import(self, entry: Import) -> None:
        """Store an import, replacing the entry with the same id."""
        doc = msgspec.json.encode(entry).decode()
        self._db.execute(
            "INSERT INTO imports VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc",
            (entry.id, entry.at, doc),
        )

    def imports(self) -> Iterator[Import]:
        """Yield all imports, newest first."""
        return self._connection.read(_import_of, "SELECT doc FROM imports ORDER BY at DESC, rowid DESC")

    def new_batch(self, import_id: str, format: str = "") -> int:
        """Return a number for the next batch of an import."""
        self._db.execute("INSERT INTO batches (import_id, format) VALUES (?, ?)", (import_id, format))
        return self._db.last_insert_rowid()

    def formats(self, batches: Sequence[int]) -> dict[int, str]:
        """Return the formats of batches."""
        sql = f"SELECT number, {_FORMAT} FROM {_BATCHES} WHERE number IN (SELECT value FROM json_each(?))"
        return dict(self._connection.rows(sql, (msgspec.json.encode(list(batches)).decode(),)))

    def batches(self, import_id: str) -> list[int]:
        """Return the batches of an import, in order."""
        rows = self._connection.rows("SELECT number FROM batches WHERE import_id = ? ORDER BY number", (import_id,))
        return [number for (number,) in rows]

    def import_of(self, id: str) -> str | None:
        """Return the import that added a record, if one did."""
        sql = "SELECT import_id FROM batches JOIN records ON batch = number WHERE id = ?"
        found: str | None = self._connection.value(sql, (id,))
        return found

    def origins(self, ids: Sequence[str]) -> dict[str, RecordOrigin]:
        """Return how records came into the store."""
        sql = f"""
            SELECT records.id, (SELECT {_FORMAT} FROM {_BATCHES} WHERE number = batch),
                EXISTS (SELECT 1 FROM revisions WHERE key = records.id AND kind = 'record' AND before IS NOT NULL)
            FROM records WHERE records.id IN (SELECT value FROM json_each(?))
        """
        rows = self._connection.rows(sql, (msgspec.json.encode(list(ids)).decode(),))
        return {id: RecordOrigin(format, bool(changed)) for id, format, changed in rows}

    def has_imported_digests(self) -> bool:
        """Return True if any digest of a record without an id is known."""
        return self._connection.value("SELECT 1 FROM imported_digests LIMIT 1") is not None

    def imported_as(self, digests: Sequence[bytes], *, other_than: str) -> dict[bytes, list[str]]:
        """Return the memories that records without an id became in other imports than this, by digest."""
        sql = """
            SELECT digest, record FROM imported_digests WHERE digest IN (SELECT unhex(value) FROM json_each(?))
            AND batch NOT IN (SELECT number FROM batches WHERE import_id = ?) ORDER BY rowid
        """
        found: dict[bytes, list[str]] = {}
        wanted = listed([digest.hex() for digest in digests])
        for digest, record in self._connection.rows(sql, (wanted, other_than)):
            found.setdefault(digest, []).append(record)
        return found

    def put_imported_digests(self, digests: Sequence[tuple[bytes, str]], batch: int) -> None:
        """Store the digests of records that were read without an id, each with the id it got."""
        rows = [(digest, record, batch) for digest, record in digests]
        self._db.executemany("INSERT INTO imported_digests VALUES (?, ?, ?)", rows)

    def remove_imported_digests(self, ids: Sequence[str]) -> None:
        """Remove the digests of memories, so that they can be imported again."""
        sql = "DELETE FROM imported_digests WHERE record IN (SELECT value FROM json_each(?))"
        self._db.execute(sql, (listed(ids),))

    def complete(self) -> None:
        """Add the digests of imports of earlier versions, batch by batch, so that an interruption loses little."""
        while self._connection.get_state("undigested"):
            with self._connection.writing():
                batch = self._connection.get_state("undigested")
                if batch:
                    self.put_imported_digests(self._digests_of(batch), batch)
                    self._connection.set_state(undigested=batch - 1)
            self._connection.give_way()

    def _digests_of(self, batch: int) -> list[tuple[bytes, str]]:
        """Return digests of the unedited memories of a batch that got their ids from the import."""
        sql = f"""
            SELECT at, {", ".join(f"records.{column}" for column in RECORD_COLUMNS)} FROM records
            JOIN batches ON number = batch JOIN imports ON imports.id = import_id
            WHERE batch = ? AND substr(records.id, 1, 13) = printf('%08x-%04x', at / 65536000, at / 1000 % 65536)
            AND NOT EXISTS (SELECT 1 FROM revisions WHERE key = records.id AND kind = 'record') ORDER BY seq
        """
        pairs = self._connection.read(lambda row: (row[0], from_row(row[1:])), sql, (batch,))
        return [(digest_without_id(record, at), record.id) for at, record in pairs]

    def bases(self, ids: Sequence[str]) -> list[Base]:
        """Return what other tools said about these records."""
        sql = "SELECT doc, batch FROM bases WHERE record IN (SELECT value FROM json_each(?))"
        return list(self._connection.read(_base_of, sql, (msgspec.json.encode(list(ids)).decode(),)))

    def put_bases(self, bases: Sequence[Base]) -> None:
        """Store bases, replacing those of the same tool, space and record."""
        self._db.executemany(
            "INSERT OR REPLACE INTO bases VALUES (?, ?, ?, ?, ?)",
            [
                (
                    base.record,
                    base.tool,
                    base.space,
                    msgspec.json.encode(msgspec.structs.replace(base, batch=None)).decode(),
                    base.batch,
                )
                for base in bases
            ],
        )

    def remove_bases(self, bases: Sequence[Base]) -> None:
        """Remove the bases of the same tool, space and record."""
        self._db.executemany(
            "DELETE FROM bases WHERE record = ? AND tool = ? AND space = ?",
            [(base.record, base.tool, base.space) for base in bases],
        )


def _revision_of(row: Sequence[Any]) -> Revision:
    *values, before, batch, previous_batch = row
    decoded = None if before is None else _decode(before)
    revision = _struct_of(Revision, (*values, decoded, batch, previous_batch))
    _check_time(revision.at)
    return revision


def event_of(row: Sequence[Any]) -> Event:
    """Return the audit row in a row of `events`."""
    *values, details, previous, this = row
    event = _struct_of(Event, (*values, _decode(details), previous, this))
    _check_time(event.at)
    return event


def _import_of(row: Sequence[Any]) -> Import:
    entry: Import = _decode(row[0], Import)
    _check_time(entry.at)
    return entry


def _operation_of(row: Sequence[Any]) -> Operation:
    operation: Operation = _decode(row[0], Operation)
    _check_time(operation.at)
    return operation


def _base_of(row: Sequence[Any]) -> Base:
    base: Base = _decode(row[0], Base)
    base.batch = row[1]
    return base


def _decode(text: object, type: Any = Any) -> Any:
    if not isinstance(text, str):
        raise DamagedRow("its values have a wrong type")
    return msgspec.json.decode(text, type=type)


def _struct_of(type: type[T], values: Sequence[Any]) -> T:
    """Return a struct of the values of its fields, in order, after checking their types."""
    fields: tuple[str, ...] = type.__struct_fields__  # type: ignore[attr-defined]
    try:
        return msgspec.convert(dict(zip(fields, values, strict=True)), type)
    except msgspec.ValidationError as error:
        raise DamagedRow(str(error)) from error


def _check_time(at: int) -> None:
    if not EARLIEST <= at <= LATEST:
        raise DamagedRow(f"its time `{at}` is out of range")
