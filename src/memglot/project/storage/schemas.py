"""The folders and JSON schemas of a store. The schemas are generated from the structs that check its files.

The original tool reads the schemas of a store; memglot does not need them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from memglot.project.storage.hashes import stable_json
from memglot.project.storage.layout import Layout
from memglot.project.storage.paths import KIND_FOLDERS, NODES, RELATIONS, SCHEMAS
from memglot.project.storage.shapes import Config, MemoryEvent, RelationFile, Sidecar

NAMES = ("config", "object", "relation", "event", "patch")
"""Names of the schemas."""
_SHAPES = {"config": Config, "object": Sidecar, "relation": RelationFile, "event": MemoryEvent}
_DEFINITIONS = {"RelationFile": "Link", "EvidenceItem": "Evidence", "SidecarSource": "Source"}
"""Names of definitions in the schema files where they differ from the structs'."""
_OPERATIONS = (
    "create_object",
    "update_object",
    "mark_stale",
    "supersede_object",
    "delete_object",
    "create_relation",
    "update_relation",
    "delete_relation",
)


def schema_path(name: str) -> str:
    """Return the path of a schema below `.memory`."""
    return f"{SCHEMAS}/{name}.schema.json"


def missing_schemas(folder: Path) -> dict[str, bytes]:
    """Return the schemas that a store lacks, by path."""
    return {schema_path(name): schema_of(name) for name in NAMES if not (folder / schema_path(name)).is_file()}


def make_folders(folder: Path, layout: Layout) -> None:
    """Create the folders of a store; git does not keep empty ones."""
    kinds = [f"{NODES}/{name}" for name in KIND_FOLDERS.values()] if layout.by_tool else []
    for path in (NODES, *kinds, RELATIONS):
        (folder / path).mkdir(exist_ok=True)


def has_folders(folder: Path) -> bool:
    """Return True if a store has the folders that every store needs."""
    return all((folder / path).is_dir() for path in (NODES, RELATIONS))


def schema_of(name: str) -> bytes:
    """Return the content of a schema file."""
    found: dict[str, Any] = _patch() if name == "patch" else msgspec.json.schema(_SHAPES[name])
    defined = found.get("$defs", {})
    if name == "object":
        own = defined["Sidecar"]
        for field in ("anchors", "tags"):
            own["properties"][field]["uniqueItems"] = True
        # Only features have a stage.
        own["if"] = {"properties": {"type": {"not": {"const": "feature"}}}}
        own["then"] = {"properties": {"stage": False}}
    if name == "event":
        defined["MemoryEvent"]["allOf"] = [_needs("memory", "id"), _needs("relation", "relation_id")]
    text = stable_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **found}).decode()
    for ours, written in _DEFINITIONS.items():
        text = text.replace(f'"{ours}"', f'"{written}"').replace(f'/$defs/{ours}"', f'/$defs/{written}"')
    return text.encode()


def _needs(what: str, field: str) -> dict[str, Any]:
    named = {"properties": {"event": {"type": "string", "pattern": f"^{what}\\."}}}
    return {"if": named, "then": {"properties": {field: True}, "required": [field]}}


def _patch() -> dict[str, Any]:
    change = {"type": "object", "properties": {"op": {"enum": list(_OPERATIONS)}}, "required": ["op"]}
    source = {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}
    return {
        "type": "object",
        "properties": {"source": source, "changes": {"type": "array", "items": change, "minItems": 1}},
        "required": ["source", "changes"],
        "additionalProperties": False,
    }
