"""A consistent view of a project's memory: it contains each save completely or not at all."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import msgspec

from memglot.display import first_few, one_line, plural
from memglot.project.index import Index, decoded
from memglot.project.project import Project
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.hashes import follows_tool
from memglot.project.storage.journal import finish_change, has_journal
from memglot.project.storage.layout import Layout, folder_in, layout_of
from memglot.project.storage.lock import locked
from memglot.project.storage.node import Link, Node
from memglot.project.storage.paths import EVENTS

_COLUMNS = "id, kind, status, title, path, body_path, created_at, updated_at, stage, anchors, tags, intent"
_LINKS = "SELECT id, subject, predicate, object, status, path FROM links"
_ROUNDS = 50


class Snapshot:
    """The content of a store, read through its index. `snapshot_of` returns one."""

    def __init__(self, project: Project, index: Index) -> None:
        self.project = project
        self.index = index
        self.config = project.config
        self._nodes: list[Node] | None = None

    def nodes(self) -> list[Node]:
        """Return all nodes, ordered by id."""
        if self._nodes is None:
            found = self.index.rows(f"SELECT {_COLUMNS} FROM nodes ORDER BY id, path")
            self._nodes = [_node(row) for row in found]
        return self._nodes

    def refresh(self, paths: Iterable[str]) -> None:
        """Read again what was written to these paths below `.memory`."""
        self.index.refresh(paths)
        self._nodes = None

    def node(self, id: str) -> Node | None:
        """Return a node by its id."""
        for row in self.index.rows(f"SELECT {_COLUMNS} FROM nodes WHERE id = ? ORDER BY path LIMIT 1", id):
            return _node(row)
        return None

    def node_at(self, seq: int) -> Node:
        """Return a node by its place in the index."""
        (row,) = self.index.rows(f"SELECT {_COLUMNS} FROM nodes WHERE seq = ?", seq)
        return _node(row)

    def node_by_body(self, body_path: str) -> Node | None:
        """Return a node by the path of its text below `.memory`."""
        for row in self.index.rows(f"SELECT {_COLUMNS} FROM nodes WHERE body_path = ? LIMIT 1", body_path):
            return _node(row)
        return None

    def sidecar(self, node: Node) -> dict[str, Any]:
        """Return the fields of a node's sidecar."""
        ((raw,),) = self.index.rows("SELECT sidecar FROM nodes WHERE path = ?", node.path)
        return msgspec.json.decode(raw, type=dict[str, Any])

    def body(self, node: Node) -> str:
        """Return the text of a node; empty if there is none."""
        return (self.body_bytes(node) or b"").decode("utf-8", "replace")

    def body_bytes(self, node: Node) -> bytes | None:
        """Return the bytes of a node's text from the index, which is consistent; None if there is no such file."""
        for (body,) in self.index.rows("SELECT body FROM nodes WHERE path = ?", node.path):
            return None if body is None else bytes(body)
        return None

    def shares_body(self, node: Node) -> bool:
        """Return True if another sidecar names the same text."""
        return any(self.index.rows("SELECT 1 FROM nodes WHERE body_path = ? AND path != ?", node.body_path, node.path))

    def is_faulty(self, path: str) -> bool:
        """Return True if a file exists but cannot be used."""
        known = any(self.index.rows("SELECT 1 FROM nodes WHERE path = ?", path))
        return not known and any(self.index.rows("SELECT 1 FROM faults WHERE path = ?", path))

    def links(self, id: str | None = None) -> list[Link]:
        """Return all relations, or those of a node, ordered by id."""
        if id is None:
            return [Link(*row) for row in self.index.rows(f"{_LINKS} ORDER BY id")]
        return [Link(*row) for row in self.index.rows(f"{_LINKS} WHERE subject = ? OR object = ? ORDER BY id", id, id)]

    def link(self, subject: str, predicate: str, object: str) -> Link | None:
        """Return the relation with these ends and this predicate, if there is one."""
        where = "subject = ? AND predicate = ? AND object = ? ORDER BY id LIMIT 1"
        for row in self.index.rows(f"{_LINKS} WHERE {where}", subject, predicate, object):
            return Link(*row)
        return None

    def link_fields(self, link: Link) -> dict[str, Any]:
        """Return the fields of a relation's file."""
        ((raw,),) = self.index.rows("SELECT fields FROM links WHERE path = ?", link.path)
        return msgspec.json.decode(raw, type=dict[str, Any])

    def has_link_id(self, id: str) -> bool:
        """Return True if a relation has this id."""
        return any(self.index.rows("SELECT 1 FROM links WHERE id = ?", id))

    def places(self, id: str) -> list[str]:
        """Return the paths of the sidecars with this id; a bad merge may leave more than one."""
        return [row[0] for row in self.index.rows("SELECT path FROM nodes WHERE id = ? ORDER BY path", id)]

    def has_path(self, path: str) -> bool:
        """Return True if there is a file with this path below `.memory`."""
        return any(self.index.rows("SELECT 1 FROM files WHERE path = ?", path))

    def faults(self) -> list[dict[str, Any]]:
        """Return the issues of files that cannot be used, or only in part."""
        return [msgspec.json.decode(raw) for (raw,) in self.index.rows("SELECT issue FROM faults ORDER BY path")]

    @cached_property
    def layout(self) -> Layout:
        """How new files are named and hashed."""
        found = self.node(self.config.project.id) or next(
            (_node(row) for row in self.index.rows(f"SELECT {_COLUMNS} FROM nodes WHERE kind = 'project' LIMIT 1")),
            None,
        )
        if found is None:
            return layout_of(None, None, self._folders())
        follows = follows_tool(self.sidecar(found), self.body_bytes(found) or b"")
        # The project node nearly always decides, and the other paths may be many.
        folders = self._folders() if follows is False else ()
        return layout_of(found.path.removesuffix(".json"), follows, folders)

    @cached_property
    def ends_texts(self) -> bool:
        """True if new texts end with a newline, as the project's own does unless the original tool or an earlier
        version of memglot wrote it."""
        found = None if self.layout.by_tool else self.node(self.config.project.id)
        return found is not None and (self.body_bytes(found) or b"").endswith(b"\n")

    def _folders(self) -> set[str]:
        """Return the folders of all nodes, as `layout_of` expects them."""
        places = (path.removesuffix(".json") for (path,) in self.index.rows("SELECT path FROM nodes"))
        return {folder for place in places if (folder := folder_in(place)) is not None}


