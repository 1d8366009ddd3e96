"""Conversion between records or things and rows of tables."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

import msgspec

from memglot.display import quoted
from memglot.errors import BadRecord
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
    canonical_record,
    canonical_value,
    check_fields,
    check_thing,
    check_value,
    is_id,
    thing_key,
)
from memglot.settings import MAX_DEPTH
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


_Row: TypeAlias = tuple[
    str, str | None, str, str, str, str | None, str | None, int | None, int | None, str, int, int, str | None, str
]
_WRONG = (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError, BadRecord, DamagedRow)


def from_row(row: Sequence[Any]) -> Record:
    """Return the record in a row of `COLUMNS`; raise `DamagedRow` if its values cannot be those of a memory."""
    try:
        record = _record_of(_typed(row))
        check_fields(record)
    except _WRONG as error:
        raise DamagedRow(f"{_place_of(row)}: {_lower(str(error))}") from None
    return record


def _place_of(row: Sequence[Any]) -> str:
    """Return the name of a record in a message, whatever its id is."""
    return f"memory {row[0]}" if isinstance(row[0], str) and is_id(row[0]) else f"memory {quoted(str(row[0]))}"


def _typed(row: Sequence[Any]) -> _Row:
    """Return a row of `COLUMNS` whose values have the right types."""
    try:
        found: _Row = msgspec.convert(row, _Row)
    except msgspec.ValidationError as error:
        # Name the column instead of its number.
        text, _, place = str(error).partition(" - at `$[")
        raise DamagedRow(_lower(f"{text} in `{RECORD_COLUMNS[int(place[:-2])]}`")) from None
    return found


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _record_of(row: _Row) -> Record:
    id, title, kind, scope, tree, tags, meta, start, end, status, created_at, updated_at, rest, content = row
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
        _check_depth(meta, record.meta, "meta")
    if tags is not None:
        record.tags = _strings(tags)
    if start is not None:
        record.temporal = Temporal(start, end)
    if rest is not None:
        found = _decode_other_fields(rest)
        _check_depth(rest, [found.source, found.extra], "extra")
        for field in _OTHER_FIELDS:
            setattr(record, field, getattr(found, field))
    return record


def _check_depth(text: str, value: Any, field: str) -> None:
    """Check the nesting of a value, if its JSON has enough brackets to be nested too deeply."""
    if text.count("[") + text.count("{") > MAX_DEPTH:
        check_value(value, field)


def from_row_with_digest(row: Sequence[Any]) -> Record:
    """Return the record in a row of `COLUMNS` and its digest."""
    record = from_row(row[:-1])
    if not isinstance(row[-1], bytes):
        raise DamagedRow(f"{_place_of(row)}: its digest is not bytes")
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


def thing_of(kind: type[Any], doc: Any, data: Any) -> Any:
    """Return the thing in a row; raise `DamagedRow` if its values cannot be those of a thing."""
    try:
        thing = msgspec.json.decode(msgspec.convert(doc, str), type=kind)
        if data is not None:
            if kind not in (Embedding, Blob):
                raise DamagedRow("it has bytes")
            setattr(thing, "vector" if kind is Embedding else "data", msgspec.convert(data, bytes))
        return check_thing(thing)
    except _WRONG as error:
        raise DamagedRow(_lower(str(error))) from None
