"""A node and a relation as the commands use them; texts are loaded only when needed."""

from __future__ import annotations

from msgspec import Struct

from memglot.project.storage.vocabulary import LIVE


class Node(Struct, frozen=True):
    """A node without its text."""

    id: str
    kind: str
    status: str
    title: str
    path: str
    """Path of its sidecar below `.memory`, for example `memory/features/x.json`."""
    body_path: str
    """Path of its text below `.memory`."""
    created_at: str = ""
    updated_at: str = ""
    stage: str | None = None
    anchors: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    intent: str = ""
    """The first sentence of the text."""

    @property
    def is_live(self) -> bool:
        """True if the node is valid at present: active or open."""
        return self.status in LIVE


class Link(Struct, frozen=True):
    """A relation between two nodes."""

    id: str
    subject: str
    predicate: str
    object: str
    status: str
    path: str
    """Path of its file below `.memory`."""
