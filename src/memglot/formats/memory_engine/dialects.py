"""Tree paths and packs of later versions of Memory Engine, accepted with `--lenient`."""

import re
from typing import Any

from memglot.errors import BadRecord
from memglot.model import check_tree
from memglot.model.record_errors import bad_tree

_LABEL = re.compile(r"[A-Za-z0-9_-]+")
_PACK_NAME = re.compile(r"[a-z0-9_]+")


def lenient_tree(text: str) -> str:
    """Return a tree path of version 0.8 as one of the model.

    It has `/` or `.` between labels; `-` in a label becomes `_`, and a leading `~` the label `home`.
    """
    labels = [label for label in re.split(r"[/.]+", text) if label]
    if labels and labels[0] == "~":
        labels[0] = "home"
    if not all(_LABEL.fullmatch(label) for label in labels):
        raise bad_tree(text)
    return check_tree(".".join(labels).replace("-", "_"))


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
