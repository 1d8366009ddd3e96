"""Paths of new files in a store, and the hash of new sidecars: as documented, or as the original tool has them."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from memglot.project.storage.ids import file_slug, first_free, kind_of, slug_of
from memglot.project.storage.paths import KIND_FOLDERS, NODES, RELATIONS

TOOL_PROJECT = f"{NODES}/project"
"""Path of the project node in stores of the original tool, without its ending."""


class Layout(NamedTuple):
    """How new files of a store are named and hashed."""

    by_tool: bool = False
    """True for the original tool's style: nodes are in a folder of their kind, and have the hash `node_hash`.

    Otherwise they are as documented: all in one folder, with the hash `body_hash`.
    """

    def place(self, id: str, taken: Callable[[str], bool]) -> str:
        """Return the path of a new node's files below `.memory`, without their endings, that is not `taken`."""
        kind, slug = kind_of(id), file_slug(slug_of(id))
        if self.by_tool:
            place = TOOL_PROJECT if kind == "project" else f"{NODES}/{KIND_FOLDERS[kind]}/{slug}"
            return first_free(place, taken)
        flat = f"{NODES}/{slug}"
        # `memory/project.json` would look like a store of the original tool.
        if taken(flat) or (kind == "project" and flat == TOOL_PROJECT):
            flat = f"{NODES}/{kind}-{slug}"
        return first_free(flat, taken)

    def link_place(self, id: str, taken: Callable[[str], bool]) -> str:
        """Return the path of a new relation's file, without its ending."""
        return first_free(f"{RELATIONS}/{file_slug(id.removeprefix('rel.'))}", taken)


def layout_of(project: str | None, follows_tool: bool | None, folders: Collection[str]) -> Layout:
    """Return the layout of a store, from the path and hash of its project node and from its folders.

    `project` is the path without its ending; `folders` are the names of the folders in `memory/`, and `""` if there are
    nodes in `memory/` itself. The original tool adds its folders and hashes to any store, but moves no node.
    """
    if project is not None and project != TOOL_PROJECT:
        return Layout()
    if project == TOOL_PROJECT and follows_tool is not False:
        return Layout(by_tool=True)
    return Layout("" not in folders and any(name in folders for name in KIND_FOLDERS.values()))


def folder_in(place: str) -> str | None:
    """Return the folder of a node as `layout_of` expects it; None if its place says nothing about the store's style."""
    parts = place.split("/")
    return parts[1] if len(parts) > 2 else None if place == TOOL_PROJECT else ""
