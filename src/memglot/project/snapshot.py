"""The whole memory of a project at one moment: every save in it is there whole."""

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
from memglot.project.node import Link, Node
from memglot.project.project import Project
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.hashes import follows_tool
from memglot.project.storage.journal import finish_change, has_journal
from memglot.project.storage.layout import Layout, layout_of
from memglot.project.storage.lock import locked
from memglot.project.storage.paths import EVENTS, NODES

_COLUMNS = "id, kind, status, title, path, body_path, created_at, updated_at, stage, anchors, tags, intent"
_LINKS = "SELECT id, subject, predicate, object, status, path FROM links"
_ROUNDS = 50


class Snapshot:
    """What the files of a store say, by way of its index. `snapshot_of` gives one."""

    def __init__(self, project: Project, index: Index) -> None:
        self.project = project
        self.index = index
        self.config = project.config
        self._nodes: list[Node] | None = None

    def nodes(self) -> list[Node]:
        """All nodes, ordered by id."""
        if self._nodes is None:
            found = self.index.rows(f"SELECT {_COLUMNS} FROM nodes ORDER BY id, path")
            self._nodes = [_node(row) for row in found]
        return self._nodes

    def refresh(self, paths: Iterable[str]) -> None:
        """Take in what was written since, to these paths below `.memory`."""
        self.index.refresh(paths)
        self._nodes = None

    def node(self, id: str) -> Node | None:
        """A node by its id."""
        for row in self.index.rows(f"SELECT {_COLUMNS} FROM nodes WHERE id = ? ORDER BY path LIMIT 1", id):
            return _node(row)
        return None

    def node_at(self, seq: int) -> Node:
        """A node by its place in the index."""
        (row,) = self.index.rows(f"SELECT {_COLUMNS} FROM nodes WHERE seq = ?", seq)
        return _node(row)

    def node_by_body(self, body_path: str) -> Node | None:
        """A node by the path of its text below `.memory`."""
        for row in self.index.rows(f"SELECT {_COLUMNS} FROM nodes WHERE body_path = ? LIMIT 1", body_path):
            return _node(row)
        return None

    def sidecar(self, node: Node) -> dict[str, Any]:
        """All that a node's sidecar says."""
        ((raw,),) = self.index.rows("SELECT sidecar FROM nodes WHERE path = ?", node.path)
        return msgspec.json.decode(raw, type=dict[str, Any])

    def body(self, node: Node) -> str:
        """The text of a node; empty where there is none."""
        return (self.body_bytes(node) or b"").decode("utf-8", "replace")

    def body_bytes(self, node: Node) -> bytes | None:
        """The bytes of a node's text; `None` where there is no such file.

        They come from the index, so that they are of the same moment as all else.
        """
        for (body,) in self.index.rows("SELECT body FROM nodes WHERE path = ?", node.path):
            return None if body is None else bytes(body)
        return None

    def shares_body(self, node: Node) -> bool:
        """Tell whether another sidecar names the same text."""
        return any(self.index.rows("SELECT 1 FROM nodes WHERE body_path = ? AND path != ?", node.body_path, node.path))

    def is_faulty(self, path: str) -> bool:
        """Tell whether a file is there and cannot be used as what it should be."""
        known = any(self.index.rows("SELECT 1 FROM nodes WHERE path = ?", path))
        return not known and any(self.index.rows("SELECT 1 FROM faults WHERE path = ?", path))

    def links(self, id: str | None = None) -> list[Link]:
        """All relations, or those that touch a node, ordered by id."""
        if id is None:
            return [Link(*row) for row in self.index.rows(f"{_LINKS} ORDER BY id")]
        return [Link(*row) for row in self.index.rows(f"{_LINKS} WHERE subject = ? OR object = ? ORDER BY id", id, id)]

    def link(self, subject: str, predicate: str, object: str) -> Link | None:
        """The relation that says this, if there is one."""
        where = "subject = ? AND predicate = ? AND object = ? ORDER BY id LIMIT 1"
        for row in self.index.rows(f"{_LINKS} WHERE {where}", subject, predicate, object):
            return Link(*row)
        return None

    def link_fields(self, link: Link) -> dict[str, Any]:
        """All that a relation's file says."""
        ((raw,),) = self.index.rows("SELECT fields FROM links WHERE path = ?", link.path)
        return msgspec.json.decode(raw, type=dict[str, Any])

    def has_link_id(self, id: str) -> bool:
        """Tell whether a relation has this id."""
        return any(self.index.rows("SELECT 1 FROM links WHERE id = ?", id))

    def places(self, id: str) -> list[str]:
        """The paths of the sidecars with this id: more than one after a merge that went wrong."""
        return [row[0] for row in self.index.rows("SELECT path FROM nodes WHERE id = ? ORDER BY path", id)]

    def has_path(self, path: str) -> bool:
        """Tell whether a file of this path below `.memory` is known."""
        return any(self.index.rows("SELECT 1 FROM files WHERE path = ?", path))

    def faults(self) -> list[dict[str, Any]]:
        """What is wrong with files that cannot be used, or not whole."""
        return [msgspec.json.decode(raw) for (raw,) in self.index.rows("SELECT issue FROM faults ORDER BY path")]

    @cached_property
    def layout(self) -> Layout:
        """Where new files go, and how they are hashed."""
        found = self.node(self.config.project.id) or next(
            (_node(row) for row in self.index.rows(f"SELECT {_COLUMNS} FROM nodes WHERE kind = 'project' LIMIT 1")),
            None,
        )
        try:
            folders = {entry.name for entry in os.scandir(self.project.folder / NODES) if entry.is_dir()}
        except OSError:
            folders = set()
        if found is None:
            return layout_of(None, None, folders)
        follows = follows_tool(self.sidecar(found), self.body_bytes(found) or b"")
        return layout_of(found.path.removesuffix(".json"), follows, folders)


@contextmanager
def snapshot_of(project: Project, *, rebuild: bool = False) -> Iterator[Snapshot]:
    """The memory of a project as it is now; a stopped save is finished first. Raises `ProjectError`."""
    config = project.config
    finish_stopped_save(project)
    index = Index(project.folder, keep=config.memory.auto_index or rebuild)
    try:
        if rebuild:
            index.rebuild()
        for _ in range(_ROUNDS):
            before = _log_stamp(project)
            index.refresh()
            # A save logs what it did as its last file: with the same log, and none under way, this was one state.
            if not has_journal(project.folder) and _log_stamp(project) == before:
                break
            time.sleep(0.01)
        # What follows reads one state of the index, whoever else brings it up to date meanwhile.
        index.db.execute("BEGIN")
        snapshot = Snapshot(project, index)
        if faults := snapshot.faults():
            listed = first_few([one_line(fault["path"]) for fault in faults])
            project.warnings.append(
                f"{plural(len(faults), 'file')} of project memory cannot be read completely: {listed}. Run `memglot "
                "repo check` to see why."
            )
        yield snapshot
    finally:
        index.close()


def finish_stopped_save(project: Project) -> None:
    """Finish the save of a process that was stopped in it, or wait for one that is under way."""
    if not has_journal(project.folder):
        return
    try:
        with locked(project.folder, "save"):
            project.warnings.extend(finish_change(project.folder))
    except (ProjectError, OSError):
        # A tree that cannot be written is still read, and it is said what that is worth.
        project.warnings.append(
            "A save was stopped half-way, and could not be finished now: its files may be half there."
        )


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
