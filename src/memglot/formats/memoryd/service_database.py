"""Reader of mcp-memory-service's database: each row as the service's own export writes it, and what that leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from memglot.disk import DiskMap
from memglot.display import first_few, plural
from memglot.errors import BadRecord, Unreadable
from memglot.formats.core.source import Source
from memglot.formats.core.vectors import numbers_of
from memglot.formats.memoryd.read_rows import RowContext, read_row
from memglot.formats.memoryd.service_vectors import BACKUP, VECTORS, ServiceVectors
from memglot.formats.memoryd.tool_keys import SERVICE, service_id
from memglot.formats.memoryd.values import microseconds
from memglot.formats.syntax.sqlite_input import database
from memglot.formats.syntax.sqlite_tables import (
    DamagedTable,
    InputTable,
    LargeRow,
    Row,
    json_row,
    list_input_tables,
    rows_of,
)
from memglot.model import (
    DELETED,
    Blob,
    Embedding,
    Endpoint,
    Item,
    Record,
    Relation,
    Supersession,
    canonical,
    check_thing,
    check_value,
    derive_id,
)
from memglot.model.record_errors import bad_item, too_large, wrong_type
from memglot.report import SourceReport

if TYPE_CHECKING:
    import apsw

MEMORIES, GRAPH = "memories", "memory_graph"
_TEXTS = ("content_hash", "content", "tags", "memory_type", "metadata")
_READ = frozenset(
    """
    id content_hash content tags memory_type metadata created_at updated_at created_at_iso updated_at_iso
    confidence last_accessed superseded_by store
    """.split()
)
"""Columns that are read into fields, or that repeat others."""
_DEFAULTS = {"version": 1, "embedding_pending": 0}
"""Values that further columns have if the service never set them."""
_EDGE = frozenset("source_hash target_hash similarity connection_types metadata created_at relationship_type".split())
_SECRET = "oauth_"
"""Prefix of tables with credentials of the service's clients."""
_RELATED = "related"
_SECOND = 1_000_000


def read_database(source: Source, report: SourceReport) -> Iterator[Item]:
    """Yield the memories with their vectors, then versions, the graph and the rows of other tables."""
    with database(source) as db:
        yield from _DatabaseReader(db, source, report).items()


