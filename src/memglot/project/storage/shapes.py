"""Structs of the files of storage version 5; they validate the files, and the schemas are generated from them."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from memglot.project.storage import vocabulary

Id: TypeAlias = Annotated[str, Meta(pattern=vocabulary.ID)]
RelationId: TypeAlias = Annotated[str, Meta(pattern=vocabulary.RELATION_ID)]
Time: TypeAlias = Annotated[str, Meta(pattern=vocabulary.TIME)]
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Hash: TypeAlias = Annotated[str, Meta(pattern=vocabulary.HASH)]


class EvidenceItem(Struct, forbid_unknown_fields=True):
    """Evidence for a node or a relation."""

    kind: vocabulary.EvidenceKind
    id: Text


class SidecarSource(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Who wrote a node, and during which task."""

    kind: vocabulary.SourceKind
    task: Text | UnsetType = UNSET
    commit: Text | UnsetType = UNSET


class Origin(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The source of a node outside of the project."""

    kind: vocabulary.OriginKind
    locator: Text
    captured_at: Time | UnsetType = UNSET
    digest: Hash | UnsetType = UNSET
    media_type: Text | UnsetType = UNSET


class Sidecar(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A node in `memory/….json`; its text is in the Markdown file next to it."""

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
    """A relation in `relations/….json`."""

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
    """The id and the name of the project."""

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
