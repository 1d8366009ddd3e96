"""List nodes, filtered by their fields."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from memglot.project.project import Project
from memglot.project.snapshot import snapshot_of
from memglot.project.storage.anchors import Files, normalize_anchor
from memglot.project.storage.node import Node
from memglot.project.storage.paths import FOLDER


def list_nodes(
    project: Project,
    *,
    kinds: Collection[str] = (),
    statuses: Collection[str] = (),
    tags: Collection[str] = (),
    anchor: str | None = None,
) -> dict[str, Any]:
    """Return the nodes that match all filters, the last changed first.

    `tags` must all be there; `anchor` is a path, and nodes match that describe it or something below it.
    """
    with snapshot_of(project) as snapshot:
        found = [
            node
            for node in snapshot.nodes()
            if (not kinds or node.kind in kinds)
            and (not statuses or node.status in statuses)
            and set(tags) <= set(node.tags)
            and (anchor is None or _describes(node, anchor))
        ]
        total = len(snapshot.nodes())
    found.sort(key=lambda node: node.updated_at, reverse=True)
    return {"nodes": [_row(node) for node in found], "total": total}


def _describes(node: Node, path: str) -> bool:
    try:
        wanted = normalize_anchor(path).rstrip("/")
    except ValueError:
        return False
    here = Files([wanted])
    plain = [anchor.rstrip("/") for anchor in node.anchors]
    return any(
        anchor == wanted or anchor.startswith(wanted + "/") or here.any(whole)
        for anchor, whole in zip(plain, node.anchors, strict=True)
    )


def _row(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "kind": node.kind,
        "status": node.status,
        "title": node.title,
        "stage": node.stage,
        "anchors": list(node.anchors),
        "tags": list(node.tags),
        "created_at": node.created_at,
        "updated_at": node.updated_at,
        "body_path": f"{FOLDER}/{node.body_path}",
    }
