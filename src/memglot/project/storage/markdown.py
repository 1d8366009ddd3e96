"""The lines of a Markdown text, its first heading, and whether it has front matter."""

from __future__ import annotations

import re

_HEADING = re.compile(r" {0,3}#[ \t]+(.*)")
_CLOSING = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LINE_END = re.compile(r"\r\n|\r|\n")


def lines_of(text: str) -> list[str]:
    """Return the lines of a text; `str.splitlines` would also split at U+2028 and other characters of a line."""
    lines = _LINE_END.split(text)
    return lines if lines[-1] else lines[:-1]


def first_heading(text: str) -> str | None:
    """Return the text of the first heading of level one, outside of code; None if there is none."""
    if "# " not in text and "#\t" not in text:
        return None
    fence = ""
    for line in lines_of(text.removeprefix("\ufeff")):
        found = _FENCE.match(line)
        if fence:
            closes = found and found[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if closes else fence
        elif found:
            fence = found[1]
        elif heading := _HEADING.match(line):
            return _CLOSING.sub("", heading[1]).strip()
    return None


def has_front_matter(text: str) -> bool:
    """Return True if a text begins with a block between two `---` lines."""
    lines = lines_of(text.removeprefix("\ufeff"))
    return bool(lines) and lines[0].rstrip() == "---" and any(line.rstrip() == "---" for line in lines[1:])
