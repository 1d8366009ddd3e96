"""Memories and imports as JSON objects, with times as text."""

from typing import Any

import msgspec

from memglot.model import Record, format_time, to_builtins
from memglot.store.contract import Import


def record_value(record: Record) -> dict[str, Any]:
    """Return a memory as a JSON object; `id content tree tags kind scope temporal created_at` are always present."""
    value: dict[str, Any] = {
        "id": record.id,
        "content": record.content,
        "tree": record.tree,
        "tags": record.tags,
        "kind": record.kind,
        "scope": record.scope,
        "status": record.status,
        "meta": record.meta,
        "temporal": None,
        "created_at": format_time(record.created_at),
        "updated_at": format_time(record.updated_at),
    }
    if record.temporal is not None:
        value["temporal"] = {"start": format_time(record.temporal.start)}
        if record.temporal.end is not None:
            value["temporal"]["end"] = format_time(record.temporal.end)
    for field, content in to_builtins(record).items():
        value.setdefault(field, content)
    if record.last_accessed is not None:
        value["last_accessed"] = format_time(record.last_accessed)
    return value


def import_value(entry: Import) -> dict[str, Any]:
    """Return an import as a JSON object."""
    value: dict[str, Any] = msgspec.to_builtins(entry)
    del value["closed"]
    finished = entry.finished_at
    return value | {"at": format_time(entry.at), "finished_at": None if finished is None else format_time(finished)}
