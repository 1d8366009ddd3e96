"""The model: records and everything attached to them, shared by formats and stores."""

from typing import TypeAlias

from memglot.model.canonical import (
    canonical,
    canonical_record,
    canonical_value,
    content_hash,
    digest_without_id,
    record_digest,
    stored_digest,
    to_builtins,
)
from memglot.model.graph import ENTITY_TYPES, PREDICATES, Endpoint, Entity, Relation, Supersession
from memglot.model.ids import Minter, derive_id, id_time, is_id
from memglot.model.keys import (
    LINK_KINDS,
    Thing,
    is_link_tombstone,
    linked_memories,
    mentioned_ids,
    owner_of,
    thing_key,
)
from memglot.model.record import (
    DEFAULT_KIND,
    DEFAULT_SCOPE,
    DEFAULT_STATUS,
    DELETED,
    EDITED_NOTE,
    FIELDS,
    NOTE,
    Foreign,
    Record,
    Temporal,
    has_no_time,
    mark_as_note,
)
from memglot.model.rules import (
    REPLACEMENT,
    assign_id_and_times,
    check_content,
    check_fields,
    check_id,
    check_item,
    check_record,
    check_temporal,
    check_text,
    check_thing,
    check_tree,
    check_types,
    check_value,
    repair_text,
    set_times_from_id,
)
from memglot.model.stored import (
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
from memglot.model.times import (
    EARLIEST,
    LATEST,
    Moment,
    OptionalMoment,
    finer_than_microseconds,
    format_time,
    now,
    parse_time,
    to_datetime,
)

Item: TypeAlias = Record | Thing
"""Everything that a reader may yield and a writer may accept."""

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
