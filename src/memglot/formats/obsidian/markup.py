"""Obsidian's markup in the text of a note: wikilinks and tags outside of code."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

# Patterns that begin with a literal are fast; the character before a match is checked afterwards.
_LINK = re.compile(r"\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]")
# A tag may contain anything but white space and these characters, and needs one that is not a digit.
_TAG = re.compile(r"#([^\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)")
_DIGITS = re.compile(r"[\d/]+")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d+[.)])(?:[ \t]|$)")
_INDENT = re.compile(r"(?: {4}|\t)")
_RUN = re.compile(r"`+")
_BREAK = re.compile(r"\n[ \t]*\n")
_MATH = re.compile(r"\$\$.*?\$\$", re.DOTALL)
_LETTER = re.compile(r"[^\n]")


class WikiLink(NamedTuple):
    """A wikilink: its target, its text, and its predicate."""

    target: str
    text: str
    predicate: str


def links_in(text: str) -> Iterator[WikiLink]:
    """Yield the wikilinks of a text without code; links within the same note are skipped."""
    for match in _LINK.finditer(text):
        if target := link_target(match[1]):
            start = match.start()
            if start and text[start - 1] == "!":
                yield WikiLink(target, "!" + match[0], "embeds")
            else:
                yield WikiLink(target, match[0], "related_to")


def link_target(text: str) -> str:
    """Return the note that a link names, without heading, block and extension."""
    name = text.partition("#")[0].partition("^")[0].strip().rstrip("\\").strip("/")
    return name[:-3] if name.lower().endswith(".md") else name


def property_links(front: dict[str, Any]) -> Iterator[WikiLink]:
    """Yield the wikilinks in the values of properties; the property is the predicate."""
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
    """Return the unique tags of a text without code, by Obsidian's grammar."""
    found: dict[str, None] = {}
    for match in _TAG.finditer(text):
        start, end = match.span()
        if (start == 0 or text[start - 1].isspace()) and text[end : end + 1] != "#":
            tag = match[1].strip("/")
            if tag and not _DIGITS.fullmatch(tag):
                found[tag] = None
    return list(found)


def tag_line(tags: list[str]) -> str:
    """Return the line of tags that memglot and AgentOS write below a note."""
    return " ".join("#" + re.sub(r"\s+", "-", tag) for tag in tags)


# Code and formulas are blanked out in one pass over the lines, so that no text can make it slow.


def without_code(text: str) -> str:
    """Replace code and formulas with spaces; other characters keep their positions."""
    if "`" in text or "~~~" in text or "\n    " in text or "\n\t" in text or text[:1] in " \t":
        text = _without_blocks(text)
        if "`" in text:
            text = _without_spans(text)
    return _MATH.sub(lambda match: blank(match[0]), text) if "$$" in text else text


def blank(text: str) -> str:
    """Return spaces and line breaks of the same length."""
    return _LETTER.sub(" ", text) if "\n" in text else " " * len(text)


def _without_blocks(text: str) -> str:
    """Blank fenced and indented code; text indented below a list item belongs to the item."""
    lines = text.split("\n")
    fence = ""
    after_blank, in_list = True, False
    for number, line in enumerate(lines):
        match = _FENCE.match(line)
        if fence:
            lines[number] = " " * len(line)
            if match is not None and match[1].startswith(fence) and not line[match.end() :].strip(" \t`~"):
                fence = ""
        elif match is not None:
            fence = match[1]
            lines[number] = " " * len(line)
        elif not line.strip():
            after_blank = True
            continue
        elif _INDENT.match(line) and after_blank and not in_list:
            lines[number] = " " * len(line)
            # The next line of the block is code too, though no blank line precedes it.
            continue
        elif _ITEM.match(line):
            in_list = True
        elif line[0] not in " \t":
            in_list = False
        after_blank = False
    return "\n".join(lines)


def _without_spans(text: str) -> str:
    """Blank code between two equal runs of backticks in one paragraph."""
    runs = [(match.start(), match.end()) for match in _RUN.finditer(text)]
    following: list[int | None] = [None] * len(runs)
    latest: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number][1] - runs[number][0]
        following[number] = latest.get(length)
        latest[length] = number
    breaks = [match.start() for match in _BREAK.finditer(text)]
    pieces, done, number = [], 0, 0
    while number < len(runs):
        other = following[number]
        start = runs[number][0]
        if other is None or bisect_right(breaks, start) != bisect_right(breaks, runs[other][0]):
            number += 1
            continue
        end = runs[other][1]
        pieces += [text[done:start], blank(text[start:end])]
        done, number = end, other + 1
    return "".join([*pieces, text[done:]])
