"""Adopt nodes and relations that were edited by hand: accept them as they are, with a new hash and an event each."""

from __future__ import annotations

from typing import Any

from memglot.project.project import Project
from memglot.project.save.patch import Change, check_contents
from memglot.project.save.run import save_changes
from memglot.project.snapshot import Snapshot
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.hashes import follows_tool, link_hash
from memglot.project.storage.node import Node
from memglot.project.storage.paths import memory_path
from memglot.project.storage.vocabulary import SourceKind

TASK = "adopt edits by hand"


def adopt(project: Project, *, dry_run: bool = False, actor: SourceKind = "user") -> dict[str, Any]:
    """Adopt everything whose hash does not match its content; return the ids, and why others were refused.

    Texts are not changed. What a save would refuse, such as a secret, is not adopted; the rest is. Raise
    `ProjectError`; then nothing has changed.
    """
    refused: list[dict[str, Any]] = []

    def changes(snapshot: Snapshot) -> list[Change]:
        refused.clear()
        found = [change for node in snapshot.nodes() for change in _adopted_node(snapshot, node, refused)]
        for link in snapshot.links():
            fields = snapshot.link_fields(link)
            if fields.get("content_hash", link_hash(fields)) != link_hash(fields):
                found.append({"op": "adopt_relation", "id": link.id, "from": link.subject})
        return found

    data = save_changes(project, TASK, changes, dry_run=dry_run, actor=actor)
    return {
        "dry_run": dry_run,
        "nodes": data["memory_updated"],
        "relations": data["relations_updated"],
        "refused": refused,
    }


def _adopted_node(snapshot: Snapshot, node: Node, refused: list[dict[str, Any]]) -> list[Change]:
    """Return the change that adopts a node, if it was edited; add to `refused` if it cannot be adopted."""
    body = snapshot.body_bytes(node)
    sidecar = snapshot.sidecar(node)
    if body is None or follows_tool(sidecar, body) is not None:
        return []
    reason = _problem(snapshot, node, body)
    if reason is None:
        given = {name: sidecar[name] for name in ("title", "tags", "anchors") if sidecar.get(name)}
        change: Change = {"op": "adopt_object", "id": node.id, **given, "body": body.decode()}
        try:
            check_contents(TASK, [change])
            return [change]
        except ProjectError as error:
            reason = _cause(error)
    refused.append({"id": node.id, "path": memory_path(node.body_path), "reason": reason})
    return []


def _problem(snapshot: Snapshot, node: Node, body: bytes) -> str | None:
    """Return why a node cannot be adopted, whatever its contents are."""
    if len(places := snapshot.places(node.id)) > 1:
        return f"`{node.id}` is in several files: {', '.join(map(memory_path, places))}"
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return "the text is not valid UTF-8"
    return None if text.strip() else "the text is empty; to delete a node, run `memglot repo rm`"


def _cause(error: ProjectError) -> str:
    """Return what is wrong with the contents, without places in a request that nobody wrote."""
    issues = (error.details or {}).get("issues", [])
    found = [str(issue["message"]) + (f" (line {issue['line']})" if "line" in issue else "") for issue in issues]
    line = (error.details or {}).get("line")
    return "; ".join(found) or (f"conflict markers in line {line}" if line else error.message)
