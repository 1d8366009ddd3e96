"""Where the files of a store lie, and which hash its new sidecars get: as the page says, or as the real tool does."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from memglot.project.storage.ids import file_slug, free, kind_of, slug_of
from memglot.project.storage.paths import KIND_FOLDERS, NODES, RELATIONS

TOOL_PROJECT = f"{NODES}/project"
"""Where the real tool lays the project node, without the ending."""


class Layout(NamedTuple):
    """How new files are laid and hashed in one store."""

    by_kind: bool = False
    """Whether nodes lie in a folder of their kind, as the real tool lays them; else they lie flat."""
    tool_hash: bool = False
    """Whether the hash of a new sidecar follows the real tool's rule; else the page's."""

    def place(self, id: str, taken: Callable[[str], bool]) -> str:
        """The path of a new node's files below `.memory`, without their endings; `taken` knows the other nodes'."""
        kind, slug = kind_of(id), file_slug(slug_of(id))
        if self.by_kind:
            place = TOOL_PROJECT if kind == "project" else f"{NODES}/{KIND_FOLDERS[kind]}/{slug}"
            return free(place, taken)
        flat = f"{NODES}/{slug}"
        # A project node in `memory/project.json` would be taken for the real tool's.
        if taken(flat) or (kind == "project" and flat == TOOL_PROJECT):
            flat = f"{NODES}/{kind}-{slug}"
        return free(flat, taken)

    def link_place(self, id: str, taken: Callable[[str], bool]) -> str:
        """The path of a new relation's file, without its ending."""
        return free(f"{RELATIONS}/{file_slug(id.removeprefix('rel.'))}", taken)


def layout_of(project: str | None, follows_tool: bool | None, folders: Collection[str]) -> Layout:
    """The layout of a store: by the place of its project node, the rule its hash satisfies, and the folders there are.

    `project` is the path without its ending, `folders` are the names of the folders in `memory/`.
    """
    by_tool = project == TOOL_PROJECT or follows_tool is True or any(name in folders for name in KIND_FOLDERS.values())
    return Layout(by_tool, by_tool if follows_tool is None else follows_tool)