class _DatabaseReader:
    """Reads one database."""

    def __init__(self, db: apsw.Connection, source: Source, report: SourceReport) -> None:
        self._db, self._report, self._max_record = db, report, source.max_record
        self._tables, self._virtual = list_input_tables(db)
        memories = self._tables.get(MEMORIES)
        if memories is None or not {"content_hash", "content"} <= set(memories.columns):
            raise Unreadable(
                source.name,
                "it is not a database of mcp-memory-service: it has no table `memories` with a column `content_hash`",
                "leave `--format` out to detect the format",
            )
        self._vectors = ServiceVectors(db, self._virtual.get(VECTORS, ""))
        self._ids = DiskMap()
        """Ids of memories that do not follow from their hash, because memglot exported them to the service."""
        self._versions = DiskMap()
        """Hashes of newer and older memories, each pair once; both of them may name the other."""

    def items(self) -> Iterator[Item]:
        """Yield everything in the database."""
        try:
            yield from self._memories(self._tables[MEMORIES])
            yield from self._supersessions()
            for name, table in self._tables.items():
                if name == GRAPH:
                    yield from self._graph(table)
                elif name not in (MEMORIES, BACKUP) and not name.startswith(_SECRET):
                    for row in self._rows(table):
                        yield _blob(table, row)
        finally:
            self._ids.close()
            self._versions.close()
        self._report_omitted()

    def _rows(self, table: InputTable) -> Iterator[Row]:
        """Yield the rows of a table, and report what is damaged."""
        report = self._report
        number = 0
        for row in rows_of(self._db, table, self._max_record):
            if isinstance(row, LargeRow):
                self._report_large(table, row.number)
                continue
            if isinstance(row, DamagedTable):
                place = "at its beginning" if row.after is None else f"after row {row.after}"
                report.fault(f"table `{table.name}` is damaged {place}, and rows are missing: {row.reason}")
                continue
            number += 1
            report.item = number
            yield row
        report.item = None

    def _report_large(self, table: InputTable, number: int) -> None:
        """Report a row that was not read."""
        error = too_large(self._max_record)
        self._report.item = number
        if table.name == MEMORIES:
            self._report.failed_record(error)
            self._vectors.get(number)
        else:
            self._report.fault(f"{table.name}: {error}", item=number)

    # Memories

    def _memories(self, table: InputTable) -> Iterator[Item]:
        for row in self._rows(table):
            try:
                record, attached = self._memory(row)
            except BadRecord as error:
                self._report.failed_record(error)
                self._vectors.get(row.get("id"))
                yield _blob(table, row)
                continue
            yield record
            yield from attached

    def _memory(self, row: Row) -> tuple[Record, list[Item]]:
        for name in _TEXTS:
            if isinstance(value := row.get(name), bytes):
                raise _bad_text(name, value)
        record, attached = read_row(_exported(row), RowContext(), self._report)
        found: list[Item] = [*attached]
        if not any(isinstance(item, Embedding) for item in found):
            found += self._vector(record, row.get("id"))
        _set_columns(record, row)
        self._remember(record, row)
        return record, found

    def _remember(self, record: Record, row: Row) -> None:
        hash = str(row["content_hash"])
        if record.id != service_id(hash):
            self._ids[hash] = record.id
        for newer, older in ((row.get("superseded_by"), hash), (hash, row.get("parent_id"))):
            if isinstance(newer, str) and isinstance(older, str) and newer and older:
                self._versions[canonical([newer, older]).decode()] = ""

    def _vector(self, record: Record, number: Any) -> Iterator[Embedding]:
        vector = self._vectors.get(number)
        if vector is None:
            return
        if numbers_of(vector) is None:
            self._report.dropped("embedding (not finite)", record.id)
            return
        yield Embedding(record=record.id, vector=vector, dimensions=self._vectors.dimensions)

    def _id(self, hash: str) -> str:
        return str(self._ids.get(hash) or service_id(hash))

    def _supersessions(self) -> Iterator[Supersession]:
        for pair in self._versions:
            newer, older = msgspec.json.decode(pair)
            yield Supersession(newer=self._id(newer), older=self._id(older))

    # Other tables

    def _graph(self, table: InputTable) -> Iterator[Item]:
        for row in self._rows(table):
            try:
                yield self._relation(row)
            except BadRecord as error:
                self._report.fault(f"{GRAPH}: {error}", item=self._report.item)
                yield _blob(table, row)

    def _relation(self, row: Row) -> Relation:
        source, target = row.get("source_hash"), row.get("target_hash")
        if not (isinstance(source, str) and isinstance(target, str) and source and target):
            raise bad_item("row", "an end of the relation is missing")
        kind, weight = row.get("relationship_type"), row.get("similarity")
        metadata, types = _json(row.get("metadata")), _json(row.get("connection_types"))
        own = json_row({name: value for name, value in row.items() if name not in _EDGE})
        own |= {"connection_types": types} if types is not None else {}
        own |= {"metadata": metadata} if metadata is not None and not isinstance(metadata, dict) else {}
        check_value(own, "another column")
        check_value(weight, "similarity")
        at = microseconds(row.get("created_at"), "created_at") or 0
        # The service keeps one relation between two memories in each direction, whatever its type.
        return check_thing(
            Relation(
                id=derive_id(f"{SERVICE}-relation", "", f"{source}\0{target}"),
                subject=Endpoint(self._id(source)),
                predicate=kind if isinstance(kind, str) and kind else _RELATED,
                object=Endpoint(self._id(target)),
                weight=float(weight) if isinstance(weight, (int, float)) else None,
                created_at=at,
                updated_at=at,
                meta=metadata if isinstance(metadata, dict) else {},
                extra={SERVICE: own} if own else {},
            )
        )

    def _report_omitted(self) -> None:
        report, vectors = self._report, self._vectors
        if vectors.damaged:
            report.note(f"left out {plural(vectors.damaged, 'damaged vector')}; `memglot embed` builds them again")
        if (unused := vectors.count() - vectors.found) > 0:
            report.note(f"left out {plural(unused, 'vector')} without a memory")
        if VECTORS in self._virtual and not vectors.is_known:
            report.note("left out the vectors, because their table has an unknown layout")
        if secret := [name for name in self._tables if name.startswith(_SECRET)]:
            report.note(f"left out {plural(len(secret), 'table')} with credentials: {first_few(secret)}")


