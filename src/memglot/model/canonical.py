"""Canonical JSON (sorted keys, no spaces, no defaults) and digests of it."""

from hashlib import sha256
from typing import Any

import msgspec

from memglot.model.record import DEFAULT_KIND, DEFAULT_SCOPE, DEFAULT_STATUS, Record

_encode = msgspec.json.Encoder(order="sorted").encode
canonical_value = _encode
_DEFAULTS = {"kind": DEFAULT_KIND, "scope": DEFAULT_SCOPE, "status": DEFAULT_STATUS}


def canonical(value: Any) -> bytes:
    """Return canonical JSON: equal bytes for equal values, on every machine."""
    if isinstance(value, msgspec.Struct):
        _intern_defaults(value)
    return _encode(value)


def canonical_record(record: Record) -> bytes:
    """Return the canonical JSON of a record; faster than `canonical`."""
    # msgspec omits a default only if it is the same object, so equal text is replaced by that object.
    if record.kind == DEFAULT_KIND:
        record.kind = DEFAULT_KIND
    if record.scope == DEFAULT_SCOPE:
        record.scope = DEFAULT_SCOPE
    if record.status == DEFAULT_STATUS:
        record.status = DEFAULT_STATUS
    return _encode(record)


def to_builtins(value: Any) -> Any:
    """Return a struct as dicts, lists and scalars, as in its JSON."""
    if isinstance(value, msgspec.Struct):
        _intern_defaults(value)
    return msgspec.to_builtins(value)


def content_hash(content: str) -> bytes:
    """Return the SHA-256 of the text of a memory."""
    return sha256(content.encode("utf-8")).digest()


def record_digest(record: Record) -> bytes:
    """Return the SHA-256 of a record: equal for equal records, on every machine."""
    return sha256(canonical_record(record)).digest()


def digest_without_id(record: Record, imported_at: int = 0) -> bytes:
    """Return a digest of a record as it was before its import at this time gave it an id and times."""
    as_read = msgspec.structs.replace(record, id="")
    if record.updated_at in (record.created_at, imported_at):
        as_read.updated_at = 0
    if record.created_at == imported_at:
        as_read.created_at = 0
    return sha256(canonical_record(as_read)).digest()[:16]


def stored_digest(record: Record) -> bytes:
    """Return the digest that a store returned with a record, or compute it."""
    return record.digest or record_digest(record)


def _intern_defaults(value: Any) -> None:
    for name, default in _DEFAULTS.items():
        if getattr(value, name, None) == default:
            setattr(value, name, default)
