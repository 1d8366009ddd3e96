"""Plan a save: the nodes and relations as they will be after it. Nothing is written here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from memglot.project.save.errors import patch_invalid
from memglot.project.save.parse import trimmed
from memglot.project.snapshot import Snapshot
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.hashes import body_hash, follows_tool, link_hash, node_hash, stable_json
from memglot.project.storage.ids import link_id
from memglot.project.storage.node import Link
from memglot.project.storage.paths import memory_path
from memglot.project.storage.vocabulary import STATUSES, SourceKind


class _DraftNode(Struct):
    sidecar: dict[str, Any]
    body: bytes | None
    path: str
    body_path: str
    tool_hash: bool
    existed: bool
    touched: bool = False
    new_body: bool = False
    deleted: bool = False
    shares_body: bool = False


class _DraftLink(Struct):
    fields: dict[str, Any]
    path: str
    existed: bool
    touched: bool = False
    deleted: bool = False


class Draft:
    """The nodes and relations that a save changes. One method per kind of change; each raises `ProjectError`."""

    def __init__(self, snapshot: Snapshot, task: str, now: str, actor: SourceKind = "agent") -> None:
        self._snapshot = snapshot
        self._actor = actor
        self._source = {"kind": actor, "task": task}
        self._now = now
        self._nodes: dict[str, _DraftNode] = {}
        self._links: dict[str, _DraftLink] = {}
        """Relations by path: after a merge two files may hold the same relation."""
        self._links_by_node: dict[str, list[_DraftLink]] = {}
        """Relations by the ids of their two nodes."""
        self._link_ids: set[str] = set()
        self._new_places: set[str] = set()
        self.events: list[dict[str, Any]] = []
        self._changed_ids: dict[tuple[str, str], dict[str, None]] = {
            (what, how): {} for what in ("memory", "relations") for how in ("created", "updated", "deleted")
        }

    @property
    def changed_ids(self) -> dict[str, list[str]]:
        """The ids of created, updated and deleted nodes and relations, each once."""
        return {f"{what}_{how}": list(ids) for (what, how), ids in self._changed_ids.items()}

    def apply(self, change: dict[str, Any], new_ids: set[str], field: str) -> None:
        """Plan one change; `new_ids` are the ids of all nodes that this save creates."""
        match change["op"]:
            case "create_object":
                self._create(change, field)
            case "update_object":
                self._update(change)
            case "create_relation":
                self._add_relation(change, new_ids, field)
            case "mark_stale":
                self._mark_stale(change, field)
            case "adopt_object":
                self._adopt(change, field)
            case "adopt_relation":
                self._adopt_relation(change)
            case "supersede_object":
                self._supersede(change, new_ids, field)
            case _:
                self._delete(change, field)

    def _find(self, id: str) -> _DraftNode | None:
        if id not in self._nodes:
            node = self._snapshot.node(id)
            if node is None:
                return None
            if len(places := self._snapshot.places(id)) > 1:
                raise _id_in_several_files(id, [memory_path(path) for path in places])
            sidecar = self._snapshot.sidecar(node)
            body = self._snapshot.body_bytes(node)
            follows = follows_tool(sidecar, body or b"")
            rule = self._snapshot.layout.by_tool if follows is None else follows
            shares = self._snapshot.shares_body(node)
            self._nodes[id] = _DraftNode(sidecar, body, node.path, node.body_path, rule, True, shares_body=shares)
        found = self._nodes[id]
        return None if found.deleted else found

    def _require(self, id: str, field: str) -> _DraftNode:
        found = self._find(id)
        if found is None:
            raise _node_not_found(id, field)
        return found

    def _create(self, change: dict[str, Any], field: str) -> None:
        id, kind = change["id"], change["type"]
        if self._find(id) is not None:
            raise _duplicate_id(id, f"{field}/id")
        natural = self._snapshot.layout.place(id, lambda _: False)
        if self._snapshot.is_faulty(natural + ".json"):
            # The file may well be this node, in a state that cannot be read.
            raise _path_taken(memory_path(natural + ".json"))
        place = self._snapshot.layout.place(id, self._is_taken)
        for ending in (".json", ".md"):
            if (self._snapshot.project.folder / (place + ending)).exists():
                raise _path_taken(memory_path(place + ending))
        self._new_places.add(place)
        sidecar: dict[str, Any] = {
            "id": id,
            "type": kind,
            "status": change.get("status", STATUSES[kind][0]),
            "title": change["title"],
            "body_path": place + ".md",
            "tags": change.get("tags", []),
            "evidence": change.get("evidence", []),
            "source": self._source,
            "created_at": self._now,
            "updated_at": self._now,
        }
        sidecar |= {name: change[name] for name in ("stage", "anchors") if change.get(name)}
        rule = self._snapshot.layout.by_tool
        body = self._body_of(change["body"])
        self._nodes[id] = _DraftNode(sidecar, body, place + ".json", place + ".md", rule, False, True, True)
        self._log("memory.created", id)

    def _body_of(self, text: str) -> bytes:
        """Return the content of a text's file, in the style of the store."""
        return (text + "\n" if self._snapshot.ends_texts else text).encode()

    def _is_taken(self, place: str) -> bool:
        return place in self._new_places or self._snapshot.has_path(place + ".json")

    def _update(self, change: dict[str, Any]) -> None:
        node = self._require(change["id"], "")
        before = dict(node.sidecar)
        for name in ("title", "stage", "status", "tags", "evidence", "anchors"):
            if name in change and change[name] != (node.sidecar.get(name) or ([] if change[name] == [] else None)):
                node.sidecar[name] = change[name]
        if node.sidecar.get("anchors") == []:
            del node.sidecar["anchors"]
        if change.get("status", "stale") != "stale" and node.sidecar.get("superseded_by") is not None:
            del node.sidecar["superseded_by"]
            self._unsupersede(change["id"])
        body = change.get("body")
        new_body = body is not None and (node.body is None or trimmed(node.body.decode("utf-8", "replace")) != body)
        if new_body:
            node.body, node.new_body = self._body_of(str(body)), True
        if new_body or node.sidecar != before:
            self._touch(node)
            self._log("memory.updated", change["id"])

    def _unsupersede(self, id: str, by: str = "") -> None:
        """Mark relations as stale in which another node than `by` supersedes this one."""
        for link in self._links_of(id):
            fields = link.fields
            is_other = fields["predicate"] == "supersedes" and fields["to"] == id and fields["from"] != by
            if is_other and fields["status"] == "active":
                self._update_link(link, status="stale")

    def _mark_stale(self, change: dict[str, Any], field: str) -> None:
        node = self._require(change["id"], f"{field}/id")
        if node.sidecar["status"] != "stale":
            node.sidecar["status"] = "stale"
            self._touch(node)
            self._log("memory.marked_stale", change["id"], change["reason"])

    def _supersede(self, change: dict[str, Any], new_ids: set[str], field: str) -> None:
        id, by = change["id"], change["superseded_by"]
        node = self._require(id, f"{field}/id")
        if id == by:
            raise patch_invalid(
                "ObjectSupersedesSelf", "Object cannot supersede itself.", "<patch>", f"{field}/superseded_by"
            )
        self._require(by, f"{field}/superseded_by")
        if (node.sidecar["status"], node.sidecar.get("superseded_by")) != ("superseded", by):
            node.sidecar |= {"status": "superseded", "superseded_by": by}
            self._touch(node)
            self._log("memory.superseded", id, change["reason"])
            self._unsupersede(id, by)
        self._add_relation({"from": by, "predicate": "supersedes", "to": id}, new_ids, field)

    def _adopt(self, change: dict[str, Any], field: str) -> None:
        """Accept a node as it is in its files, with a hash of their content."""
        self._touch(self._require(change["id"], f"{field}/id"))
        self._log("memory.updated", change["id"])

    def _adopt_relation(self, change: dict[str, Any]) -> None:
        for link in self._links_of(change["from"]):
            if link.fields["id"] == change["id"] and not link.touched:
                link.fields["updated_at"] = self._now
                link.touched = True
                self._log("relation.updated", change["id"])

    def _delete(self, change: dict[str, Any], field: str) -> None:
        id = change["id"]
        node = self._require(id, f"{field}/id")
        for link in self._links_of(id):
            link.deleted = True
            self._log("relation.deleted", link.fields["id"], change["reason"])
        node.deleted = True
        self._log("memory.deleted", id, change["reason"])

    def _links_of(self, id: str) -> list[_DraftLink]:
        """Return the relations from and to a node, ordered by id."""
        for link in self._snapshot.links(id):
            self._load_link(link)
        found = [link for link in self._links_by_node.get(id, ()) if not link.deleted]
        return sorted(found, key=lambda link: str(link.fields["id"]))

    def _load_link(self, link: Link) -> None:
        if link.path not in self._links:
            self._add_link(_DraftLink(self._snapshot.link_fields(link), link.path, True))

    def _add_link(self, link: _DraftLink) -> None:
        self._links[link.path] = link
        self._link_ids.add(link.fields["id"])
        for id in {link.fields["from"], link.fields["to"]}:
            self._links_by_node.setdefault(id, []).append(link)

    def _add_relation(self, change: dict[str, Any], new_ids: set[str], field: str) -> None:
        subject, predicate, object = key = (change["from"], change["predicate"], change["to"])
        for name in ("from", "to"):
            if change[name] not in new_ids:
                self._require(change[name], f"{field}/{name}")
        confidence = {"confidence": change["confidence"]} if "confidence" in change else {}
        for link in self._links_of(subject):
            if (link.fields["from"], link.fields["predicate"], link.fields["to"]) == key:
                self._update_link(link, status="active", **confidence)
                return
        id = link_id(subject, predicate, object, self._has_link_id)
        place = self._snapshot.layout.link_place(id, self._is_taken) + ".json"
        fields = {"id": id, "from": subject, "predicate": predicate, "to": object, "status": "active"}
        fields |= confidence | {"created_at": self._now, "updated_at": self._now}
        self._new_places.add(place.removesuffix(".json"))
        self._add_link(_DraftLink(fields, place, False, True))
        self._log("relation.created", id)

    def _update_link(self, link: _DraftLink, **values: str) -> None:
        if {**link.fields, **values} != link.fields:
            link.fields |= values | {"updated_at": self._now}
            link.touched = True
            self._log("relation.updated", link.fields["id"])

    def _has_link_id(self, id: str) -> bool:
        return id in self._link_ids or self._snapshot.has_link_id(id)

    def _touch(self, node: _DraftNode) -> None:
        node.sidecar["updated_at"] = self._now
        node.touched = True

    def _log(self, event: str, id: str, reason: str | None = None) -> None:
        what, _, how = event.partition(".")
        kind_of_change = how if how in ("created", "deleted") else "updated"
        self._changed_ids["relations" if what == "relation" else what, kind_of_change][id] = None
        key = "relation_id" if what == "relation" else "id"
        line = {"actor": self._actor, "event": event, key: id, "timestamp": self._now}
        self.events.append(line if reason is None else line | {"reason": reason})

    def files(self) -> dict[str, bytes | None]:
        """Return the changed files by path below `.memory`; None for files to remove. Bodies come first."""
        found: dict[str, bytes | None] = {}
        for node in self._nodes.values():
            if node.deleted:
                if node.existed:
                    found |= {node.path: None} if node.shares_body else {node.body_path: None, node.path: None}
            elif node.touched:
                if node.new_body:
                    found[node.body_path] = node.body
                found[node.path] = _sidecar(node)
        for link in self._links.values():
            if link.deleted:
                if link.existed:
                    found[link.path] = None
            elif link.touched:
                link.fields["content_hash"] = link_hash(link.fields)
                found[link.path] = stable_json(link.fields)
        return found


