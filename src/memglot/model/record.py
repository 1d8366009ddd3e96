"""Record: one memory, the struct that every reader makes, every writer takes and every store keeps."""

from typing import Any

import msgspec

DEFAULT_KIND = "semantic"
DEFAULT_SCOPE = "user"
DEFAULT_STATUS = "active"
DELETED = "deleted"


class Temporal(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a memory is about, in microseconds UTC: a point (no end), or `[start, end)`."""

    start: int
    end: int | None = None


class Foreign(msgspec.Struct, frozen=True, omit_defaults=True):
    """This memory under the id it has in another tool; `space` tells apart equal ids of one tool."""

    tool: str
    id: str
    space: str = ""


# dict=True: room for the seal of `memglot.model.canonical`, which is no field.
class Record(msgspec.Struct, kw_only=True, omit_defaults=True, dict=True):
    """One memory. Times are microseconds since 1970 in UTC.

    A record straight from a reader may have no id (`""`) and no time (`0`); `memglot.model.settle` gives it both
    before a store keeps it.
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


FIELDS: tuple[str, ...] = Record.__struct_fields__
