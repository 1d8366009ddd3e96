"""Find a node by its id, or by a short form of it: the beginning of the id, or of the part after its kind."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from memglot.display import first_few
from memglot.project.snapshot import Snapshot
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.ids import slug_of
from memglot.project.storage.node import Node

SHORTEST = 3
"""Minimum length of a beginning that names a node."""
_MAX_SIMILAR = 3


def find_node(snapshot: Snapshot, text: str, *, short: bool = True) -> Node:
    """Return the node with this id or, if `short`, this short id. Raise `ProjectError` for no or several nodes."""
    if (node := snapshot.node(text)) is not None:
        return node
    known = [each.id for each in snapshot.nodes()]
    found = matching_ids(text, known) if short else []
    if len(found) == 1 and (node := snapshot.node(found[0])) is not None:
        return node
    if found:
        message = f"`{text}` is the beginning of several ids: {first_few(found)}. Type more of it."
        raise ProjectError("MemoryObjectNotFound", message, {"id": text, "ids": found})
    similar = " or ".join(f"`{each}`" for each in similar_ids(text, known))
    hint = f" Did you mean {similar}?" if similar else " `memglot repo list` shows all ids." if short else ""
    raise ProjectError("MemoryObjectNotFound", f"Memory object was not found: `{text}`.{hint}", {"id": text})


def matching_ids(text: str, known: Sequence[str]) -> list[str]:
    """Return the known ids that a short id fits; those whose slug is exactly the text come alone."""
    text = text.strip().lower()
    unique = list(dict.fromkeys(known))
    if exact := [id for id in unique if slug_of(id) == text]:
        return exact
    if len(text) < SHORTEST:
        return []
    return [id for id in unique if id.startswith(text) or slug_of(id).startswith(text)]


def similar_ids(id: str, known: Sequence[str]) -> list[str]:
    """Return known ids that may be meant: first those with the same slug, then those with similar spelling."""
    slug = slug_of(id) or id
    same = [each for each in known if slug_of(each) == slug]
    return (same + [each for each in get_close_matches(id, known, _MAX_SIMILAR, 0.7) if each not in same])[
        :_MAX_SIMILAR
    ]
