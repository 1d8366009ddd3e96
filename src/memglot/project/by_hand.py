"""Add, change, replace, close and delete nodes one by one, as people do on the command line.

All of it goes through the save: these functions only turn ids, which may be short, into the changes of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from memglot.project.map import update_map
from memglot.project.node_ids import find_node
from memglot.project.project import Project
from memglot.project.save.errors import invalid_save
from memglot.project.save.parse import checked_request
from memglot.project.save.patch import changes_of
from memglot.project.save.request import (
    FullSaveNode,
    FullSaveRequest,
    OutdatedNode,
    SaveRelation,
    SupersededNode,
)
from memglot.project.save.run import save_changes
from memglot.project.snapshot import Snapshot, snapshot_of
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.ids import kind_of
from memglot.project.storage.node import Node
from memglot.project.storage.vocabulary import SourceKind

TASK = "edited by hand"
"""The task of a change that names none."""
Related = Sequence[tuple[str, str]]
"""Predicates, each with the id of another node, which may be short."""


def add(project: Project, node: FullSaveNode, related: Related = (), **options: Any) -> dict[str, Any]:
    """Create a node with relations to others. Raise `ProjectError`."""

    def request(snapshot: Snapshot) -> FullSaveRequest:
        return FullSaveRequest("", [_with_relations(snapshot, node, related)])

    return _write(project, request, **options)


def change(
    project: Project, id: str, node: FullSaveNode, related: Related = (), *, seen: str | None = None, **options: Any
) -> dict[str, Any]:
    """Set the given fields of a node, and add relations. Raise `ProjectError`, also if the node is not as `seen`."""

    def request(snapshot: Snapshot) -> FullSaveRequest:
        found = find_node(snapshot, id)
        if seen is not None and state_of(snapshot, found) != seen:
            message = f"`{found.id}` was changed while you were editing it. Nothing was saved."
            raise ProjectError("MemoryValidationFailed", message, {"id": found.id})
        changed = msgspec.structs.replace(node, id=found.id)
        return FullSaveRequest("", [_with_relations(snapshot, changed, related)])

    return _write(project, request, **options)


def supersede(project: Project, old: str, new: str, *, reason: str | None = None, **options: Any) -> dict[str, Any]:
    """Mark a node as replaced by another. Raise `ProjectError`."""

    def request(snapshot: Snapshot) -> FullSaveRequest:
        ids = find_node(snapshot, old).id, find_node(snapshot, new).id
        why = reason or f"replaced by {ids[1]}"
        return FullSaveRequest("", supersede=[SupersededNode(*ids, why)])

    return _write(project, request, **options)


def close(project: Project, ids: Iterable[str], *, answers: Iterable[str] = (), **options: Any) -> dict[str, Any]:
    """Close questions, and relate the nodes that answer them to each. Raise `ProjectError`."""

    def request(snapshot: Snapshot) -> FullSaveRequest:
        questions = [find_node(snapshot, id).id for id in ids]
        for id in questions:
            if kind_of(id) != "question":
                message = f"Only questions are closed. To replace `{id}`, run `memglot repo supersede`."
                raise invalid_save(message, "id", id=id)
        related = [SaveRelation("affects", id) for id in questions]
        nodes = [FullSaveNode(id=id, status="closed") for id in questions]
        nodes += [FullSaveNode(id=find_node(snapshot, id).id, related=related) for id in answers]
        return FullSaveRequest("", nodes)

    return _write(project, request, **options)


def remove(project: Project, ids: Iterable[str], *, reason: str | None = None, **options: Any) -> dict[str, Any]:
    """Delete nodes and their relations. Raise `ProjectError`."""

    def request(snapshot: Snapshot) -> FullSaveRequest:
        found = dict.fromkeys(find_node(snapshot, id).id for id in ids)
        return FullSaveRequest("", delete=[OutdatedNode(id, reason or "deleted by hand") for id in found])

    return _write(project, request, **options)


def find_doomed(project: Project, ids: Iterable[str], *, dry_run: bool = False) -> list[dict[str, Any]]:
    """Return the id, title and number of relations of each node that is to be deleted. Raise `ProjectError`."""
    with snapshot_of(project) as snapshot:
        try:
            found = {node.id: node for node in (find_node(snapshot, id) for id in ids)}
        except ProjectError:
            if not dry_run:
                # The same command may have been killed after it deleted the node, and before it updated the map.
                update_map(snapshot)
            raise
        return [
            {"id": node.id, "title": node.title, "relations": len(snapshot.links(node.id))} for node in found.values()
        ]


def state_of(snapshot: Snapshot, node: Node) -> str:
    """Return what an edit of a node starts from: its fields and text as one string."""
    return msgspec.json.encode([snapshot.sidecar(node), snapshot.body(node)]).decode()


def _with_relations(snapshot: Snapshot, node: FullSaveNode, related: Related) -> FullSaveNode:
    links = [_relation(snapshot, predicate, id) for predicate, id in related]
    return msgspec.structs.replace(node, related=links) if links else node


def _relation(snapshot: Snapshot, predicate: str, id: str) -> SaveRelation:
    return msgspec.convert({"predicate": predicate, "to": find_node(snapshot, id).id}, SaveRelation)


def _write(
    project: Project,
    request: Callable[[Snapshot], FullSaveRequest],
    *,
    task: str | None = None,
    actor: SourceKind = "user",
    dry_run: bool = False,
) -> dict[str, Any]:
    """Save what a request of the present nodes asks for."""
    # Checked as a request of its own, so that an invalid task is reported before anything is read.
    named = checked_request(FullSaveRequest(task or TASK, [FullSaveNode()])).task

    def changes(snapshot: Snapshot) -> list[dict[str, Any]]:
        return changes_of(checked_request(msgspec.structs.replace(request(snapshot), task=named)), snapshot)

    return save_changes(project, named, changes, dry_run=dry_run, actor=actor)
