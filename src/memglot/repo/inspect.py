"""All that is known of one node: its sidecar, its text, and the relations that begin or end at it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Protocol

from memglot.errors.repo_care import unknown_node
from memglot.formats._repo.ids import slug_of
from memglot.formats._repo.words import FOLDER
from memglot.repo.node import Link, Node

_OBJECT = ("stage", "anchors", "tags", "evidence", "source", "origin", "superseded_by", "created_at", "updated_at")
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


class Inspected(Protocol):
    """What is asked of a snapshot."""

    def nodes(self) -> list[Node]:
        """All nodes."""

    def node(self, id: str) -> Node | None:
        """A node by its id."""

    def body(self, node: Node) -> str:
        """The text of a node."""

    def sidecar(self, node: Node) -> dict[str, Any]:
        """All that its sidecar says."""

    def links(self, id: str | None = None) -> list[Link]:
        """The relations that touch a node."""

    def link_fields(self, link: Link) -> dict[str, Any]:
        """All that a relation's file says."""


def inspect(snapshot: Inspected, id: str) -> dict[str, Any]:
    """A node with its relations; what it does not say is null. Raises `ProjectError` for an id that no node has."""
    node = snapshot.node(id)
    if node is None:
        raise unknown_node(id, near_ids(id, [each.id for each in snapshot.nodes()]))
    sidecar = snapshot.sidecar(node)
    found = {"id": node.id, "type": node.kind, "status": node.status, "title": node.title}
    places = {"body_path": f"{FOLDER}/{node.body_path}", "json_path": f"{FOLDER}/{node.path}"}
    said = {key: sidecar.get(key) for key in _OBJECT}
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


def _link(snapshot: Inspected, link: Link) -> dict[str, Any]:
    fields = snapshot.link_fields(link)
    return {key: fields.get(key) for key in _LINK} | {"json_path": f"{FOLDER}/{link.path}"}
