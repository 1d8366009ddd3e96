"""`Record`: one memory, as readers return it, writers accept it and stores keep it."""

from typing import Any, cast

import msgspec

from memglot.display import excerpt, html_table, is_empty, short_repr
from memglot.model.times import Moment, OptionalMoment, format_time

DEFAULT_KIND = "semantic"
DEFAULT_SCOPE = "user"
DEFAULT_STATUS = "active"
DELETED = "deleted"
NOTE, EDITED_NOTE = "note", "edited note"
"""Values of `Record.origin`; an edited note was changed since memglot wrote it."""


class Temporal(msgspec.Struct, frozen=True, omit_defaults=True):
    """The time that a memory is about, in microseconds UTC: a point (no end), or `[start, end)`."""

    start: int
    end: int | None = None

    start_time, end_time = Moment("start"), OptionalMoment("end")


class Foreign(msgspec.Struct, frozen=True, omit_defaults=True):
    """The id of a memory in another tool; `space` distinguishes equal ids of one tool."""

    tool: str
    id: str
    space: str = ""


# dict=True: room for what is not a field and never stored.
class Record(msgspec.Struct, kw_only=True, omit_defaults=True, dict=True):
    """One memory. Times are microseconds since 1970 in UTC.

    A record from a reader may have no id (`""`) and no time (`0`); `assign_id_and_times` sets both before a store
    keeps it.
    """

    id: str = ""
    content: str
    title: str | None = None
    kind: str = DEFAULT_KIND
    scope: str = DEFAULT_SCOPE
    tree: str = ""
    tags: list[str] = []
    triggers: list[str] = []
    meta: dict[str, Any] = {}
    temporal: Temporal | None = None
    status: str = DEFAULT_STATUS
    strength: float | None = None
    confidence: float | None = None
    created_at: int = 0
    updated_at: int = 0
    clocks: dict[str, int] = {}
    last_accessed: int | None = None
    access_count: int = 0
    source: dict[str, Any] = {}
    foreign: list[Foreign] = []
    extra: dict[str, Any] = {}

    digest = b""
    """SHA-256 of the record, set by a store that returns it for reading only. Not a field."""
    origin = ""
    """`NOTE` or `EDITED_NOTE` if the record was read from a note without usable times. Not a field."""
    is_carried = False
    """Whether the record was read with a carry slot, so that its clocks are memglot's. Not a field."""
    tool_edits = cast("dict[str, str] | None", None)  # an annotation would make it a field
    """The values that another tool changed since memglot wrote the record, by name, each with the fingerprint of the
    value that memglot wrote; `None` if the carry slot does not say what was written. Not a field."""
    is_from_memglot = False
    """Whether memglot itself wrote the file, and not a tool that only kept the carry slot. Not a field."""
    unsaid = cast("frozenset[str]", frozenset())
    """Fields that the source leaves out or shortens, though its format has a place for them. Not a field."""
    dated_at = 0
    """When a note was written, in microseconds, by its front matter or its file; 0 if unknown. Only a new memory
    without a time of its own uses it. Not a field."""
    modified_at = 0
    """When the source of the record was modified, in microseconds; 0 if unknown. Not a field."""

    created, updated, last_accessed_time = Moment("created_at"), Moment("updated_at"), OptionalMoment("last_accessed")

    def to_dict(self) -> dict[str, Any]:
        """Return the memory as JSON values with times as text; the most important fields are always there."""
        value: dict[str, Any] = {
            "id": self.id,
            "content": self.content,
            "tree": self.tree,
            "tags": self.tags,
            "kind": self.kind,
            "scope": self.scope,
            "status": self.status,
            "meta": self.meta,
            "temporal": None,
            "created_at": format_time(self.created_at),
            "updated_at": format_time(self.updated_at),
        }
        if self.temporal is not None:
            value["temporal"] = {"start": format_time(self.temporal.start)}
            if self.temporal.end is not None:
                value["temporal"]["end"] = format_time(self.temporal.end)
        for field, content in msgspec.to_builtins(self).items():
            value.setdefault(field, content)
        if self.last_accessed is not None:
            value["last_accessed"] = format_time(self.last_accessed)
        return value

    def __repr__(self) -> str:
        shown = {
            "id": self.id,
            "content": self.content,
            "title": self.title,
            "kind": "" if self.kind == DEFAULT_KIND else self.kind,
            "scope": "" if self.scope == DEFAULT_SCOPE else self.scope,
            "tree": self.tree,
            "tags": self.tags,
            "status": "" if self.status == DEFAULT_STATUS else self.status,
            "created": format_time(self.created_at) if self.created_at else "",
        }
        return short_repr("Record", shown)

    def _repr_html_(self) -> str:
        found = {field: value for field, value in self.to_dict().items() if not is_empty(value)}
        return html_table((), [(field, excerpt(str(value), 2_000)) for field, value in found.items()])


FIELDS: tuple[str, ...] = Record.__struct_fields__


def mark_as_note(record: Record, *, edited: bool = False) -> None:
    """Mark a record as read from a note, whose times say nothing; `edited` if the note changed since the export."""
    record.origin = EDITED_NOTE if edited or record.origin == EDITED_NOTE else NOTE


def has_no_time(record: Record) -> bool:
    """Return True if a record was read from a note, or has no time at all."""
    return bool(record.origin) or not record.updated_at
