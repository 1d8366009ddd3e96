"""How the SQLite store keeps track: settings, revisions, the audit chain, imports."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from memglot.model import Event, now
from memglot.settings import actor
from memglot.store.audit_chain import hash_event
from memglot.store.contract import Import, Revision
from memglot.store.sqlite.connection import Connection

# The table is shared with counts of the store's own, which have names without a colon.
_SETTING = "setting:"


class Track(Connection):
    """The part of the store that knows what happened."""

    def settings(self) -> dict[str, str]:
        """The named settings of this store."""
        start = len(_SETTING)
        rows = self._rows("SELECT name, value FROM keeping WHERE substr(name, 1, ?) = ?", (start, _SETTING))
        return {name[start:]: value for name, value in rows}

    def put_setting(self, name: str, value: str | None) -> None:
        """Keep a setting; `None` forgets it."""
        if value is None:
            self.db.execute("DELETE FROM keeping WHERE name = ?", (_SETTING + name,))
        else:
            self.db.execute("INSERT OR REPLACE INTO keeping VALUES (?, ?)", (_SETTING + name, value))

    def remember(self, revisions: Sequence[Revision]) -> None:
        """Keep what was there before a change."""
        sql = "INSERT INTO revisions (kind, key, at, deed, before, batch, origin) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self.db.executemany(
            sql,
            [
                (
                    revision.kind,
                    revision.key,
                    revision.at,
                    revision.deed,
                    None if revision.before is None else msgspec.json.encode(revision.before).decode(),
                    revision.batch,
                    revision.origin,
                )
                for revision in revisions
            ],
        )

    def revisions(
        self, *, key: str | None = None, batches: Sequence[int] = (), origins: Sequence[int] = ()
    ) -> Iterator[Revision]:
        """What was there before, oldest first."""
        if key is not None:
            where, bindings = "WHERE key = ?", key
        else:
            where = f"WHERE {'origin' if origins else 'batch'} IN (SELECT value FROM json_each(?))"
            bindings = msgspec.json.encode(list(origins or batches)).decode()
        sql = f"SELECT number, kind, key, at, deed, before, batch, origin FROM revisions {where} ORDER BY number"
        for number, kind, name, at, deed, before, batch, origin in self._rows(sql, (bindings,)):
            value = None if before is None else msgspec.json.decode(before)
            yield Revision(
                number=number, kind=kind, key=name, at=at, deed=deed, before=value, batch=batch, origin=origin
            )

    def forget(self, numbers: Sequence[int]) -> None:
        """Drop revisions whose change was taken back."""
        self.db.executemany("DELETE FROM revisions WHERE number = ?", [(number,) for number in numbers])

    def log(self, action: str, target: str, scope: str, details: dict[str, Any]) -> None:
        """Add a row to the audit chain."""
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
        self.db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        self.db.execute("UPDATE keeping SET value = ? WHERE name = 'chain_seq'", (event.seq,))
        self.db.execute("UPDATE keeping SET value = ? WHERE name = 'chain_hash'", (event.this_hash,))

    def events(
        self, *, target: str | None = None, newest_first: bool = False, limit: int | None = None
    ) -> Iterator[Event]:
        """Rows of the audit chain."""
        where, bindings = ("WHERE target = ?", (target,)) if target is not None else ("", ())
        way = "DESC" if newest_first else "ASC"
        sql = f"SELECT * FROM events {where} ORDER BY seq {way} LIMIT {-1 if limit is None else int(limit)}"
        for seq, at, who, action, name, scope, details, previous, this in self._rows(sql, bindings):
            yield Event(
                seq=seq,
                at=at,
                actor=who,
                action=action,
                target=name,
                scope=scope,
                details=msgspec.json.decode(details),
                prev_hash=previous,
                this_hash=this,
            )

    def knows_event(self, this_hash: str) -> bool:
        """Tell whether the audit chain has a row with this hash."""
        return self._value("SELECT 1 FROM events WHERE this_hash = ?", (this_hash,)) is not None

    def chain_head(self) -> tuple[int, str]:
        """The number and the hash of the last row, as recorded apart from the rows."""
        found = dict(self._rows("SELECT name, value FROM keeping WHERE name LIKE 'chain_%'"))
        return int(found["chain_seq"]), str(found["chain_hash"])

    def put_import(self, entry: Import) -> None:
        """Keep what is known of an import."""
        doc = msgspec.json.encode(entry).decode()
        self.db.execute(
            "INSERT INTO imports VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc",
            (entry.id, entry.at, doc),
        )

    def imports(self) -> Iterator[Import]:
        """All imports, newest first."""
        for (doc,) in self._rows("SELECT doc FROM imports ORDER BY at DESC, id DESC"):
            yield msgspec.json.decode(doc, type=Import)

    def new_batch(self, import_id: str) -> int:
        """A number for the next batch of an import."""
        self.db.execute("INSERT INTO batches (import_id) VALUES (?)", (import_id,))
        return self.db.last_insert_rowid()

    def batches(self, import_id: str) -> list[int]:
        """The batches of an import, in order."""
        rows = self._rows("SELECT number FROM batches WHERE import_id = ? ORDER BY number", (import_id,))
        return [number for (number,) in rows]

    def origin(self, id: str) -> int | None:
        """The batch that inserted a record, if one did."""
        found: int | None = self._value("SELECT batch FROM records WHERE id = ?", (id,))
        return found

    def batch_of(self, id: str) -> str | None:
        """The import that brought a record, if one did."""
        sql = "SELECT import_id FROM batches JOIN records ON batch = number WHERE id = ?"
        found: str | None = self._value(sql, (id,))
        return found
