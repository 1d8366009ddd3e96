"""Canonical JSON and the digests made of it: sorted keys, no spaces, defaults left out."""

from hashlib import sha256
from typing import Any

import msgspec

from memglot.model.record import DEFAULT_KIND, DEFAULT_SCOPE, DEFAULT_STATUS, Record

_encode = msgspec.json.Encoder(order="sorted").encode
canonical_value = _encode
_WORDS = {"kind": DEFAULT_KIND, "scope": DEFAULT_SCOPE, "status": DEFAULT_STATUS}


def canonical(value: Any) -> bytes:
    """Canonical JSON: equal bytes for equal values, on every machine."""
    if isinstance(value, msgspec.Struct):
        _own_words(value)
    return _encode(value)


def canonical_record(record: Record) -> bytes:
    """Canonical JSON of a record, the quick way."""
    # msgspec leaves a default out when it is the same object, so an equal word must become that object.
    if record.kind == DEFAULT_KIND:
        record.kind = DEFAULT_KIND
    if record.scope == DEFAULT_SCOPE:
        record.scope = DEFAULT_SCOPE
    if record.status == DEFAULT_STATUS:
        record.status = DEFAULT_STATUS
    return _encode(record)


def to_builtins(value: Any) -> Any:
    """A struct as dicts and lists of plain values, as its JSON would show it."""
    if isinstance(value, msgspec.Struct):
        _own_words(value)
    return msgspec.to_builtins(value)


def content_hash(content: str) -> bytes:
    """SHA-256 of the text of a memory."""
    return sha256(content.encode("utf-8")).digest()


def record_digest(record: Record) -> bytes:
    """SHA-256 of a whole record: equal for equal records, on every machine."""
    return sha256(canonical_record(record)).digest()


def seal(record: Record, digest: bytes) -> None:
    """Remember the digest of a record that nobody will change: a store has it at hand, and hashing is dear."""
    record.__dict__["seal"] = digest


def stored_digest(record: Record) -> bytes:
    """The digest of a record, from its seal if it has one."""
    known: bytes | None = record.__dict__.get("seal")
    return known or sha256(canonical_record(record)).digest()


def _own_words(value: Any) -> None:
    for name, word in _WORDS.items():
        if getattr(value, name, None) == word:
            setattr(value, name, word)


def mark_news(record: Record, *, edited: bool = False) -> None:
    """Say that a record comes from a note, whose times tell nothing; `edited` where the note is known to be newer."""
    record.__dict__["news"] = "edited" if edited or was_edited(record) else "note"


def has_no_time(record: Record) -> bool:
    """Tell whether a record was marked as news, or tells no time at all."""
    return "news" in record.__dict__ or not record.updated_at


def was_edited(record: Record) -> bool:
    """Tell whether a record comes from a note that was edited since this tool wrote it."""
    return record.__dict__.get("news") == "edited"
