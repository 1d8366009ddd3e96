"""Which node each memory of an export becomes: its id and its place, those it had wherever that can be."""

from __future__ import annotations

from typing import Any

from memglot.disk import DiskList, DiskMap
from memglot.formats.repo.existing import ExistingStore
from memglot.formats.repo.nodes import TOOL
from memglot.formats.repo.sidecars import is_unchanged, kind_for, residue_of, title_of
from memglot.model import Record
from memglot.project.storage import paths, vocabulary
from memglot.project.storage.ids import is_id, kind_of, slugify
from memglot.project.storage.layout import Layout, layout_of

_LONGEST_SLUG = 80
_LONGEST_NAME = 240
_DEEPEST = 20


class NodeNames:
    """Takes memories first, and then tells their nodes."""

    def __init__(self, there: ExistingStore) -> None:
        self._there = there
        self._facts: DiskList[dict[str, Any]] = DiskList()
        self._ids, self._files, self._nodes = DiskMap(), DiskMap(), DiskMap()
        self._numbers: dict[str, int] = {}
        self._folders: set[str] = set()
        self._project: dict[str, Any] | None = None
        self._own_project = ""
        self.layout = there.layout
        self.going: set[str] = set()
        """The nodes whose memory is deleted."""
        self.undone = DiskMap()
        """The memories whose node was deleted in the repository since, with its id."""

    def take(self, record: Record) -> None:
        """Note what a memory's node may be called."""
        residue = residue_of(record)
        fact: dict[str, Any] = {
            "id": record.id,
            "new": f"{kind_for(record)}.{_slug(record)}",
            "nodes": [[one.space, one.id] for one in record.foreign if one.tool == TOOL and _is_good(one.id, record)],
            "title": record.title,
            "at": record.updated_at,
        }
        for name in ("path", "body", "rule"):
            if isinstance(residue.get(name), str):
                fact[name] = residue[name]
        parts = fact.get("path", "").split("/")
        if len(parts) > 2:
            self._folders.add(parts[1])
        if record.kind == "project" and fact["nodes"] and self._project is None:
            self._project = fact
        self._facts.append(fact)

    def project(self) -> tuple[str, str] | None:
        """The id and the name of the project that the memories belong to, where they tell."""
        if self._project is None:
            return None
        id, title = self._project["nodes"][0][1], self._project["title"]
        return (id, title or id) if id.startswith("project.") else None

    def give(self, spaces: frozenset[str], project: str) -> None:
        """Give every memory its node: first those that are of this store, then nodes of others, then the rest.

        `project` is the id of the store's own project.
        """
        self._own_project = project
        if self._there.config is None:
            self.layout = self._layout()
        for choose in (self._own, self._foreign, self._new):
            for fact in self._facts:
                if fact["id"] in self._nodes or (id := choose(fact, spaces)) is None:
                    continue
                if self._there.was_deleted(id, fact["at"]):
                    # A deletion that the store has not seen must not be undone by what it knew before.
                    self.undone[fact["id"]] = id
                    self._nodes[fact["id"]] = None
                    continue
                self._ids[id] = True
                self._nodes[fact["id"]] = [id, *self._place(fact, id)]

    def node(self, memory: str) -> str | None:
        """The node of a memory."""
        found = self._nodes.get(memory)
        return None if found is None else str(found[0])

    def has_node(self, id: str) -> bool:
        """Tell whether the store will have a node of this id."""
        return id in self._ids or id in self._there.places

    def is_ours(self, id: str) -> bool:
        """Tell whether a node is one of these memories'."""
        return id in self._ids

    def stays(self, id: str) -> bool:
        """Tell whether there will be such a node: one of these memories', or another that is not to go."""
        return id in self._ids or (id in self._there.places and id not in self.going)

    def place(self, memory: str) -> tuple[str, str]:
        """Where the node of a memory lies, without the ending, and where its text does."""
        _, place, body = self._nodes[memory]
        return str(place), str(body)

    def _layout(self) -> Layout:
        if self._project is None:
            return layout_of(None, None, self._folders)
        return layout_of(self._project.get("path"), self._project.get("rule") == "tool" or None, self._folders)

    def _own(self, fact: dict[str, Any], spaces: frozenset[str]) -> str | None:
        """The node that this memory is in this store."""
        told = self._there.memories.get(fact["id"])
        for id in [told, *(id for space, id in fact["nodes"] if space in spaces)]:
            if isinstance(id, str) and id not in self._ids:
                return id
        return None

    def _foreign(self, fact: dict[str, Any], spaces: frozenset[str]) -> str | None:
        """The id that it has in another store, or that with a number; a store has one project, its own."""
        ids = [id for _, id in fact["nodes"] if kind_of(id) != "project" or id == self._own_project]
        return self._free(ids[0]) if ids else None

    def _new(self, fact: dict[str, Any], spaces: frozenset[str]) -> str:
        return self._free(fact["new"])

    def _free(self, wanted: str) -> str:
        found, number = wanted, self._numbers.get(wanted, 1)
        while found in self._ids or found in self._there.places:
            number += 1
            found = f"{wanted}-{number}"
        if number > 1:
            # Where many share a title, each would else count from the start.
            self._numbers[wanted] = number
        return found

    def _place(self, fact: dict[str, Any], id: str) -> tuple[str, str]:
        known = self._there.places.get(id)
        if known is not None:
            return known[0], known[1]
        # Under another id it would lie where nobody looks for it.
        place: str = fact.get("path", "") if any(id == own for _, own in fact["nodes"]) else ""
        body: str = fact.get("body", f"{place}.md")
        if not (is_valid_path(f"{place}.json") and is_valid_path(body) and body.endswith(".md")) or self._taken(
            place, body
        ):
            layout = self.layout if kind_of(id) in vocabulary.KINDS else Layout()
            place = layout.place(id, lambda place: self._taken(place, f"{place}.md"))
            body = f"{place}.md"
        self._files[f"{place}.json"] = self._files[body] = True
        return place, body

    def _taken(self, place: str, body: str) -> bool:
        return any(path in self._files or self._there.has_file(path) for path in (f"{place}.json", body))


def is_valid_path(path: str, below: str = paths.NODES) -> bool:
    """Tell whether a file of a store may lie at a path: inside, not hidden, and within what systems can hold."""
    parts = path.split("/")
    if parts[0] != below or not 1 < len(parts) <= _DEEPEST or not path.isprintable() or "\\" in path:
        return False
    return all(part and not part.startswith(".") and len(part.encode()) <= _LONGEST_NAME + 5 for part in parts)


def _is_good(id: str, record: Record) -> bool:
    """Tell whether a node may be called so; a name that was odd before stays with a node that nobody touched."""
    return is_id(id) and (kind_of(id) in vocabulary.KINDS or is_unchanged(record))


def _slug(record: Record) -> str:
    slug = slugify(record.title or title_of(record))
    return slug if len(slug) <= _LONGEST_SLUG else slug[:_LONGEST_SLUG].rstrip("-")