def _exported(row: Row) -> dict[str, Any]:
    """Return a row as the service exports it."""
    tags = row.get("tags")
    found = {
        "content": row["content"],
        "content_hash": row["content_hash"],
        # The service joins tags with commas, whatever they contain.
        "tags": [tag for tag in map(str.strip, tags.split(",")) if tag] if isinstance(tags, str) else [],
        "created_at": _given(row, "created_at"),
        "updated_at": _given(row, "updated_at"),
        "memory_type": row.get("memory_type"),
        "metadata": _json(row.get("metadata")),
    }
    return found | ({"store": row["store"]} if row.get("store") is not None else {})


def _given(row: Row, name: str) -> Any:
    return row.get(f"{name}_iso") if row.get(name) is None else row[name]


def _set_columns(record: Record, row: Row) -> None:
    """Set what the service's export leaves out; columns without a field are kept with the values of the tool."""
    own = json_row({name: value for name, value in row.items() if name not in _READ})
    own = {name: value for name, value in own.items() if _DEFAULTS.get(name) != value}
    confidence = row.get("confidence")
    if isinstance(confidence, float) and 0 <= confidence < 1:
        record.confidence = confidence
    elif confidence not in (None, 1):
        own["confidence"] = json_row(row)["confidence"]
    if (used := row.get("last_accessed")) is not None:
        try:
            record.last_accessed = microseconds(used, "last_accessed")
        except BadRecord:
            own["last_accessed"] = json_row(row)["last_accessed"]
    own |= {name: row[name] for name in ("created_at_iso", "updated_at_iso") if _differs(row, name)}
    if row.get("deleted_at") is not None:
        record.status = DELETED
    if own:
        check_value(own, "another column")
        record.extra[SERVICE] = {**record.extra.get(SERVICE, {}), **own}


def _differs(row: Row, name: str) -> bool:
    """Return True if the text of a time is not that of the number next to it, by more than a second."""
    text, number = row.get(name), row.get(name.removesuffix("_iso"))
    if not isinstance(text, str) or number is None:
        return False
    try:
        at, other = microseconds(text, name), microseconds(number, name)
    except BadRecord:
        return True
    return at is not None and other is not None and abs(at - other) > _SECOND


def _json(text: Any) -> Any:
    """Return the value of a column with JSON; text that is not valid JSON as it is."""
    if not isinstance(text, str):
        return None
    try:
        return msgspec.json.decode(text) if text else None
    except (msgspec.DecodeError, RecursionError):
        return text


def _blob(table: InputTable, row: Row) -> Blob:
    """Return a row as it is."""
    found = json_row(row)
    values = [found.get(name) for name in table.keys]
    key = sha256(canonical(found)).hexdigest()[:32] if None in values or not values else canonical(values).decode()
    if len(values) == 1 and isinstance(values[0], str):
        key = values[0]
    return Blob(tool=SERVICE, table=table.name, key=key, row=found)


def _bad_text(name: str, value: bytes) -> BadRecord:
    """Return the error for a column whose text is not valid UTF-8."""
    try:
        value.decode()
    except UnicodeDecodeError as error:
        return BadRecord(f"`{name}` contains invalid UTF-8 at byte {error.start}")
    return wrong_type(name, "text", "bytes")
