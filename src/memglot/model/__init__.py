"""The model: the one meeting point of formats and stores."""

from typing import TypeAlias

from memglot.model.canonical import (
    canonical,
    canonical_record,
    canonical_value,
    content_hash,
    is_news,
    mark_news,
    plain,
    record_digest,
    seal,
    sealed_digest,
    was_edited,
)
from memglot.model.check import (
    check_content,
    check_id,
    check_record,
    check_temporal,
    check_text,
    check_thing,
    check_tree,
    check_types,
    check_value,
    date_by_id,
    settle,
)
from memglot.model.graph import ENTITY_TYPES, PREDICATES, End, Entity, Relation, Supersession
from memglot.model.ids import Minter, derive_id, id_time, is_id
from memglot.model.keeping import (
    CONVERSATION_TABLES,
    IDENTITY,
    Blob,
    Conflict,
    Document,
    Embedding,
    Event,
    Tombstone,
    identity_document,
)
from memglot.model.memory import (
    DEFAULT_KIND,
    DEFAULT_SCOPE,
    DEFAULT_STATUS,
    DELETED,
    FIELDS,
    Foreign,
    Record,
    Temporal,
)
from memglot.model.owner import owner_of
from memglot.model.times import EARLIEST, LATEST, finer_than_microseconds, format_time, now, parse_time

Thing: TypeAlias = Relation | Entity | Supersession | Document | Embedding | Tombstone | Conflict | Blob
"""Whatever a store keeps beside records."""

Item: TypeAlias = Record | Thing
"""Whatever a reader may yield and a writer may be given."""

THINGS: dict[str, type[Thing]] = {
    "relation": Relation,
    "entity": Entity,
    "supersession": Supersession,
    "document": Document,
    "embedding": Embedding,
    "tombstone": Tombstone,
    "conflict": Conflict,
    "blob": Blob,
}

__all__ = [
    "CONVERSATION_TABLES",
    "DEFAULT_KIND",
    "DEFAULT_SCOPE",
    "DEFAULT_STATUS",
    "DELETED",
    "EARLIEST",
    "ENTITY_TYPES",
    "FIELDS",
    "IDENTITY",
    "LATEST",
    "PREDICATES",
    "THINGS",
    "Blob",
    "Conflict",
    "Document",
    "Embedding",
    "End",
    "Entity",
    "Event",
    "Foreign",
    "Item",
    "Minter",
    "Record",
    "Relation",
    "Supersession",
    "Temporal",
    "Thing",
    "Tombstone",
    "canonical",
    "canonical_record",
    "canonical_value",
    "check_content",
    "check_id",
    "check_record",
    "check_temporal",
    "check_text",
    "check_thing",
    "check_tree",
    "check_types",
    "check_value",
    "content_hash",
    "date_by_id",
    "derive_id",
    "finer_than_microseconds",
    "format_time",
    "id_time",
    "identity_document",
    "is_id",
    "is_news",
    "mark_news",
    "was_edited",
    "now",
    "owner_of",
    "parse_time",
    "plain",
    "record_digest",
    "seal",
    "sealed_digest",
    "settle",
]
