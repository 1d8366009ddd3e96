"""A node and a relation as the commands see them; the texts of nodes stay in their files until they are asked for."""

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
    """Of its sidecar, below `.memory`: `memory/features/x.json`."""
    body_path: str
    """Of its text, below `.memory` too."""
    created_at: str = ""
    updated_at: str = ""
    stage: str | None = None
    anchors: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    intent: str = ""
    """The first sentence of its text."""

    @property
    def is_live(self) -> bool:
        """Tell whether it holds at present."""
        return self.status in LIVE


class Link(Struct, frozen=True):
    """A relation."""

    id: str
    subject: str
    predicate: str
    object: str
    status: str
    path: str
    """Of its file, below `.memory`."""
