"""The shapes of arguments and answers that several tools share, named as agents know them from Memory Engine."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from memglot.model import Record, format_time

Text = Annotated[str, Meta(min_length=1)]
Natural = Annotated[int, Meta(ge=0, le=2**53)]
"""A whole number from 0 that every JSON reader can hold."""


class Span(msgspec.Struct, forbid_unknown_fields=True):
    """A time that a memory is about: a point, or from `start` up to `end`."""

    start: Annotated[str, Meta(description="ISO 8601 time with an offset, such as 2026-01-15T10:00:00Z.")]
    end: Annotated[str | None, Meta(description="The end, which is no part of it. Leave out for a point in time.")] = (
        None
    )


class Range(msgspec.Struct, forbid_unknown_fields=True):
    """From a time up to another."""

    start: Annotated[str, Meta(description="Start of the range, ISO 8601.")]
    end: Annotated[str, Meta(description="End of the range, ISO 8601.")]


class TemporalFilter(msgspec.Struct, forbid_unknown_fields=True):
    """Which times memories must be about; all that are given must hold."""

    contains: Annotated[str | None, Meta(description="About a time that contains this moment.")] = None
    overlaps: Annotated[Range | None, Meta(description="About a time that overlaps this range.")] = None
    within: Annotated[Range | None, Meta(description="About a time inside this range.")] = None
    before: Annotated[str | None, Meta(description="About a time that is over at this moment.")] = None
    after: Annotated[str | None, Meta(description="About a time that begins after this moment.")] = None


class MemoryOut(msgspec.Struct, kw_only=True):
    """A memory as tools answer it."""

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
    """How many memories were meant."""

    count: Annotated[int, Meta(description="How many memories were changed, or would be with `dry_run`.")]


TreeArg = Annotated[str | None, Meta(description="Dotted path, such as `work.billing`; letters, digits and `_`.")]
TreeFilterArg = Annotated[
    str | None,
    Meta(description="At this path or below; also patterns such as `work.*`, `*.api.*`, and labels: `api & !old`."),
]
MetaFilterArg = Annotated[dict[str, Any] | None, Meta(description="Only memories whose metadata contain this object.")]
TemporalFilterArg = Annotated[TemporalFilter | None, Meta(description="Only memories about such a time.")]
TagsArg = Annotated[list[str] | None, Meta(description="Labels, such as `preference`.")]
TemporalArg = Annotated[Span | None, Meta(description="When the memory is about, if it is about a time.")]
MetaArg = Annotated[dict[str, Any] | None, Meta(description="Any keys and values of your own.")]


def memory_out(record: Record) -> MemoryOut:
    """A memory for an answer."""
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
    """A time as the engine takes it."""
    if given is None:
        return None
    return {"start": given.start} | ({"end": given.end} if given.end is not None and given.end != given.start else {})


def search_filters(tree: str | None, meta: dict[str, Any] | None, when: TemporalFilter | None) -> dict[str, Any]:
    """The filters that searches and exports share, as the engine takes them."""
    found: dict[str, Any] = {"tree": tree, "meta": meta}
    if when is not None:
        for name in ("contains", "before", "after"):
            found[f"temporal_{name}"] = getattr(when, name)
        for name in ("overlaps", "within"):
            given: Range | None = getattr(when, name)
            found[f"temporal_{name}"] = given and (given.start, given.end)
    return {name: value for name, value in found.items() if value is not None}
