"""The lines and the first heading of a Markdown text, and what the original tool refuses in one."""

from __future__ import annotations

import re

from memglot.project.storage.hashes import normal_body

_HEADING = re.compile(r" {0,3}#[ \t]+(.*)")
_CLOSING = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_MARKER = re.compile(r"(?:\A|(?<=[\r\n]))(?=(?:<{7}|={7}|>{7}|\|{7})(?:[ \t\r\n]|\Z))")
"""The start of a line that the original tool takes for the marker of a merge conflict: a row of seven, even alone."""
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
    """Return True if a text begins with a block between a `---` line and another, or a `...` line."""
    if not text.removeprefix("\ufeff").startswith("---"):
        return False
    first, *rest = (line.rstrip() for line in normal_body(text).split("\n"))
    return first == "---" and any(line in ("---", "...") for line in rest)


def accepted_body(text: str) -> str:
    """Return a text as a body that the original tool accepts; one such body makes the whole store invalid there.

    Front matter gets a blank line before it, and each line that looks like a conflict marker a space.
    """
    text = _MARKER.sub(" ", text)
    return f"\n{text}" if has_front_matter(text) else text
