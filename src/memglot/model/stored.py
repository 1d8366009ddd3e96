"""Other things that a store keeps: documents, vectors, deletions, conflicts, foreign rows, audit events."""

from hashlib import sha256
from typing import Any

import msgspec

from memglot.model.ids import derive_id
from memglot.model.record import DEFAULT_KIND, DEFAULT_SCOPE
from memglot.model.times import Moment

IDENTITY = "identity"
"""Name of identity documents."""


class Document(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A text such as an identity snapshot; each version is a separate document."""

    id: str
    name: str
    content: str
    version: int = 1
    scope: str = DEFAULT_SCOPE
    created_at: int = 0
    meta: dict[str, Any] = {}
    extra: dict[str, Any] = {}

    created = Moment("created_at")


def identity_document(content: str, *, scope: str = DEFAULT_SCOPE, created_at: int = 0) -> Document:
    """Return an identity document; the same text has the same id on every machine."""
    hash = sha256(content.encode("utf-8")).hexdigest()
    id = derive_id("memglot-identity", scope, hash)
    return Document(id=id, name=IDENTITY, content=content, scope=scope, created_at=created_at)


class Embedding(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The vector of a record, as little-endian float32 bytes; `model` is empty if unknown."""

    record: str
    vector: bytes
    dimensions: int
    model: str = ""


class Tombstone(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Marks a deleted memory, so that it stays deleted when an old file contains it."""

    id: str
    content_hash: str
    kind: str = DEFAULT_KIND
    scope: str = DEFAULT_SCOPE
    deleted_at: int
    reason: str = ""


class Conflict(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Different values of one field, set at the same time; a later edit resolves it."""

    record: str
    field: str
    clock: int
    values: list[Any]


class Blob(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Other data of a source (conversations, images, unknown tables), kept so that it can be restored."""

    tool: str
    table: str
    key: str
    owner: str = ""
    row: Any = None
    data: bytes | None = None


CONVERSATION_TABLES = frozenset({"conversations", "messages"})
"""Tables of blobs that contain conversations."""


class Event(msgspec.Struct, kw_only=True):
    """One row of the audit chain; `this_hash` covers every other field and the row before it."""

    seq: int
    at: int
    actor: str
    action: str
    target: str
    scope: str
    details: dict[str, Any]
    prev_hash: str
    this_hash: str

    time = Moment("at")
