"""`.memory/memglot/carry.jsonl`: what sidecars cannot store, one JSON object per line, sorted.

Sidecars allow no additional keys, so what is carried for a node is stored here, by the node's id:

- `{"node", "of", "memglot", "made"?, "bare"?, "at"?, "content"?}`: the carry slot of a memory. `of` is the time at
  which the node was created, since another node may have the id by now. `made` has the fields that the sidecar requires
  and the memory does not have; if one of them differs, somebody edited the node, and the node is right. `bare` says
  that the memory has no record of the node's path and bytes; `at` is the time that the carried clocks belong to.
  `content` is the exact text of a memory whose text the original tool would refuse (`accepted_body`).
- `{"link", "of", "relation"}`: a relation whose file stores only a part of it, and the hash of that file.
- `{"head": {"space"?, "made"?}}`: the space that the files were exported from, and the files that memglot made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from memglot.disk import DiskMap, SortedLines
from memglot.errors import BadRecord
from memglot.model import Relation, check_thing, is_id
from memglot.model.record_errors import bad_item
from memglot.project.storage.paths import OWN_FOLDER
from memglot.project.storage.reader import StoreReader
from memglot.project.storage.remote import remote_of
from memglot.report import SourceReport

CARRY = f"{OWN_FOLDER}/carry.jsonl"
_FIELD = {"title": "title", "type": "kind", "status": "status", "tags": "tags", "superseded_by": ""}
"""Fields of a sidecar that may be made up, with the fields of the carry slot that they replace."""


class CarryHead(msgspec.Struct, omit_defaults=True):
    """What is carried for the store itself."""

    space: str = ""
    made: dict[str, str] = {}


class CarryLine(msgspec.Struct, omit_defaults=True):
    """One line of the file."""

    node: str = ""
    link: str = ""
    of: str = ""
    memglot: dict[str, Any] = {}
    made: dict[str, Any] = {}
    bare: bool = False
    at: str = ""
    content: str = ""
    relation: Relation | None = None
    head: CarryHead | None = None


class Carried:
    """The carried data of a store, by the ids of nodes and relations."""

    def __init__(self, folder: Path, report: SourceReport) -> None:
        self.head = CarryHead()
        self._nodes, self._links = DiskMap(), DiskMap()
        for line in _lines(folder, report):
            if line.head is not None:
                self.head = line.head
            elif line.node:
                self._nodes[line.node] = line
            elif line.link:
                self._links[line.link] = line

    def node(self, id: str, created_at: str | None) -> CarryLine | None:
        """Return what is carried for a node, unless another node has its id now.

        `created_at` is None for a node that does not exist.
        """
        found = self._nodes.get(id)
        line = None if found is None else msgspec.convert(found, CarryLine)
        return None if line is None or created_at not in (None, line.of) else line

    def memory_of(self, node: str, created_at: str | None) -> str | None:
        """Return the id of a node's memory, if it is not derived from the node's own id."""
        line = self.node(node, created_at)
        id = line.memglot.get("id") if line is not None else None
        return id if isinstance(id, str) and is_id(id) else None

    def nodes(self) -> Iterator[str]:
        """Yield the ids of the nodes that something is carried for."""
        yield from self._nodes

    def link(self, id: str) -> CarryLine | None:
        """Return what is carried for a relation."""
        found = self._links.get(id)
        return None if found is None else msgspec.convert(found, CarryLine)

    def links(self) -> Iterator[tuple[str, str]]:
        """Yield the ids of the carried relations, each with the id in its file."""
        for id in self._links:
            if (relation := self._links[id].get("relation")) is not None:
                yield relation["id"], id

    def relation(self, id: str, raw: bytes) -> Relation | None:
        """Return the carried relation of a file, if the file is unchanged."""
        line = self.link(id)
        return line.relation if line is not None and line.of == digest(raw) else None

    def is_made(self, path: str, raw: bytes) -> bool:
        """Return True if memglot made up a file and nobody changed it."""
        return self.head.made.get(path) == digest(raw)


def space_of(folder: Path, config: dict[str, Any], carried: Carried) -> str:
    """Return the space of a store's ids: its repository's remote, the space it was exported from, or its project."""
    remote = remote_of(folder.absolute().parent)
    if remote is not None:
        return remote
    project = config.get("project")
    id = project.get("id") if isinstance(project, dict) else None
    return carried.head.space or (id if isinstance(id, str) else "")


def digest(raw: bytes) -> str:
    """Return a short digest of a file."""
    return sha256(raw).hexdigest()[:16]


def _lines(folder: Path, report: SourceReport) -> Iterator[CarryLine]:
    before = report.source
    for number, raw in StoreReader(folder).lines(CARRY):
        if number == 1:
            report.start_source(str(folder / CARRY))
        try:
            line = msgspec.json.decode(raw, type=CarryLine)
            if line.relation is not None:
                check_thing(line.relation)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            report.fault(bad_item("memglot line", str(error)), line=number)
        except BadRecord as error:
            report.fault(error, line=number)
        else:
            yield line
    report.start_source(before)


def split_made_fields(line: CarryLine, fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of a sidecar without made-up ones, and the carry slot without fields edited since."""
    fields, slot = dict(fields), dict(line.memglot)
    for name, value in line.made.items():
        if name not in _FIELD:
            continue
        if fields.get(name) == value:
            fields.pop(name, None)
        elif name == "tags" and isinstance(slot.get("tags"), list) and isinstance(value, list):
            # Tags that a sidecar cannot store stay, whatever happened to the others.
            rest = [tag for tag in slot["tags"] if isinstance(tag, str) and tag not in value]
            slot["tags"] = list(dict.fromkeys([*fields.get("tags", ()), *rest]))
        else:
            slot.pop(_FIELD[name], None)
    if line.at and fields.get("updated_at") != line.at:
        # The node was edited, and the former clocks would make that edit look old.
        slot.pop("clocks", None)
    return fields, slot


class CarryLines:
    """The lines to write."""

    def __init__(self) -> None:
        self.lines = SortedLines()

    def add(self, line: CarryLine) -> None:
        """Add a line."""
        # The keys of the slot keep their order, so that equal memories give equal bytes.
        self.lines.add(msgspec.json.encode(line))
