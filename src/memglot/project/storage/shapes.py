"""The files of storage version 5 as msgspec sees them; decoding one checks it, and the schemas are made from these."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from memglot.project.storage import vocabulary

Id: TypeAlias = Annotated[str, Meta(pattern=vocabulary.ID)]
RelationId: TypeAlias = Annotated[str, Meta(pattern=vocabulary.RELATION_ID)]
Time: TypeAlias = Annotated[str, Meta(pattern=vocabulary.TIME)]
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Hash: TypeAlias = Annotated[str, Meta(pattern=vocabulary.HASH)]


class EvidenceItem(Struct, forbid_unknown_fields=True):
    """What a node or a relation rests on."""

    kind: vocabulary.EvidenceKind
    id: Text


class SidecarSource(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Who wrote a node, and at what work."""

    kind: vocabulary.SourceKind
    task: Text | UnsetType = UNSET
    commit: Text | UnsetType = UNSET


class Origin(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Where outside of the project a node comes from."""

    kind: vocabulary.OriginKind
    locator: Text
    captured_at: Time | UnsetType = UNSET
    digest: Hash | UnsetType = UNSET
    media_type: Text | UnsetType = UNSET


class Sidecar(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What `memory/….json` says of a node; its text lies in the Markdown file beside it."""

    id: Id
    type: vocabulary.Kind
    status: vocabulary.Status
    title: Text
    body_path: Annotated[str, Meta(pattern=vocabulary.BODY_PATH)]
    content_hash: Text
    created_at: Time
    updated_at: Time
    stage: vocabulary.Stage | UnsetType = UNSET
    anchors: list[Text] | UnsetType = UNSET
    tags: list[Annotated[str, Meta(pattern=vocabulary.TAG)]] | UnsetType = UNSET
    evidence: list[EvidenceItem] | UnsetType = UNSET
    source: SidecarSource | UnsetType = UNSET
    origin: Origin | UnsetType = UNSET
    superseded_by: Id | None | UnsetType = UNSET


class RelationFile(Struct, forbid_unknown_fields=True, omit_defaults=True, rename={"subject": "from", "object": "to"}):
    """What `relations/….json` says of a relation."""

    id: RelationId
    subject: Id
    predicate: vocabulary.Predicate
    object: Id
    status: vocabulary.RelationStatus
    created_at: Time
    updated_at: Time
    confidence: vocabulary.Confidence | UnsetType = UNSET
    evidence: list[EvidenceItem] | UnsetType = UNSET
    content_hash: Text | UnsetType = UNSET


class Defaults(Struct, forbid_unknown_fields=True, rename="camel"):
    """The defaults of a project."""

    default_token_budget: Annotated[int, Meta(ge=501, le=50_000)]
    auto_index: bool


class Identity(Struct, forbid_unknown_fields=True):
    """Which project this is."""

    id: Annotated[str, Meta(pattern=vocabulary.PROJECT_ID)]
    name: Text


class Config(Struct, forbid_unknown_fields=True):
    """`config.json`."""

    version: Literal[5]
    project: Identity
    memory: Defaults


class MemoryEvent(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A line of `events.jsonl`."""

    event: Literal[
        "memory.created",
        "memory.updated",
        "memory.marked_stale",
        "memory.superseded",
        "memory.deleted",
        "relation.created",
        "relation.updated",
        "relation.deleted",
        "index.rebuilt",
    ]
    actor: vocabulary.SourceKind
    timestamp: Time
    id: Id | UnsetType = UNSET
    relation_id: RelationId | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    payload: dict[str, Any] | UnsetType = UNSET


def fields_of(value: Struct) -> dict[str, Any]:
    """A file's struct as the plain object that is written; what is absent stays absent."""
    found: dict[str, Any] = msgspec.to_builtins(value)
    return found
