"""The tree of a conversation: the line that its owner sees, and the branches that were left behind."""

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
    """All places of the tree, each once: first the line to the current one, then the branches as they were made."""
    nodes = conversation.nodes
    parents = _parents(conversation, counts)
    below = _below(nodes, parents)
    seen: set[str] = set()
    circles = 0
    current = _current(conversation, below, counts)
    leaves = (key for key in nodes if key not in below)
    # Places that no root leads to lie on circles; those that hang from one come first.
    for key in chain([current] if current else [], _downwards(parents, below), leaves, nodes):
        if key in seen:
            continue
        branch, circle = _climb(key, parents, seen)
        branch.is_side = key != current
        circles += circle
        yield branch
    if circles:
        report.fault(
            BadRecord(
                f"the messages of `{shorten(conversation.name)}` follow each other in a circle; each was read once"
            ),
            **place(report),
        )


def _climb(key: str, parents: dict[str, str | None], seen: set[str]) -> tuple[MessageBranch, bool]:
    """From a place upwards to the root, or to what was seen before; tell whether that was on this very way."""
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
        # A parent that does not know its child is made up for by one that names it.
        for key, node in nodes.items():
            for child in node.children or ():
                if parents.get(child, "") is None and child != key:
                    parents[child] = key
    if any(node.parent is not None and node.parent not in nodes for node in nodes.values()):
        counts.orphans += 1
        counts.first_orphan = counts.first_orphan or conversation.name
    return parents


def _below(nodes: dict[str, MessageNode], parents: dict[str, str | None]) -> dict[str, list[str]]:
    """The places right below each place, the oldest first: an order that later messages do not change."""
    below: dict[str, list[str]] = {}
    for key, parent in parents.items():
        if parent is not None:
            below.setdefault(parent, []).append(key)
    for keys in below.values():
        if len(keys) > 1:
            keys.sort(key=lambda key: _time(nodes[key]))
    return below


def _downwards(parents: dict[str, str | None], below: dict[str, list[str]]) -> Iterator[str]:
    """The leaves below the roots, from the oldest branch to the newest."""
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
    # The last of several that are equally new: an export lists messages in the order they were made.
    leaves = [key for key in nodes if key not in below] or list(nodes)
    return max(reversed(leaves), key=lambda key: _time(nodes[key]), default=None)


def _time(node: MessageNode) -> float:
    return (node.message.create_time if node.message else None) or 0.0
