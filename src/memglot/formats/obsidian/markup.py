"""Obsidian's own markup in the text of a note: wikilinks and tags, never in code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

# Patterns that begin with a letter are found fast; what stands before it is looked at afterwards.
_LINK = re.compile(r"\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]")
# Everything but white space and these signs may stand in a tag; it needs one character that is no digit.
_TAG = re.compile(r"#([^\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)")
_DIGITS = re.compile(r"[\d/]+")


class Link(NamedTuple):
    """A wikilink: what it points to, as written, and how."""

    target: str
    text: str
    predicate: str


def links_in(text: str) -> Iterator[Link]:
    """The wikilinks of a text without code; one to a place in the same note is none."""
    for match in _LINK.finditer(text):
        if target := link_target(match[1]):
            start = match.start()
            if start and text[start - 1] == "!":
                yield Link(target, "!" + match[0], "embeds")
            else:
                yield Link(target, match[0], "related_to")


def link_target(text: str) -> str:
    """The note that a link names: without a heading or a block, and without the extension."""
    name = text.partition("#")[0].partition("^")[0].strip().rstrip("\\").strip("/")
    return name[:-3] if name.lower().endswith(".md") else name


def property_links(front: dict[str, Any]) -> Iterator[Link]:
    """The wikilinks in the values of properties; the property is the predicate."""
    for key, value in front.items():
        for text in _texts(value):
            for link in links_in(text):
                yield link._replace(predicate=key)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if "[[" in value:
            yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)


def tags_in(text: str) -> list[str]:
    """The tags of a text without code, by Obsidian's grammar, each once."""
    found: dict[str, None] = {}
    for match in _TAG.finditer(text):
        start, end = match.span()
        if (start == 0 or text[start - 1].isspace()) and text[end : end + 1] != "#":
            tag = match[1].strip("/")
            if tag and not _DIGITS.fullmatch(tag):
                found[tag] = None
    return list(found)


def tag_line(tags: list[str]) -> str:
    """Tags as the line that this tool and AgentOS write below a note."""
    return " ".join("#" + re.sub(r"\s+", "-", tag) for tag in tags)
