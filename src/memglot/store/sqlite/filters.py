"""Filters as SQL conditions."""

from typing import Any

from memglot.model import DELETED, canonical
from memglot.store.contract import Filter

NOT_DELETED = f"records.seq NOT IN (SELECT seq FROM records WHERE status = '{DELETED}')"


def condition(filter: Filter, *, joined: bool = False) -> tuple[str, list[Any]]:
    """A WHERE clause, or with `joined` only what follows it, and its bindings."""
    found = [*_places(filter), *_values(filter), *_times(filter)]
    if filter.status is None and not filter.with_deleted:
        found.append((NOT_DELETED, []))
    text = " AND ".join(f"({sql})" for sql, _ in found)
    bindings = [value for _, values in found for value in values]
    if joined:
        return text or "1", bindings
    return f"WHERE {text}" if text else "", bindings


def _places(filter: Filter) -> list[tuple[str, list[Any]]]:
    found: list[tuple[str, list[Any]]] = []
    if filter.tree:
        # A slash is the character after a dot, so this range is exactly what lies below the path.
        found.append(("tree = ? OR (tree > ? AND tree < ?)", [filter.tree, filter.tree + ".", filter.tree + "/"]))
    for column in ("kind", "scope", "status"):
        if (value := getattr(filter, column)) is not None:
            found.append((f"{column} = ?", [value]))
    if filter.without_scopes:
        found.append(("scope NOT IN (SELECT value FROM json_each(?))", [canonical(filter.without_scopes).decode()]))
    return found


def _values(filter: Filter) -> list[tuple[str, list[Any]]]:
    found: list[tuple[str, list[Any]]] = [
        ("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)", [tag]) for tag in filter.tags
    ]
    if filter.meta:
        found.append(("memglot_holds(meta, ?)", [canonical(filter.meta).decode()]))
    if not filter.with_conversations:
        found.append(("json_extract(rest, '$.source.conversation') IS NULL", []))
    return found


def _times(filter: Filter) -> list[tuple[str, list[Any]]]:
    found: list[tuple[str, list[Any]]] = []
    if filter.since is not None:
        found.append(("created_at >= ?", [filter.since]))
    if filter.until is not None:
        found.append(("created_at < ?", [filter.until]))
    if (moment := filter.temporal_contains) is not None:
        found.append(("temporal_start = ? OR (temporal_start <= ? AND temporal_end > ?)", [moment, moment, moment]))
    if filter.temporal_overlaps is not None:
        start, end = filter.temporal_overlaps
        sql = "temporal_start < ? AND coalesce(temporal_end > ?, temporal_start >= ?)"
        found.append((sql, [end, start, start]))
    if filter.temporal_within is not None:
        start, end = filter.temporal_within
        found.append(("temporal_start >= ? AND coalesce(temporal_end <= ?, temporal_start < ?)", [start, end, end]))
    return found