@contextmanager
def snapshot_of(project: Project, *, rebuild: bool = False) -> Iterator[Snapshot]:
    """Yield the present memory of a project; finish an interrupted save first. Raise `ProjectError`."""
    config = project.config
    finish_stopped_save(project)
    index = Index(project.folder, keep=config.memory.auto_index or rebuild)
    try:
        if rebuild:
            index.rebuild()
        for _ in range(_ROUNDS):
            before = _log_stamp(project)
            index.refresh()
            # A save writes the event log last: with the same log, and no save under way, the index is consistent.
            if not has_journal(project.folder) and _log_stamp(project) == before:
                break
            time.sleep(0.01)
        # What follows reads one state of the index, even if another process updates it meanwhile.
        index.db.execute("BEGIN")
        snapshot = Snapshot(project, index)
        if faults := snapshot.faults():
            listed = first_few([one_line(fault["path"]) for fault in faults])
            warning = (
                f"{plural(len(faults), 'file')} of project memory cannot be read completely: {listed}. Run `memglot "
                "repo check` to see why."
            )
            if warning not in project.warnings:
                project.warnings.append(warning)
        yield snapshot
    finally:
        index.close()


def finish_stopped_save(project: Project) -> None:
    """Finish the save of a process that was stopped, or wait for one that is under way."""
    if not has_journal(project.folder):
        return
    try:
        with locked(project.folder, "save"):
            project.warnings.extend(finish_change(project.folder))
    except (ProjectError, OSError):
        # A store that cannot be written is still read, with a warning.
        project.warnings.append("A save was interrupted, and cannot be finished now: some of its files may be missing.")


def _log_stamp(project: Project) -> tuple[int, int] | None:
    try:
        found = os.stat(project.folder / EVENTS)
    except OSError:
        return None
    return found.st_ino, found.st_size


def _node(row: tuple[Any, ...]) -> Node:
    id, kind, status, title, path, body_path, created_at, updated_at, stage, anchors, tags, intent = row
    return Node(
        id, kind, status, title, path, body_path, created_at, updated_at, stage, decoded(anchors), decoded(tags), intent
    )
