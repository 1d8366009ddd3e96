"""`Record`: one memory, as readers return it, writers accept it and stores keep it."""

from typing import Any, cast

import msgspec

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


FIELDS: tuple[str, ...] = Record.__struct_fields__


def mark_as_note(record: Record, *, edited: bool = False) -> None:
    """Mark a record as read from a note, whose times say nothing; `edited` if the note changed since the export."""
    record.origin = EDITED_NOTE if edited or record.origin == EDITED_NOTE else NOTE


def has_no_time(record: Record) -> bool:
    """Return True if a record was read from a note, or has no time at all."""
    return bool(record.origin) or not record.updated_at
