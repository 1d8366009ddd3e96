"""Conversion between records or things and rows of tables."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from types import NoneType
from typing import Any

import msgspec

from memglot.model import (
    EARLIEST,
    LATEST,
    Blob,
    Conflict,
    Document,
    Embedding,
    Entity,
    Foreign,
    Record,
    Relation,
    Supersession,
    Temporal,
    Thing,
    Tombstone,
    canonical,
    canonical_record,
    canonical_value,
    thing_key,
)
from memglot.store.sqlite.failures import DamagedRow
from memglot.store.sqlite.schema import RECORD_COLUMNS

COLUMNS = ", ".join(RECORD_COLUMNS)
_ALL_COLUMNS = (*RECORD_COLUMNS, "content_hash", "digest", "batch")
INSERT = f"INSERT INTO records ({', '.join(_ALL_COLUMNS)}) VALUES ({', '.join('?' * len(_ALL_COLUMNS))})"
UPDATE = f"UPDATE records SET {', '.join(f'{column} = ?' for column in _ALL_COLUMNS)} WHERE seq = ?"

_strings = msgspec.json.Decoder(list[str]).decode
_object = msgspec.json.Decoder(dict[str, Any]).decode


class OtherFields(msgspec.Struct, omit_defaults=True, gc=False):
    """The fields of a record that share the column `other_fields`."""

    triggers: list[str] = []
    strength: float | None = None
    confidence: float | None = None
    clocks: dict[str, int] = {}
    last_accessed: int | None = None
    access_count: int = 0
    source: dict[str, Any] = {}
    foreign: list[Foreign] = []
    extra: dict[str, Any] = {}


_decode_other_fields = msgspec.json.Decoder(OtherFields).decode
_OTHER_FIELDS = OtherFields.__struct_fields__


def to_row(record: Record, batch: int | None) -> tuple[Any, ...]:
    """Return a record as the bindings of `INSERT`; empty lists and objects are NULL."""
    content = record.content
    temporal = record.temporal
    return (
        record.id,
        record.title,
        record.kind,
        record.scope,
        record.tree,
        canonical_value(record.tags).decode() if record.tags else None,
        canonical_value(record.meta).decode() if record.meta else None,
        temporal.start if temporal is not None else None,
        temporal.end if temporal is not None else None,
        record.status,
        record.created_at,
        record.updated_at,
        _encode_other_fields(record),
        content,
        sha256(content.encode()).digest(),
        sha256(canonical_record(record)).digest(),
        batch,
    )


def _encode_other_fields(record: Record) -> str | None:
    if (
        record.extra
        or record.source
        or record.foreign
        or record.clocks
        or record.strength is not None
        or record.confidence is not None
        or record.last_accessed is not None
        or record.triggers
        or record.access_count
    ):
        return canonical(OtherFields(*(getattr(record, field) for field in _OTHER_FIELDS))).decode()
    return None


SEARCHED = ("title", "content_hash", "tags", "tree", "meta", "scope", "other_fields")
"""The columns whose change requires an index update; a vector is made of the first two."""
DIGEST = -2
"""Position of the digest in a row."""
TEXT = tuple(_ALL_COLUMNS.index(column) for column in SEARCHED)
"""Positions of the searched columns in a row."""


def listed(values: Iterable[object]) -> str:
    """Return values as one binding for `json_each`, so that SQLite's limit on bindings does not matter."""
    return msgspec.json.encode(list(values)).decode()


def searched(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return what an index is made of, from the values of `SEARCHED`; of the other fields, only the source."""
    *others, rest = values
    return (*others, _decode_other_fields(rest).source if rest else {})


def from_row(row: Sequence[Any]) -> Record:
    """Return the record in a row of `COLUMNS`."""
    id, title, kind, scope, tree, tags, meta, start, end, status, created_at, updated_at, rest, content = row
    if not (
        type(id) is type(content) is type(kind) is type(scope) is type(tree) is type(status) is str
        and type(created_at) is type(updated_at) is int
        and EARLIEST <= created_at <= LATEST
        and EARLIEST <= updated_at <= LATEST
    ):
        raise DamagedRow(f"memory {id} has values of a wrong type or range")
    record = Record(
        id=id,
        content=content,
        title=title,
        kind=kind,
        scope=scope,
        tree=tree,
        status=status,
        created_at=created_at,
        updated_at=updated_at,
    )
    if meta is not None:
        record.meta = _object(meta)
    if tags is not None:
        record.tags = _strings(tags)
    if start is not None:
        record.temporal = Temporal(start, end)
    if rest is not None:
        found = _decode_other_fields(rest)
        for field in _OTHER_FIELDS:
            setattr(record, field, getattr(found, field))
    return record


def from_row_with_digest(row: Sequence[Any]) -> Record:
    """Return the record in a row of `COLUMNS` and its digest."""
    record = from_row(row[:-1])
    record.digest = row[-1]
    return record


TABLES: dict[type[Any], str] = {
    Relation: "relations",
    Entity: "entities",
    Supersession: "supersessions",
    Document: "documents",
    Embedding: "embeddings",
    Tombstone: "tombstones",
    Conflict: "conflicts",
    Blob: "blobs",
}


def thing_keys(thing: Thing) -> tuple[str, str, str]:
    """Return the key of a thing, the record it is attached to, and its second key."""
    return thing_key(thing), *_owner_and_second_key(thing)


def _owner_and_second_key(thing: Thing) -> tuple[str, str]:
    match thing:
        case Relation():
            return thing.subject.id, thing.object.id
        case Entity() | Document():
            return "", thing.name
        case Supersession():
            return thing.newer, thing.older
        case Embedding():
            return thing.record, thing.model
        case Tombstone():
            return thing.id, thing.content_hash
        case Conflict():
            return thing.record, thing.field
        case Blob():
            return thing.owner, thing.table


def thing_row(thing: Thing, batch: int | None) -> tuple[Any, ...]:
    """Return a thing as key, owner, second key, document, bytes and batch."""
    data = None
    if isinstance(thing, Embedding):
        data, thing = thing.vector, msgspec.structs.replace(thing, vector=b"")
    elif isinstance(thing, Blob) and thing.data is not None:
        data, thing = thing.data, msgspec.structs.replace(thing, data=None)
    return (*thing_keys(thing), canonical(thing).decode(), data, batch)


def thing_of(kind: type[Any], doc: str, data: bytes | None) -> Any:
    """Return the thing in a row."""
    if not isinstance(doc, str) or not isinstance(data, (bytes, NoneType)):
        raise DamagedRow("its values have a wrong type")
    thing = msgspec.json.decode(doc, type=kind)
    if data is not None:
        setattr(thing, "vector" if kind is Embedding else "data", data)
    return thing
