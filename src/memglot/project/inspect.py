"""Show one node: its fields, its text, and the relations from and to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memglot.project.node_ids import find_node
from memglot.project.project import Project
from memglot.project.snapshot import Snapshot, snapshot_of
from memglot.project.storage.node import Link
from memglot.project.storage.paths import FOLDER

_OBJECT = ("stage", "anchors", "tags", "evidence", "source", "origin", "superseded_by", "created_at", "updated_at")
_LISTS = ("anchors", "tags", "evidence")
_LINK = (
    "id",
    "from",
    "predicate",
    "to",
    "status",
    "confidence",
    "evidence",
    "content_hash",
    "created_at",
    "updated_at",
)


def inspect(project: Project, id: str, *, short: bool = False) -> dict[str, Any]:
    """Return a node with its relations; missing fields are null or an empty list.

    With `short`, the id may be a short one. Raise `ProjectError` for an id that no node has, or several.
    """
    with snapshot_of(project) as snapshot:
        node = find_node(snapshot, id, short=short)
        id = node.id
        found = {"id": node.id, "type": node.kind, "status": node.status, "title": node.title}
        paths = {"body_path": f"{FOLDER}/{node.body_path}", "json_path": f"{FOLDER}/{node.path}"}
        fields = _fields(snapshot.sidecar(node), _OBJECT)
        links = snapshot.links(id)
        return {
            "object": found | paths | fields | {"body": snapshot.body(node)},
            "relations": {
                "outgoing": [_link(snapshot, link) for link in links if link.subject == id],
                "incoming": [_link(snapshot, link) for link in links if link.object == id],
            },
        }


def _link(snapshot: Snapshot, link: Link) -> dict[str, Any]:
    return _fields(snapshot.link_fields(link), _LINK) | {"json_path": f"{FOLDER}/{link.path}"}


def _fields(fields: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: fields.get(key, [] if key in _LISTS else None) for key in keys}
