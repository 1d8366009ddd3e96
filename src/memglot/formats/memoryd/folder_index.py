"""memoryd's `index.db`: times, states and the graph of its memories. It is optional: the texts are in files."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from memglot.errors import BadRecord, Unreadable
from memglot.formats.core.audit_chain import exported_time
from memglot.formats.core.source import Source
from memglot.formats.memoryd.graph import read_entity, read_relation, read_supersession, record_id
from memglot.formats.memoryd.tool_keys import MEMORYD
from memglot.formats.memoryd.values import microseconds
from memglot.formats.syntax.sqlite_input import database
from memglot.model import (
    Blob,
    Document,
    Entity,
    Relation,
    Supersession,
    canonical_value,
    check_thing,
    check_value,
    identity_document,
)
from memglot.report import SourceReport

if TYPE_CHECKING:
    import apsw

INDEX = "index.db"
TABLES = "index."
PROFILES = f"{TABLES}profile_versions"
"""Tables of blobs that are rows of the index; those of profiles have no text, which is a document."""
_IMPORTED = "sync_imported_memories"
# Tables that are read, that repeat the files, or that SQLite and memoryd use for themselves.
_KNOWN = frozenset(
    """
    memories triggers sensitive_scopes entities relations supersedes_chain profile_versions _schema_migrations
    """.split()
) | {_IMPORTED}
_STATISTICS = frozenset({"trigger_stats"})
_GRAPH = ("entities", "relations", "supersedes_chain")


class MemorydIndex:
    """What an index says. A missing or damaged one says less, and a note says so."""

    def __init__(self, db: apsw.Connection | None, name: str, report: SourceReport) -> None:
        self._db, self._name, self._report = db, name, report
        self._tables = {row["name"] for row in self._select("SELECT name FROM sqlite_schema WHERE type = 'table'")}

    def memory(self, slug: str) -> dict[str, Any] | None:
        """Return the row of a memory."""
        if "memories" not in self._tables:
            return None
        return next(self._select("SELECT * FROM memories WHERE slug = ?", slug), None)

    def memories(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of all memories."""
        return self._rows("memories")

    def imported(self) -> Iterator[dict[str, Any]]:
        """Yield the rows that memoryd imported from a memories.json, and shows nowhere."""
        for row in self._rows(_IMPORTED):
            yield {
                "id": row.get("id"),
                "scope": row.get("scope_hash"),
                "content": row.get("content"),
                "content_hash": row.get("content_hash"),
                "updated_at": row.get("updated_at"),
                "tags": row.get("tags_json"),
                "metadata": row.get("metadata_json"),
            }

    def sensitive_scopes(self) -> set[str]:
        """Return the scopes that are marked as sensitive."""
        found = {row.get("scope_hash") for row in self._rows("sensitive_scopes")}
        found |= {row.get("scope_hash") for row in self._rows("memories") if row.get("scope_sensitive")}
        return {scope for scope in found if isinstance(scope, str)}

    def graph(self) -> Iterator[Entity | Relation | Supersession]:
        """Yield entities, relations and supersessions as memoryd exports them, with their scopes."""
        for table in _GRAPH:
            for number, row in enumerate(self._rows(table), 1):
                try:
                    yield _graph_item(table, row)
                except (BadRecord, msgspec.ValidationError) as error:
                    self._report.fault(f"{table}: {error}", item=number)

    def identities(self) -> Iterator[Document]:
        """Yield all versions of the profile, the latest last."""
        for row in sorted(self._rows("profile_versions"), key=_version):
            text = row.get("content_md")
            if isinstance(text, str) and text:
                yield identity_document(text, created_at=time_of(row.get("written_at")) or 0)

    def other_rows(self) -> Iterator[Blob]:
        """Yield the rows of all other tables, to keep."""
        for row in self._rows("profile_versions"):
            more = {name: row[name] for name in row if name not in ("id", "content_md") and row[name] is not None}
            yield _blob("profile_versions", more)
        for table in sorted(self._tables - _KNOWN - _STATISTICS):
            if not table.startswith("sqlite_"):
                for row in self._rows(table):
                    yield _blob(table, row)
        if skipped := sum(1 for table in _STATISTICS for _ in self._rows(table)):
            self._report.note(f"skipped {skipped:,} statistics of searches in {self._name}")

    def _rows(self, table: str) -> Iterator[dict[str, Any]]:
        if table in self._tables:
            name = table.replace('"', '""')
            yield from self._select(f'SELECT * FROM "{name}" ORDER BY rowid')

    def _select(self, sql: str, *values: Any) -> Iterator[dict[str, Any]]:
        import apsw

        if self._db is None:
            return
        try:
            cursor = self._db.execute(sql, values)
            for row in cursor:
                names = [column[0] for column in cursor.get_description()]
                yield {name: _plain(value) for name, value in zip(names, row, strict=True)}
        except (apsw.Error, UnicodeDecodeError) as error:
            self._report.note(_unreadable(self._name, f"it is damaged: {error}"))


