"""All that is known of one node: its sidecar, its text, and the relations that begin or end at it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from memglot.project.messages import unknown_node
from memglot.project.node import Link
from memglot.project.snapshot import Snapshot
from memglot.project.storage.ids import slug_of
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
_NEAR = 3


def inspect(snapshot: Snapshot, id: str) -> dict[str, Any]:
    """A node with its relations; what it does not say is null, or an empty list.

    Raises `ProjectError` for an id that no node has.
    """
    node = snapshot.node(id)
    if node is None:
        raise unknown_node(id, near_ids(id, [each.id for each in snapshot.nodes()]))
    sidecar = snapshot.sidecar(node)
    found = {"id": node.id, "type": node.kind, "status": node.status, "title": node.title}
    places = {"body_path": f"{FOLDER}/{node.body_path}", "json_path": f"{FOLDER}/{node.path}"}
    said = _told(sidecar, _OBJECT)
    links = snapshot.links(id)
    return {
        "object": found | places | said | {"body": snapshot.body(node)},
        "relations": {
            "outgoing": [_link(snapshot, link) for link in links if link.subject == id],
            "incoming": [_link(snapshot, link) for link in links if link.object == id],
        },
    }


def near_ids(id: str, known: Sequence[str]) -> list[str]:
    """The ids that somebody may have meant: the same slug with another kind, then those spelt nearly so."""
    slug = slug_of(id) or id
    same = [each for each in known if slug_of(each) == slug]
    return (same + [each for each in get_close_matches(id, known, _NEAR, 0.7) if each not in same])[:_NEAR]


def _link(snapshot: Snapshot, link: Link) -> dict[str, Any]:
    fields = snapshot.link_fields(link)
    return _told(fields, _LINK) | {"json_path": f"{FOLDER}/{link.path}"}


def _told(fields: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: fields.get(key, [] if key in _LISTS else None) for key in keys}
