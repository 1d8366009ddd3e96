"""Choose the node that each memory of an export becomes: its id and its files, the former ones where possible."""

from __future__ import annotations

from typing import Any

from memglot.disk import DiskList, DiskMap
from memglot.formats.repo.existing import ExistingStore
from memglot.formats.repo.nodes import TOOL
from memglot.formats.repo.sidecars import is_unchanged, kind_for, residue_of, title_of
from memglot.model import Record
from memglot.project.storage import paths, vocabulary
from memglot.project.storage.ids import is_id, kind_of, slugify
from memglot.project.storage.layout import Layout, folder_in, layout_of

_MAX_SLUG = 80
_MAX_NAME = 240
_MAX_PATH_PARTS = 20


class NodeNames:
    """Node names of an export. Add all memories first, then assign their nodes."""

    def __init__(self, existing: ExistingStore) -> None:
        self._existing = existing
        self._facts: DiskList[dict[str, Any]] = DiskList()
        self._ids, self._files, self._nodes = DiskMap(), DiskMap(), DiskMap()
        self._numbers: dict[str, int] = {}
        self._folders: set[str] = set()
        self._project: dict[str, Any] | None = None
        self._own_project, self._spaces = "", frozenset[str]()
        self.layout = existing.layout
        self.to_delete: set[str] = set()
        """Ids of nodes whose memory was deleted."""
        self.deleted_there = DiskMap()
        """Memories whose node was deleted in the repository in the meantime, with the id of the node."""

    def add(self, record: Record) -> None:
        """Add a memory, with the names that its node may have."""
        residue = residue_of(record)
        fact: dict[str, Any] = {
            "id": record.id,
            "new": f"{kind_for(record)}.{_slug(record)}",
            "nodes": [[one.space, one.id] for one in record.foreign if one.tool == TOOL and _is_usable(one.id, record)],
            "title": record.title,
            "at": record.updated_at,
        }
        for name in ("path", "body", "rule"):
            if isinstance(residue.get(name), str):
                fact[name] = residue[name]
        if "path" in fact and (folder := folder_in(fact["path"])) is not None:
            self._folders.add(folder)
        if record.kind == "project" and fact["nodes"] and self._project is None:
            self._project = fact
        self._facts.append(fact)

    def project(self) -> tuple[str, str] | None:
        """Return the id and the name of the project that the memories belong to, if they say so."""
        if self._project is None:
            return None
        id, title = self._project["nodes"][0][1], self._project["title"]
        return (id, title or id) if id.startswith("project.") else None

    def assign(self, spaces: frozenset[str], project: str) -> None:
        """Assign a node to each memory: first the nodes of this store, then those of other stores, then new ones.

        `project` is the id of the store's own project.
        """
        self._own_project, self._spaces = project, spaces
        if self._existing.config is None:
            self.layout = self._layout()
        for choose in (self._own, self._foreign, self._new):
            for fact in self._facts:
                if fact["id"] in self._nodes or (id := choose(fact, spaces)) is None:
                    continue
                if self._existing.was_deleted(id, fact["at"]):
                    # An export must not undo a deletion that was not imported yet.
                    self.deleted_there[fact["id"]] = id
                    self._nodes[fact["id"]] = None
                    continue
                self._ids[id] = True
                self._nodes[fact["id"]] = [id, *self._place(fact, id)]

    def node(self, memory: str) -> str | None:
        """Return the id of a memory's node."""
        found = self._nodes.get(memory)
        return None if found is None else str(found[0])

    def has_node(self, id: str) -> bool:
        """Return True if the store has, or will have, a node with this id."""
        return id in self._ids or id in self._existing.places

    def is_assigned(self, id: str) -> bool:
        """Return True if a node belongs to one of these memories."""
        return id in self._ids

    def will_exist(self, id: str) -> bool:
        """Return True if this node will exist: it belongs to one of these memories, or is not deleted."""
        return id in self._ids or (id in self._existing.places and id not in self.to_delete)

    def place(self, memory: str) -> tuple[str, str]:
        """Return the path of a memory's sidecar, without its ending, and that of its text."""
        _, place, body = self._nodes[memory]
        return str(place), str(body)

    def _layout(self) -> Layout:
        if self._project is None:
            return layout_of(None, None, self._folders)
        return layout_of(self._project.get("path"), self._project.get("rule") == "tool" or None, self._folders)

    def _own(self, fact: dict[str, Any], spaces: frozenset[str]) -> str | None:
        """Return the node that this memory already has in this store."""
        known = self._existing.memories.get(fact["id"])
        for id in [known, *(id for space, id in fact["nodes"] if space in spaces)]:
            if isinstance(id, str) and id not in self._ids:
                return id
        return None

    def _foreign(self, fact: dict[str, Any], spaces: frozenset[str]) -> str | None:
        """Return the id that it has in another store, with a number if that is taken; never another project's node."""
        ids = [id for _, id in fact["nodes"] if kind_of(id) != "project" or id == self._own_project]
        return self._free(ids[0]) if ids else None

    def _new(self, fact: dict[str, Any], spaces: frozenset[str]) -> str:
        return self._free(fact["new"])

    def _free(self, wanted: str) -> str:
        found, number = wanted, self._numbers.get(wanted, 1)
        while found in self._ids or found in self._existing.places:
            number += 1
            found = f"{wanted}-{number}"
        if number > 1:
            # Many memories may share a title; do not count from the start for each.
            self._numbers[wanted] = number
        return found

    def _place(self, fact: dict[str, Any], id: str) -> tuple[str, str]:
        known = self._existing.places.get(id)
        if known is not None:
            return known[0], known[1]
        # The former path fits only the former id; a store that exists has a style of its own.
        spaces = self._spaces if self._existing.config is not None else None
        fits = any(id == own and (spaces is None or space in spaces) for space, own in fact["nodes"])
        place: str = fact.get("path", "") if fits else ""
        body: str = fact.get("body", f"{place}.md")
        is_valid = is_valid_path(f"{place}.json") and is_valid_path(body) and body.endswith(".md")
        if not is_valid or self._taken(place, body):
            layout = self.layout if kind_of(id) in vocabulary.KINDS else Layout()
            place = layout.place(id, lambda place: self._taken(place, f"{place}.md"))
            body = f"{place}.md"
        self._files[f"{place}.json"] = self._files[body] = True
        return place, body

    def _taken(self, place: str, body: str) -> bool:
        return any(path in self._files or self._existing.has_file(path) for path in (f"{place}.json", body))


def is_valid_path(path: str, below: str = paths.NODES) -> bool:
    """Return True if a file of a store may have this path: inside, not hidden, and not too long for file systems."""
    parts = path.split("/")
    if parts[0] != below or not 1 < len(parts) <= _MAX_PATH_PARTS or not path.isprintable() or "\\" in path:
        return False
    return all(part and not part.startswith(".") and len(part.encode()) <= _MAX_NAME + 5 for part in parts)


def _is_usable(id: str, record: Record) -> bool:
    """Return True if a node may have this id; an unchanged node keeps an id of an unknown kind."""
    return is_id(id) and (kind_of(id) in vocabulary.KINDS or is_unchanged(record))


def _slug(record: Record) -> str:
    slug = slugify(record.title or title_of(record))
    return slug if len(slug) <= _MAX_SLUG else slug[:_MAX_SLUG].rstrip("-")
