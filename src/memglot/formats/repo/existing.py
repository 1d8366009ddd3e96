"""The store that an export writes into: its nodes and relations keep their ids and paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memglot.disk import DiskMap
from memglot.errors import BadRecord
from memglot.files import path_inside
from memglot.formats.repo.carry_file import Carried, CarryLine, space_of
from memglot.formats.repo.deletions import Deletions
from memglot.formats.repo.nodes import TOOL, digest_of
from memglot.formats.repo.other_files import read_config
from memglot.model import derive_id, parse_time
from memglot.project.storage import paths
from memglot.project.storage.faults import FileFault
from memglot.project.storage.hashes import follows_tool
from memglot.project.storage.layout import Layout, folder_in, layout_of
from memglot.project.storage.reader import StoreReader, decode_json
from memglot.report import SourceReport


class ExistingStore:
    """The nodes and relations of a store, by their ids. Raise `Unreadable` for another storage version."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reader = StoreReader(folder)
        self.config: bytes | None = None
        self.space = ""
        """Space of its ids."""
        self.origin = ""
        """Space that its files were exported from."""
        self.made: dict[str, str] = {}
        """Files that an earlier export made up, with their digests."""
        self.places, self.bodies, self.links, self.triples = DiskMap(), DiskMap(), DiskMap(), DiskMap()
        self.memories, self.relations, self.ends = DiskMap(), DiskMap(), DiskMap()
        self.layout = Layout()
        self.deletions = Deletions.of_log(folder)
        self._carried: Carried | None = None
        if (folder / paths.CONFIG).exists():
            self._load()

    def _load(self) -> None:
        self._carried = carried = Carried(self._folder, SourceReport())
        self.config, value = read_config(self._folder)
        self.space = space_of(self._folder, value, carried)
        self.origin = carried.head.space or self.space
        # A configuration that an export made up, and nobody changed since, is still not the user's.
        if carried.is_made(paths.CONFIG, self.config):
            self.made = {paths.CONFIG: carried.head.made[paths.CONFIG]}
        self.relations = DiskMap(carried.links())
        project, rule = None, None
        folders: set[str] = set()
        for path in self._reader.files(paths.NODES, ".json"):
            place = path.removesuffix(".json")
            if (folder := folder_in(place)) is not None:
                folders.add(folder)
            fields = self._fields(path)
            id = fields.get("id")
            # A file that is not a valid sidecar still belongs to somebody.
            self.bodies[f"{place}.md"] = self.bodies[str(fields.get("body_path"))] = True
            if isinstance(id, str) and id not in self.places:
                times = [_moment(fields.get("updated_at")), str(fields.get("created_at"))]
                self.places[id] = [place, self._body(fields, place), *times]
            if fields.get("type") == "project":
                project, rule = place, self._rule(fields)
        for id in carried.nodes():
            if (memory := carried.memory_of(id, self._created(id))) is not None:
                self.memories[memory] = id
        for path in self._reader.files(paths.RELATIONS, ".json"):
            fields = self._fields(path)
            ends = [str(fields.get("from")), str(fields.get("to"))]
            self.links[str(fields.get("id"))] = path.removesuffix(".json")
            self.triples[f"{ends[0]} {fields.get('predicate')} {ends[1]}"] = fields.get("id")
            self.ends[path] = ends
        self.layout = layout_of(project, rule, folders)

    def _created(self, id: str) -> str | None:
        known = self.places.get(id)
        return None if known is None else str(known[3])

    def _fields(self, path: str) -> dict[str, Any]:
        try:
            fields = decode_json(path, self._reader.read(path))
        except FileFault:
            return {}
        return fields if isinstance(fields, dict) else {}

    def _body(self, fields: dict[str, Any], place: str) -> str:
        body = fields.get("body_path")
        inside = isinstance(body, str) and body.startswith(f"{paths.NODES}/") and path_inside(self._folder, body)
        return str(body) if inside else f"{place}.md"

    def _rule(self, fields: dict[str, Any]) -> bool | None:
        try:
            return follows_tool(fields, self._reader.body("", str(fields.get("body_path"))))
        except FileFault:
            return None

    def files_of(self, id: str) -> tuple[str, ...]:
        """Return the paths of a node's two files."""
        known = self.places.get(id)
        return () if known is None else (f"{known[0]}.json", known[1])

    def follows_tool(self, id: str) -> bool | None:
        """Return True if a node has the hash of the original tool, False if it has ours, and None if neither."""
        files = self.files_of(id)
        return self._rule(self._fields(files[0])) if files else None

    def title_of(self, id: str) -> str | None:
        """Return the title that an earlier export made up for a node; it stays, like the node's id."""
        line = self._carried.node(id, self._created(id)) if self._carried is not None else None
        title = line.made.get("title") if line is not None else None
        return title if isinstance(title, str) and title else None

    def was_deleted(self, id: str, after: int) -> bool:
        """Return True if the event log says that a node was deleted at or after a time."""
        at = self.deletions.deleted_at(id)
        return id not in self.places and at is not None and at >= after

    def memory_of(self, id: str) -> str:
        """Return the id of a node's memory."""
        carried = self._carried.memory_of(id, self._created(id)) if self._carried is not None else None
        return carried or derive_id(TOOL, self.space, id)

    def carried(self, id: str) -> CarryLine | None:
        """Return what is carried for an existing node."""
        return self._carried.node(id, self._created(id)) if self._carried is not None else None

    def carried_link(self, path: str) -> CarryLine | None:
        """Return what is carried for the relation in a file."""
        id = self._fields(path).get("id")
        return self._carried.link(str(id)) if self._carried is not None else None

    def digest_of(self, id: str) -> str | None:
        """Return a digest of the present content of a node."""
        files = self.files_of(id)
        try:
            return digest_of(self._fields(files[0]), self._reader.read(files[1])) if files else None
        except FileFault:
            return None

    def is_newer(self, id: str, at: int) -> bool:
        """Return True if a node was saved after a time."""
        known = self.places.get(id)
        return known is not None and known[2] > at

    def has_file(self, path: str) -> bool:
        """Return True if a path is in use."""
        place = path_inside(self._folder, path)
        return place is None or place.exists() or path in self.bodies


def _moment(text: Any) -> int:
    try:
        return parse_time(text) if isinstance(text, str) else 0
    except BadRecord:
        return 0
