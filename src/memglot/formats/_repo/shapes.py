"""The files of storage version 5 as msgspec sees them; decoding one checks it, and the schemas are made from these."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from memglot.formats._repo import words

Id: TypeAlias = Annotated[str, Meta(pattern=words.ID)]
RelationId: TypeAlias = Annotated[str, Meta(pattern=words.RELATION_ID)]
Time: TypeAlias = Annotated[str, Meta(pattern=words.TIME)]
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Hash: TypeAlias = Annotated[str, Meta(pattern=words.HASH)]


class Evidence(Struct, forbid_unknown_fields=True):
    """What a node or a relation rests on."""

    kind: words.EvidenceKind
    id: Text


class Source(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Who wrote a node, and at what work."""

    kind: words.SourceKind
    task: Text | UnsetType = UNSET
    commit: Text | UnsetType = UNSET


class Origin(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Where outside of the project a node comes from."""

    kind: words.OriginKind
    locator: Text
    captured_at: Time | UnsetType = UNSET
    digest: Hash | UnsetType = UNSET
    media_type: Text | UnsetType = UNSET


class Sidecar(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What `memory/….json` says of a node; its text lies in the Markdown file beside it."""

    id: Id
    type: words.Kind
    status: words.Status
    title: Text
    body_path: Annotated[str, Meta(pattern=words.BODY_PATH)]
    content_hash: Text
    created_at: Time
    updated_at: Time
    stage: words.Stage | UnsetType = UNSET
    anchors: list[Text] | UnsetType = UNSET
    tags: list[Annotated[str, Meta(pattern=words.TAG)]] | UnsetType = UNSET
    evidence: list[Evidence] | UnsetType = UNSET
    source: Source | UnsetType = UNSET
    origin: Origin | UnsetType = UNSET
    superseded_by: Id | None | UnsetType = UNSET


class Link(Struct, forbid_unknown_fields=True, omit_defaults=True, rename={"subject": "from", "object": "to"}):
    """What `relations/….json` says of a relation."""

    id: RelationId
    subject: Id
    predicate: words.Predicate
    object: Id
    status: words.RelationStatus
    created_at: Time
    updated_at: Time
    confidence: words.Confidence | UnsetType = UNSET
    evidence: list[Evidence] | UnsetType = UNSET
    content_hash: Text | UnsetType = UNSET


class Defaults(Struct, forbid_unknown_fields=True, rename="camel"):
    """The defaults of a project."""

    default_token_budget: Annotated[int, Meta(ge=501, le=50_000)]
    auto_index: bool


class Identity(Struct, forbid_unknown_fields=True):
    """Which project this is."""

    id: Annotated[str, Meta(pattern=words.PROJECT_ID)]
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
    actor: words.SourceKind
    timestamp: Time
    id: Id | UnsetType = UNSET
    relation_id: RelationId | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    payload: dict[str, Any] | UnsetType = UNSET


def fields_of(value: Struct) -> dict[str, Any]:
    """A file's struct as the plain object that is written; what is absent stays absent."""
    found: dict[str, Any] = msgspec.to_builtins(value)
    return found