def _sidecar(node: _DraftNode) -> bytes:
    body = node.body or b""
    node.sidecar["content_hash"] = node_hash(node.sidecar, body) if node.tool_hash else body_hash(body)
    return stable_json(node.sidecar)


def _node_not_found(id: str, field: str | None = None) -> ProjectError:
    """Return the error for an id that no node has."""
    details = {"id": id} if field is None else {"path": "<patch>", "id": id, "field": field}
    return ProjectError("MemoryObjectNotFound", "Memory object was not found.", details)


def _duplicate_id(id: str, field: str) -> ProjectError:
    """Return the error for a new node whose id is in use."""
    details = {"path": "<patch>", "id": id, "field": field}
    return ProjectError("MemoryDuplicateId", "Patch would create a duplicate canonical id.", details)


def _id_in_several_files(id: str, paths: Sequence[str]) -> ProjectError:
    """Return the error for a node in several files, as after a merge; only a person can say which one is right."""
    message = f"`{id}` is in several files: {', '.join(paths)}. Remove all but one of them first."
    return ProjectError("MemoryDuplicateId", message, {"id": id, "paths": list(paths)})


def _path_taken(path: str) -> ProjectError:
    """Return the error for a file in the way that is not a readable node."""
    return patch_invalid("PatchPathConflict", "Patch would overwrite an existing canonical path.", path, None)
