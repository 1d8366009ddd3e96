"""Relations between memories, the entities they mention, and which memory replaced which."""

from typing import Any

import msgspec

from memglot.model.record import DEFAULT_SCOPE, DEFAULT_STATUS, Foreign
from memglot.model.times import Moment, OptionalMoment

ENTITY_TYPES = ("person", "organization", "place", "library", "tool", "project", "concept")
"""Types of entities that other tools know; any other type is allowed."""
PREDICATES = (
    "mentions",
    "works_on",
    "uses",
    "prefers",
    "supersedes",
    "superseded_by",
    "conflicts_with",
    "cites",
    "runs_on",
    "belongs_to",
    "located_at",
)
"""Predicates that other tools know; any other predicate is allowed."""


class Endpoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """One end of a relation: the id of a record, or with `entity` that of an entity."""

    id: str
    entity: bool = False


class Relation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """`subject predicate object`, each end a record or an entity."""

    id: str
    subject: Endpoint
    predicate: str
    object: Endpoint
    weight: float | None = None
    directed: bool = True
    confidence: float | str | None = None
    status: str = DEFAULT_STATUS
    evidence: list[Any] = []
    source_record: str | None = None
    scope: str = DEFAULT_SCOPE
    created_at: int = 0
    updated_at: int = 0
    superseded_at: int | None = None
    meta: dict[str, Any] = {}
    foreign: list[Foreign] = []
    extra: dict[str, Any] = {}

    created, updated, superseded = Moment("created_at"), Moment("updated_at"), OptionalMoment("superseded_at")


class Entity(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A person, library, place or other thing that memories mention."""

    id: str
    name: str
    type: str = ""
    aliases: list[str] = []
    first_seen: int | None = None
    last_seen: int | None = None
    mentions: int = 0
    scope: str = DEFAULT_SCOPE
    confidence: float | None = None
    meta: dict[str, Any] = {}
    foreign: list[Foreign] = []
    extra: dict[str, Any] = {}

    first_seen_time, last_seen_time = OptionalMoment("first_seen"), OptionalMoment("last_seen")


class Supersession(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The decision that one memory replaces another."""

    newer: str
    older: str
    entity: str | None = None
    confidence: float | None = None
    decided_at: int | None = None
    decided_by: str = ""
    reason: str = ""
    extra: dict[str, Any] = {}

    decided = OptionalMoment("decided_at")
