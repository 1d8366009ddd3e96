"""Filters as SQL conditions. Every column names its table, `records`, so that the conditions work in joins."""

from collections.abc import Sequence
from typing import Any

from memglot.model import DELETED, canonical
from memglot.store.query import Filter
from memglot.text.tree_pattern import check_tree_pattern, is_pattern, literal_prefix

NOT_DELETED = f"records.seq NOT IN (SELECT gone.seq FROM records AS gone WHERE gone.status = '{DELETED}')"

Part = tuple[str, list[Any]]
"""A condition and its bindings."""


def condition(filter: Filter, *, joined: bool = False) -> tuple[str, list[Any]]:
    """Return a WHERE clause, or with `joined` only its condition, and its bindings."""
    found = _parts(filter)
    if not filter.with_deleted and not any(part.status for part in (filter, *filter.also)):
        found.append((NOT_DELETED, []))
    text = " AND ".join(f"({sql})" for sql, _ in found)
    bindings = [value for _, values in found for value in values]
    if joined:
        return text or "1", bindings
    return f"WHERE {text}" if text else "", bindings


def _parts(filter: Filter) -> list[Part]:
    found = [*_places(filter), *_values(filter), *_times(filter), *_temporals(filter)]
    return [*found, *(part for further in filter.also for part in _parts(further))]


def _places(filter: Filter) -> list[Part]:
    found: list[Part] = []
    if filter.tree:
        found += _tree(filter.tree)
    for column in ("kind", "scope", "status"):
        if values := getattr(filter, column):
            found.append((f"records.{column} IN {_LISTED}", [_json(values)]))
    if filter.without_scopes:
        found.append((f"records.scope NOT IN {_LISTED}", [_json(filter.without_scopes)]))
    return found


# All values are one binding, because SQLite limits both the number of bindings and the depth of conditions.
_LISTED = "(SELECT listed.value FROM json_each(?) AS listed)"


def _tree(tree: str) -> list[Part]:
    path = literal_prefix(check_tree_pattern(tree)) if is_pattern(tree) else tree
    found: list[Part] = []
    if path:
        # A slash is the character after a dot, so this range is exactly what is below the path.
        sql = "records.tree = ? OR (records.tree > ? AND records.tree < ?)"
        found.append((sql, [path, path + ".", path + "/"]))
    if path != tree:
        found.append(("memglot_matches_tree(?, records.tree)", [tree]))
    return found


def _values(filter: Filter) -> list[Part]:
    found: list[Part] = []
    tagged = f"FROM json_each(records.tags) AS tag WHERE tag.value IN {_LISTED}"
    if filter.tags:
        wanted = set(filter.tags)
        found.append((f"(SELECT count(DISTINCT tag.value) {tagged}) = ?", [_json(sorted(wanted)), len(wanted)]))
    if filter.without_tags:
        found.append((f"NOT EXISTS (SELECT 1 {tagged})", [_json(filter.without_tags)]))
    if filter.meta:
        found.append(("memglot_holds(records.meta, ?)", [canonical(filter.meta).decode()]))
    if filter.source and {} not in filter.source:
        objects = [part for source in filter.source for part in _origins(source)]
        found.append(("memglot_holds_any(records.other_fields, ?)", [_json(objects)]))
    if not filter.with_conversations:
        found.append(("json_extract(records.other_fields, '$.source.conversation') IS NULL", []))
    return found


def _origins(source: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of which a memory from a source must contain one.

    A tool is also where a memory has an id of that tool, or fields that only the tool has, such as a note in a vault.
    """
    found: list[dict[str, Any]] = [{"source": source}]
    tool = source.get("tool")
    if isinstance(tool, str) and len(source) == 1:
        found += [{"foreign": [{"tool": tool}]}, {"extra": {tool: {}}}]
    return found


def _times(filter: Filter) -> list[Part]:
    found: list[Part] = []
    for column, since, until in (
        ("created_at", filter.since, filter.until),
        ("updated_at", filter.updated_since, filter.updated_until),
    ):
        if since is not None:
            found.append((f"records.{column} >= ?", [since]))
        if until is not None:
            found.append((f"records.{column} < ?", [until]))
    return found


# A record about a point in time has no end. A comparison with NULL is never true, so a record without times never
# matches.
_CONTAINS = "records.temporal_start = ? OR (records.temporal_start <= ? AND records.temporal_end > ?)"
_OVERLAPS = "records.temporal_start < ? AND coalesce(records.temporal_end > ?, records.temporal_start >= ?)"
_WITHIN = "records.temporal_start >= ? AND coalesce(records.temporal_end <= ?, records.temporal_start < ?)"
_BEFORE = "coalesce(records.temporal_end <= ?, records.temporal_start < ?)"


def _temporals(filter: Filter) -> list[Part]:
    found: list[Part] = []
    if (moment := filter.temporal_contains) is not None:
        found.append((_CONTAINS, [moment, moment, moment]))
    if filter.temporal_overlaps is not None:
        start, end = filter.temporal_overlaps
        found.append((_CONTAINS, [start, start, start]) if start == end else (_OVERLAPS, [end, start, start]))
    if filter.temporal_within is not None:
        start, end = filter.temporal_within
        point = "records.temporal_start = ? AND records.temporal_end IS NULL"
        found.append((point, [start]) if start == end else (_WITHIN, [start, end, end]))
    if (moment := filter.temporal_before) is not None:
        found.append((_BEFORE, [moment, moment]))
    if (moment := filter.temporal_after) is not None:
        found.append(("records.temporal_start > ?", [moment]))
    return found


def _json(values: Sequence[Any]) -> str:
    return canonical(list(values)).decode()
