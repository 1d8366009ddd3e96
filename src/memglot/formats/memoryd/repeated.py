"""What memoryd says twice: front matter and metadata repeat what stands in the row itself.

A key that repeats a field word for word is not kept: its name is, and its value is made anew when the row is written.
Whatever says something else stays as it was.
"""

from __future__ import annotations

from typing import Any

from memglot.model import Record, format_time

Values = dict[str, Any]


def repeated(record: Record, slug: str, row: Values) -> Values:
    """The keys that may repeat a field, with the values they would then have."""
    return {
        "slug": slug,
        "type": record.kind,
        "scope_hash": record.scope,
        "tags": record.tags,
        "source": record.source.get("tool"),
        "created_at": format_time(record.created_at),
        "updated_at": format_time(record.updated_at),
        "last_recalled_at": None if record.last_accessed is None else format_time(record.last_accessed),
        "recall_count": record.access_count,
        "decay_state": row.get("decay_state"),
        "title": record.title,
        "triggers": record.triggers,
        "supersedes": row.get("supersedes"),
    }


def take_out(found: Values, known: Values) -> list[str]:
    """Take out of an object what it repeats; returns the names."""
    names = [name for name, value in known.items() if name in found and found[name] == value and value is not None]
    # True is 1 in Python, and no number in JSON.
    names = [name for name in names if isinstance(found[name], bool) == isinstance(known[name], bool)]
    for name in names:
        del found[name]
    return names


def put_back(names: Any, known: Values) -> Values:
    """The repeated keys, with what the row says now."""
    if not isinstance(names, list):
        return {}
    return {name: known[name] for name in names if isinstance(name, str) and known.get(name) is not None}
