"""The schema of a save: what `repo save` reads as JSON, what `save_memory` accepts, and what is planned from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from memglot.project.storage.vocabulary import Confidence, EvidenceKind, Predicate, SavedKind, Stage

SettableStatus: TypeAlias = Literal["active", "stale", "open", "closed"]
"""The statuses that a save can set directly; `superseded` needs a replacement."""


class SaveRelation(Struct, forbid_unknown_fields=True):
    """A relation from a node to another."""

    predicate: Annotated[Predicate, Meta(description="How the two nodes are related.")]
    to: Annotated[str, Meta(description="Id of the other node.")]
    confidence: Annotated[Confidence | None, Meta(description="How certain the relation is.")] = None


class SaveEvidence(Struct, forbid_unknown_fields=True):
    """Something that supports a node."""

    kind: EvidenceKind
    id: str


class SaveNode(Struct, forbid_unknown_fields=True):
    """A node to create or change. If a node with this id exists, only the given fields change."""

    id: Annotated[str | None, Meta(description="kind.slug, for example `decision.retries-run-in-worker`.")] = None
    kind: Annotated[SavedKind | None, Meta(description="Required for a new node.")] = None
    title: Annotated[str | None, Meta(description="Required for a new node.")] = None
    body: Annotated[str | None, Meta(description="Markdown. Required for a new node.")] = None
    stage: Annotated[Stage | None, Meta(description="Only for features.")] = None
    anchors: Annotated[
        list[str] | None, Meta(description="Paths or globs in the repository it describes, for example `src/billing/`.")
    ] = None
    tags: Annotated[list[str] | None, Meta(description="Tags of lower-case letters, digits and hyphens.")] = None
    related: Annotated[list[SaveRelation] | None, Meta(description="Relations from this node to others.")] = None


class FullSaveNode(SaveNode):
    """A node with the fields that only JSON input can set."""

    status: SettableStatus | None = None
    evidence: list[SaveEvidence] | None = None


class OutdatedNode(Struct, forbid_unknown_fields=True):
    """A node that is no longer true or is to be deleted, and why."""

    id: Annotated[str, Meta(description="Id of the node.")]
    reason: Annotated[str, Meta(description="Why, in one sentence.")]


class SupersededNode(Struct, forbid_unknown_fields=True):
    """A node that was replaced by another, and why."""

    id: Annotated[str, Meta(description="Id of the replaced node.")]
    superseded_by: Annotated[str, Meta(description="Id of its replacement.")]
    reason: Annotated[str, Meta(description="Why, in one sentence.")]


class SaveRequest(Struct, forbid_unknown_fields=True):
    """One save: all of it is written, or nothing."""

    task: Annotated[str, Meta(min_length=1, description="What you were working on, in one sentence.")]
    nodes: Annotated[Sequence[SaveNode] | None, Meta(description="Nodes to create or change.")] = None
    stale: Annotated[list[OutdatedNode] | None, Meta(description="Nodes that are no longer true.")] = None
    supersede: Annotated[list[SupersededNode] | None, Meta(description="Nodes that were replaced.")] = None
    delete: Annotated[list[OutdatedNode] | None, Meta(description="Nodes to delete.")] = None


class FullSaveRequest(SaveRequest):
    """One save as JSON input describes it."""

    nodes: Sequence[FullSaveNode] | None = None
