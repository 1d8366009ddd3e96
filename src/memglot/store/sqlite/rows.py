"""Records and things as rows of tables, and back."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec

from memglot.model import (
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
)
from memglot.store.sqlite.schema import RECORD_COLUMNS

COLUMNS = ", ".join(RECORD_COLUMNS)
_ALL_COLUMNS = (*RECORD_COLUMNS, "content_hash", "digest", "batch")
INSERT = f"INSERT INTO records ({', '.join(_ALL_COLUMNS)}) VALUES ({', '.join('?' * len(_ALL_COLUMNS))})"
UPDATE = f"UPDATE records SET {', '.join(f'{column} = ?' for column in _ALL_COLUMNS)} WHERE seq = ?"

_strings = msgspec.json.Decoder(list[str]).decode
_object = msgspec.json.Decoder(dict[str, Any]).decode
_clocks = msgspec.json.Decoder(dict[str, int]).decode
_foreign = msgspec.json.Decoder(list[Foreign]).decode


def to_row(record: Record, batch: int | None) -> tuple[Any, ...]:
    """A record as the bindings of `INSERT`; empty lists and objects are NULL."""
    content = record.content
    temporal = record.temporal
    return (
        record.id,
        record.title,
        record.kind,
        record.scope,
        record.tree,
        canonical(record.tags).decode() if record.tags else None,
        canonical(record.triggers).decode() if record.triggers else None,
        canonical(record.meta).decode() if record.meta else None,
        temporal.start if temporal is not None else None,
        temporal.end if temporal is not None else None,
        record.status,
        record.strength,
        record.confidence,
        record.created_at,
        record.updated_at,
        canonical(record.clocks).decode() if record.clocks else None,
        record.last_accessed,
        record.access_count,
        canonical(record.source).decode() if record.source else None,
        canonical(record.foreign).decode() if record.foreign else None,
        canonical(record.extra).decode() if record.extra else None,
        content,
        sha256(content.encode()).digest(),
        sha256(canonical(record)).digest(),
        batch,
    )


DIGEST = -2
"""Where the digest stands in a row."""


def from_row(row: Sequence[Any]) -> Record:
    """The record in a row of `COLUMNS`."""
    (
        id, title, kind, scope, tree, tags, triggers, meta, start, end, status, strength, confidence,
        created_at, updated_at, clocks, last_accessed, access_count, source, foreign, extra, content,
    ) = row  # fmt: skip
    record = Record(
        id=id,
        content=content,
        title=title,
        kind=kind,
        scope=scope,
        tree=tree,
        status=status,
        strength=strength,
        confidence=confidence,
        created_at=created_at,
        updated_at=updated_at,
        last_accessed=last_accessed,
        access_count=access_count,
    )
    if tags is not None:
        record.tags = _strings(tags)
    if meta is not None:
        record.meta = _object(meta)
    if start is not None:
        record.temporal = Temporal(start, end)
    if extra is not None:
        record.extra = _object(extra)
    if source is not None:
        record.source = _object(source)
    if foreign is not None:
        record.foreign = _foreign(foreign)
    if triggers is not None:
        record.triggers = _strings(triggers)
    if clocks is not None:
        record.clocks = _clocks(clocks)
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
    """The key of a thing, the record it hangs on, and its second key."""
    match thing:
        case Relation():
            return thing.id, thing.subject.id, thing.object.id
        case Entity():
            return thing.id, "", thing.name
        case Supersession():
            return f"{thing.newer} {thing.older}", thing.newer, thing.older
        case Document():
            return f"{thing.id} {thing.version}", "", thing.name
        case Embedding():
            return f"{thing.record} {thing.model}", thing.record, thing.model
        case Tombstone():
            return thing.id, thing.id, thing.content_hash
        case Conflict():
            return f"{thing.record} {thing.field}", thing.record, thing.state
        case Blob():
            return "\x1f".join((thing.tool, thing.table, thing.key)), thing.owner, thing.table


def thing_row(thing: Thing, batch: int | None) -> tuple[Any, ...]:
    """A thing as key, owner, second key, document, bytes and batch."""
    data = None
    if isinstance(thing, Embedding):
        data, thing = thing.vector, msgspec.structs.replace(thing, vector=b"")
    elif isinstance(thing, Blob) and thing.data is not None:
        data, thing = thing.data, msgspec.structs.replace(thing, data=None)
    return (*thing_keys(thing), canonical(thing).decode(), data, batch)


def thing_of(kind: type[Any], doc: str, data: bytes | None) -> Any:
    """The thing in a row."""
    thing = msgspec.json.decode(doc, type=kind)
    if data is not None:
        setattr(thing, "vector" if kind is Embedding else "data", data)
    return thing
