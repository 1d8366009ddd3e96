"""Schemas that several tools share. Their field names are those that agents know from Memory Engine."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from memglot.model import Record, format_time

Text = Annotated[str, Meta(min_length=1)]
Natural = Annotated[int, Meta(ge=0, le=2**53)]
"""An integer from 0 that every JSON parser can represent exactly."""


class Span(msgspec.Struct, forbid_unknown_fields=True):
    """The time that a memory is about: a point in time, or from `start` to `end`."""

    start: Annotated[str, Meta(description="ISO 8601 timestamp with an offset, such as 2026-01-15T10:00:00Z.")]
    end: Annotated[str | None, Meta(description="End of the time span (exclusive). Leave out for a point in time.")] = (
        None
    )


class Range(msgspec.Struct, forbid_unknown_fields=True):
    """A time range."""

    start: Annotated[str, Meta(description="Start of the range, ISO 8601.")]
    end: Annotated[str, Meta(description="End of the range, ISO 8601.")]


class TemporalFilter(msgspec.Struct, forbid_unknown_fields=True):
    """Conditions on the time that memories are about. All given conditions must hold."""

    contains: Annotated[str | None, Meta(description="The memory's time contains this moment.")] = None
    overlaps: Annotated[Range | None, Meta(description="The memory's time overlaps this range.")] = None
    within: Annotated[Range | None, Meta(description="The memory's time is within this range.")] = None
    before: Annotated[str | None, Meta(description="The memory's time has ended by this moment.")] = None
    after: Annotated[str | None, Meta(description="The memory's time starts after this moment.")] = None


class MemoryOut(msgspec.Struct, kw_only=True):
    """A memory in a tool result."""

    id: str
    content: str
    meta: dict[str, Any]
    tree: str
    temporal: Span | None
    title: str | None
    kind: str
    scope: str
    tags: list[str]
    status: str
    source: dict[str, Any]
    createdAt: str
    updatedAt: str


class CountOut(msgspec.Struct):
    """The number of affected memories."""

    count: Annotated[int, Meta(description="Number of memories that were changed, or would be with `dry_run`.")]


TreeArg = Annotated[str | None, Meta(description="Dotted path of letters, digits and `_`, such as `work.billing`.")]
TagsArg = Annotated[list[str] | None, Meta(description="Labels, such as `preference`.")]
TemporalArg = Annotated[Span | None, Meta(description="The time that the memory is about, if any.")]
MetaArg = Annotated[dict[str, Any] | None, Meta(description="Metadata: any keys and values you like.")]
TreeFilterArg = Annotated[
    str | None,
    Meta(description="Only memories at or below this path; also accepts patterns: `work.*`, `*.api.*`, `api & !old`."),
]
MetaFilterArg = Annotated[dict[str, Any] | None, Meta(description="Only memories whose metadata contains this object.")]
TemporalFilterArg = Annotated[TemporalFilter | None, Meta(description="Only memories about this time.")]


def memory_out(record: Record) -> MemoryOut:
    """Return a memory for a tool result."""
    span = record.temporal
    temporal = None
    if span is not None:
        temporal = Span(format_time(span.start), format_time(span.start if span.end is None else span.end))
    return MemoryOut(
        id=record.id,
        content=record.content,
        meta=record.meta,
        tree=record.tree,
        temporal=temporal,
        title=record.title,
        kind=record.kind,
        scope=record.scope,
        tags=record.tags,
        status=record.status,
        source=record.source,
        createdAt=format_time(record.created_at),
        updatedAt=format_time(record.updated_at),
    )


def temporal_value(given: Span | None) -> dict[str, str] | None:
    """Return a time span as `Memory.add` and `Memory.update` accept it."""
    if given is None:
        return None
    return {"start": given.start} | ({"end": given.end} if given.end is not None and given.end != given.start else {})


def search_filters(tree: str | None, meta: dict[str, Any] | None, when: TemporalFilter | None) -> dict[str, Any]:
    """Return the filters that searches and exports share, as `Memory` accepts them."""
    found: dict[str, Any] = {"tree": tree, "meta": meta}
    if when is not None:
        for name in ("contains", "before", "after"):
            found[f"temporal_{name}"] = getattr(when, name)
        for name in ("overlaps", "within"):
            given: Range | None = getattr(when, name)
            found[f"temporal_{name}"] = given and (given.start, given.end)
    return {name: value for name, value in found.items() if value is not None}
