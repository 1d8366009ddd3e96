"""The tree of a conversation: the current branch and the abandoned ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from memglot.display import shorten
from memglot.errors import BadRecord
from memglot.formats.chatgpt.conversation import Conversation, MessageNode, ReadCounts, place
from memglot.report import SourceReport


@dataclass
class MessageBranch:
    """A run of messages from top to bottom; `parent` is the message, on an earlier branch, that it continues."""

    keys: list[str]
    parent: str | None
    is_side: bool


def branches(conversation: Conversation, report: SourceReport, counts: ReadCounts) -> Iterator[MessageBranch]:
    """Yield all nodes of the tree, each once: the branch of the current message, then the others by age."""
    nodes = conversation.nodes
    parents = _parents(conversation, counts)
    below = _below(nodes, parents)
    seen: set[str] = set()
    circles = 0
    current = _current(conversation, below, counts)
    leaves = (key for key in nodes if key not in below)
    # Nodes that no root leads to are in cycles; nodes that hang from a cycle come first.
    for key in chain([current] if current else [], _downwards(parents, below), leaves, nodes):
        if key in seen:
            continue
        branch, circle = _climb(key, parents, seen)
        branch.is_side = key != current
        circles += circle
        yield branch
    if circles:
        report.fault(
            BadRecord(f"the messages of `{shorten(conversation.name)}` form a cycle; each was read once"),
            **place(report),
        )


def _climb(key: str, parents: dict[str, str | None], seen: set[str]) -> tuple[MessageBranch, bool]:
    """Walk from a node up to the root or a visited node; return True if that node is on the same path."""
    way: list[str] = []
    at: str | None = key
    own: set[str] = set()
    while at is not None and at not in seen:
        seen.add(at)
        own.add(at)
        way.append(at)
        at = parents[at]
    circle = at in own
    return MessageBranch(way[::-1], None if circle else at, False), circle


def _parents(conversation: Conversation, counts: ReadCounts) -> dict[str, str | None]:
    nodes = conversation.nodes
    parents = {key: node.parent if node.parent in nodes else None for key, node in nodes.items()}
    if list(parents.values()).count(None) > 1:
        # A missing parent is replaced by a node that lists it as a child.
        for key, node in nodes.items():
            for child in node.children or ():
                if parents.get(child, "") is None and child != key:
                    parents[child] = key
    if any(node.parent is not None and node.parent not in nodes for node in nodes.values()):
        counts.orphans += 1
        counts.first_orphan = counts.first_orphan or conversation.name
    return parents


def _below(nodes: dict[str, MessageNode], parents: dict[str, str | None]) -> dict[str, list[str]]:
    """Return the children of each node, oldest first; later messages do not change this order."""
    below: dict[str, list[str]] = {}
    for key, parent in parents.items():
        if parent is not None:
            below.setdefault(parent, []).append(key)
    for keys in below.values():
        if len(keys) > 1:
            keys.sort(key=lambda key: _time(nodes[key]))
    return below


def _downwards(parents: dict[str, str | None], below: dict[str, list[str]]) -> Iterator[str]:
    """Yield the leaves below the roots, from the oldest branch to the newest."""
    waiting = [key for key, parent in parents.items() if parent is None][::-1]
    while waiting:
        key = waiting.pop()
        if key in below:
            waiting += reversed(below[key])
        else:
            yield key


def _current(conversation: Conversation, below: dict[str, list[str]], counts: ReadCounts) -> str | None:
    nodes = conversation.nodes
    if conversation.current in nodes:
        return conversation.current
    if any(node.message is not None for node in nodes.values()):
        counts.no_current += 1
        counts.first_no_current = counts.first_no_current or conversation.name
    # The last of several with the same time: an export lists messages in order.
    leaves = [key for key in nodes if key not in below] or list(nodes)
    return max(reversed(leaves), key=lambda key: _time(nodes[key]), default=None)


def _time(node: MessageNode) -> float:
    return (node.message.create_time if node.message else None) or 0.0
