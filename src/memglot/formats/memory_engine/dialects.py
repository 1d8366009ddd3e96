"""What later versions of Memory Engine have: tree paths with `/`, names, and memory packs.

Version 0.8 writes the tree `a.b` as `/a/b`, allows `-` in labels, and shows the home of a user as `~`. The tree of the
model is always a dotted path. The path that was read is kept in `extra["memory-engine"]["tree"]` if `path_of` cannot
restore it, and is used as long as it leads to the tree of the memory.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from memglot.disk import DiskMap
from memglot.errors import BadRecord
from memglot.model import Record, check_tree
from memglot.model.record_errors import bad_tree

TOOL = "memory-engine"
LATER = "0.8"
"""The dialect of version 0.8."""
_SEPARATORS = re.compile(r"[/.]+")
_LABEL = re.compile(r"[A-Za-z0-9_-]+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_PACK_NAME = re.compile(r"[a-z0-9_]+")
_DEFAULT_TREE = "share"
"""Where version 0.8 stores a memory without a tree."""


def is_path(text: str) -> bool:
    """Return True for the tree path of a later version, which the documented grammar does not allow."""
    return "/" in text or text.startswith("~")


def tree_of(path: str) -> str:
    """Return the path of a later version as a tree of the model; raise `BadRecord` if it is not valid.

    `-` in a label becomes `_`, and a leading `~` the label `home`.
    """
    labels = _labels(path)
    if labels and labels[0] == "~":
        labels[0] = "home"
    if not all(map(_LABEL.fullmatch, labels)):
        raise bad_tree(path)
    return check_tree(".".join(labels).replace("-", "_"))


def path_of(tree: str) -> str:
    """Return a tree of the model as version 0.8 writes it; empty for the root, where few users may write."""
    return "/" + tree.replace(".", "/") if tree else ""


def path_to_keep(text: str, tree: str) -> str:
    """Return the path to keep for a tree that was read from `text`; empty if `path_of` restores it."""
    path = text if is_path(text) else path_of(".".join(_labels(text)))
    return path if path != path_of(tree) else ""


def has_other_labels(path: str) -> bool:
    """Return True if the tree of a path has other labels than the path."""
    return "-" in path or path.startswith("~")


def kept_path(record: Record) -> str:
    """Return the path that was kept for a memory, if it leads to the memory's tree; empty otherwise."""
    own = record.extra.get(TOOL)
    path = own.get("tree") if isinstance(own, dict) else None
    if not isinstance(path, str) or not is_path(path) or path == path_of(record.tree):
        return ""
    try:
        return path if tree_of(path) == record.tree else ""
    except BadRecord:
        return ""


AcceptsName: TypeAlias = Callable[[str, str], bool]
"""Returns True if a memory with a path may have a name in the file that is being written."""


def is_name(path: str, name: str) -> bool:
    """Return True for a valid name, for a file with one memory."""
    return _NAME.fullmatch(name) is not None


class Names:
    """The names in one file: version 0.8 refuses all of it if one is not valid, or occurs twice in a tree."""

    def __init__(self) -> None:
        self._used: DiskMap | None = None

    def __enter__(self) -> "Names":
        return self

    def __exit__(self, *_: object) -> None:
        if self._used is not None:
            self._used.close()

    def add(self, path: str, name: str) -> bool:
        """Return True if a memory with this path may have this name, and remember it."""
        if not is_name(path, name):
            return False
        if self._used is None:
            self._used = DiskMap()
        key = "/".join([*(_labels(path) if path else [_DEFAULT_TREE]), name])
        if key in self._used:
            return False
        self._used[key] = True
        return True


def _labels(path: str) -> list[str]:
    return [label for label in _SEPARATORS.split(path) if label]


def is_pack(data: Any) -> bool:
    """Return True if a value is a memory pack: an object with a name, a version and memories."""
    return isinstance(data, dict) and "content" not in data and isinstance(data.get("memories"), list)


def pack_memories(pack: dict[str, Any]) -> list[Any]:
    """Return the memories of a pack as if it was installed: below `pack.<name>`, with the pack in `meta`."""
    name, version = pack.get("name"), pack.get("version")
    if not isinstance(name, str) or not _PACK_NAME.fullmatch(name):
        raise _bad_pack("name")
    if not isinstance(version, str) or not version:
        raise _bad_pack("version")
    return [_installed(memory, name, version) for memory in pack["memories"]]


def _installed(memory: Any, name: str, version: str) -> Any:
    if not isinstance(memory, dict):
        return memory
    tree = memory.get("tree")
    meta = memory.get("meta")
    return {
        **memory,
        "tree": f"pack.{name}.{tree}" if isinstance(tree, str) and tree else f"pack.{name}",
        "meta": {**(meta if isinstance(meta, dict) else {}), "pack": {"name": name, "version": version}},
    }


def _bad_pack(field: str) -> BadRecord:
    return BadRecord(f"this memory pack has no valid `{field}`", "a pack's name and version are text: quote them")