@contextmanager
def open_index(path: Path, name: str, report: SourceReport) -> Iterator[MemorydIndex]:
    """Read an index at one moment, from a copy, so that memoryd can go on writing."""
    import apsw

    with ExitStack() as stack:
        copy: apsw.Connection | None = None
        try:
            if path.is_symlink() or not path.exists():
                raise Unreadable(name, "it does not exist")
            source = Source.file(path, name)
            stack.callback(source.close)
            with database(source) as db:
                copy = stack.enter_context(_closing(apsw.Connection("")))
                with copy.backup("main", db, "main") as backup:
                    backup.step()
                copy.execute("PRAGMA trusted_schema = OFF")
        except Unreadable as error:
            copy = None
            report.note(_unreadable(name, error.reason))
        yield MemorydIndex(copy, name, report)


@contextmanager
def _closing(db: apsw.Connection) -> Iterator[apsw.Connection]:
    try:
        yield db
    finally:
        db.close()


def time_of(value: Any) -> int | None:
    """Return a time in microseconds; `None` if it is missing or not valid."""
    try:
        return microseconds(value, "time")
    except BadRecord:
        return None


def _unreadable(name: str, reason: str) -> str:
    return f"{name} was not read completely, so times come from front matter and relations may be missing: {reason}"


def _graph_item(table: str, row: dict[str, Any]) -> Entity | Relation | Supersession:
    found = {name: value for name, value in row.items() if value is not None}
    for name in ("first_seen_at", "last_seen_at", "created_at", "superseded_at", "decided_at"):
        if name in found:
            found[name] = exported_time(found[name])
    item: Entity | Relation | Supersession
    if table == "entities":
        item = read_entity({**found, "aliases": _list(found.get("aliases"))})
    elif table == "supersedes_chain":
        item = read_supersession(found)
    else:
        # memoryd numbers the relations of each machine.
        found.pop("id", None)
        relation = read_relation(found)
        if relation is None:
            raise BadRecord("it has no ends or no predicate")
        relation.updated_at = max(relation.updated_at, relation.superseded_at or 0)
        item = relation
    return check_thing(item)


def _list(text: Any) -> Any:
    try:
        return msgspec.json.decode(text) if isinstance(text, str) else text
    except (msgspec.DecodeError, RecursionError):
        return text


def _blob(table: str, row: dict[str, Any]) -> Blob:
    """Return the blob of a row, with the memory that it is about as its owner."""
    check_value(row, table)
    slug = row.get("source_session_slug")
    owner = record_id(slug) if isinstance(slug, str) and slug else ""
    key = sha256(canonical_value(row)).hexdigest()[:32]
    return Blob(tool=MEMORYD, table=TABLES + table, key=key, owner=owner, row=row)


def _plain(value: Any) -> Any:
    """Return a column's value as JSON can represent it."""
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _version(row: dict[str, Any]) -> int:
    number = row.get("version_num")
    return number if isinstance(number, int) else 0
