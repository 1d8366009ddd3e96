"""Show one node: its fields, its text, and the relations from and to it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from memglot.project.project import Project
from memglot.project.snapshot import Snapshot, snapshot_of
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.ids import slug_of
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
_MAX_SIMILAR = 3


def inspect(project: Project, id: str) -> dict[str, Any]:
    """Return a node with its relations; missing fields are null or an empty list.

    Raise `ProjectError` for an id that no node has.
    """
    with snapshot_of(project) as snapshot:
        node = snapshot.node(id)
        if node is None:
            similar = " or ".join(f"`{each}`" for each in similar_ids(id, [each.id for each in snapshot.nodes()]))
            hint = f" Did you mean {similar}?" if similar else ""
            raise ProjectError("MemoryObjectNotFound", f"Memory object was not found: `{id}`.{hint}", {"id": id})
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


def similar_ids(id: str, known: Sequence[str]) -> list[str]:
    """Return known ids that may be meant: first those with the same slug, then those with similar spelling."""
    slug = slug_of(id) or id
    same = [each for each in known if slug_of(each) == slug]
    return (same + [each for each in get_close_matches(id, known, _MAX_SIMILAR, 0.7) if each not in same])[
        :_MAX_SIMILAR
    ]


def _link(snapshot: Snapshot, link: Link) -> dict[str, Any]:
    return _fields(snapshot.link_fields(link), _LINK) | {"json_path": f"{FOLDER}/{link.path}"}


def _fields(fields: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: fields.get(key, [] if key in _LISTS else None) for key in keys}
