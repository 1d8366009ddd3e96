"""The calls that the Inspector makes, and their expected results."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

FIRST = "0194a000-0001-7000-8000-000000000001"
SECOND = "0194a000-0002-7000-8000-000000000002"
THIRD = "0194a000-0003-7000-8000-000000000003"
ABSENT = "0194a000-000f-7000-8000-00000000000f"
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Case:
    """One call. `ROOT` in an argument is the allowed root; optional arguments that are not given are sent as null."""

    tool: str
    arguments: dict[str, Any]
    gives: dict[str, Any]
    """Expected structured content, see `holds`."""
    stored: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    """Expected memories in the store afterwards, by id; None if deleted."""
    written: tuple[str, ...] = ()
    """Files that must exist below the root afterwards."""


CASES = [
    Case(
        "me_memory_create",
        {
            "id": THIRD,
            "content": "12",  # A string that looks like a number stays one.
            "meta": {"team": {"name": "core", "size": 3, "remote": True, "lead": None}},
            "tree": "work.api",
            "temporal": {"start": "2026-01-01T00:00:00Z", "end": "2026-02-01T00:00:00Z"},
            "tags": ["api", "number"],
        },
        {"id": THIRD, "content": "12", "tree": "work.api"},
        stored={THIRD: {"content": "12", "tree": "work.api", "meta": {"team": {"size": 3, "lead": None}}}},
    ),
    Case("me_memory_get", {"id": FIRST}, {"id": FIRST, "content": "The API speaks JSON.", "meta": {"team": "core"}}),
    Case(
        "me_memory_search",
        {"fulltext": "JSON", "meta": {"team": "core"}, "limit": 5},
        {"results": [{"id": FIRST, "content": str, "score": (int, float)}], "total": 1},
    ),
    Case(
        "me_memory_update",
        {"id": FIRST, "content": "The API speaks CBOR.", "meta": {"team": "edge"}},
        {"id": FIRST, "content": "The API speaks CBOR.", "meta": {"team": "edge"}},
        stored={FIRST: {"content": "The API speaks CBOR.", "tree": "work.api", "meta": {"team": "edge"}}},
    ),
    Case("me_memory_delete", {"id": FIRST}, {"deleted": True}, stored={FIRST: None, SECOND: {}}),
    Case(
        "me_memory_delete_tree",
        {"tree": "work", "dry_run": False},
        {"count": 1},
        stored={FIRST: None, SECOND: {}},
    ),
    Case(
        "me_memory_mv",
        {"source": "work", "destination": "archive", "dry_run": False},
        {"count": 1},
        stored={FIRST: {"tree": "archive.api"}, SECOND: {"tree": "home"}},
    ),
    Case(
        "me_memory_tree",
        {"levels": 1},
        {
            "nodes": [
                {"path": "", "count": 2, "here": 0},
                {"path": "home", "count": 1, "here": 1},
                {"path": "work", "count": 1, "here": 0},
            ],
            "total": 2,
        },
    ),
    Case(
        "me_memory_import",
        {"path": "notes"},
        {"imported": 1, "skipped": 1, "failed": 0, "ids": [THIRD], "skippedIds": [FIRST], "errors": []},
        stored={THIRD: {"content": "Read from a file."}, FIRST: {"content": "The API speaks JSON."}},
    ),
    Case(
        "me_memory_import",
        {"content": '[{"content": "Hello world", "tree": "test"}]', "format": "json"},
        {"imported": 1, "skipped": 0, "failed": 0, "ids": [ID], "skippedIds": [], "errors": []},
    ),
    Case("me_memory_export", {"format": "json", "tree": "home"}, {"count": 1, "content": re.compile(r"(?s).*Tea.*")}),
    Case("me_memory_export", {"format": "md", "path": "out"}, {"count": 2}, written=("out",)),
    Case(
        "save_memory",
        {
            "task": "Try again",
            "nodes": [{"id": "decision.twice", "kind": "decision", "title": "Twice", "body": "Two tries do."}],
            "project_root": "ROOT/acme",
        },
        {"ok": True, "data": {"memory_created": ["decision.twice"]}},
        written=("acme/.memory/memory/twice.md",),
    ),
    Case(
        "query_memory",
        {"question": "retries", "budget": 600, "project_root": "ROOT/acme"},
        {"ok": True, "data": {"included_ids": ["feature.retries"]}},
    ),
    Case(
        "inspect_memory",
        {"id": "feature.retries", "project_root": "ROOT/acme"},
        {"ok": True, "data": {"object": {"id": "feature.retries", "title": "Retries"}}},
    ),
    Case(
        "status_memory",
        {"project_root": "ROOT/acme"},
        {"ok": True, "data": {"features_by_stage": {"idea": {"count": 1, "titles": ["Retries"]}}}},
    ),
    Case(
        "memory_sync_export",
        {"path": "here.json"},
        {"count": 2, "format": "memories-json", "digest": str},
        written=("here.json",),
    ),
    Case(
        "memory_sync_import",
        {"path": "memories.json", "conflict": "merge", "dry_run": False},
        {"imported": 1, "failed": 0, "errors": []},
        stored={THIRD: {"content": "From another machine."}},
    ),
    Case("memory_sync_diff", {"path": "memories.json"}, {"new": [THIRD], "updates": [], "remote_total": 1}),
]
TOOLS = sorted({case.tool for case in CASES})


def holds(wanted: Any, found: Any) -> bool:
    """Return True if a value is as expected.

    An object has at least these keys, a list has exactly these items, text matches a pattern, a type is compared with
    `isinstance`, and anything else is equal.
    """
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key in found and holds(wanted[key], found[key]) for key in wanted)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(holds, wanted, found))
    if isinstance(wanted, re.Pattern):
        return isinstance(found, str) and wanted.fullmatch(found) is not None
    if isinstance(wanted, (type, tuple)):
        return isinstance(found, wanted)
    return type(wanted) is type(found) and bool(wanted == found)
