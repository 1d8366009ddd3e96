"""Blanks out code and formulas in Markdown, in one pass over its lines, so that no text can make it slow."""

from __future__ import annotations

import re
from bisect import bisect_right

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d+[.)])(?:[ \t]|$)")
_INDENT = re.compile(r"(?: {4}|\t)")
_RUN = re.compile(r"`+")
_BREAK = re.compile(r"\n[ \t]*\n")
_MATH = re.compile(r"\$\$.*?\$\$", re.DOTALL)
_LETTER = re.compile(r"[^\n]")


def without_code(text: str) -> str:
    """The text with code and formulas blanked out, every other character in its place."""
    if "`" in text or "~~~" in text or "\n    " in text or "\n\t" in text or text[:1] in " \t":
        text = _without_blocks(text)
        if "`" in text:
            text = _without_spans(text)
    return _MATH.sub(lambda match: blank(match[0]), text) if "$$" in text else text


def blank(text: str) -> str:
    """As many spaces as there are letters, on as many lines."""
    return _LETTER.sub(" ", text) if "\n" in text else " " * len(text)


def _without_blocks(text: str) -> str:
    """Without fenced and indented code; what is indented below a list item belongs to the item."""
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
            # The next line of the block follows no blank one, and is code too.
            continue
        elif _ITEM.match(line):
            in_list = True
        elif line[0] not in " \t":
            in_list = False
        after_blank = False
    return "\n".join(lines)


def _without_spans(text: str) -> str:
    """Without code between two equal runs of backticks in one paragraph."""
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
