"""What an unresolved merge leaves in a file."""

from __future__ import annotations

import re

# A row of `=` underlines a heading in Markdown, and seven `>` may quote: alone, neither is a conflict. A marker that
# names its side is git's, even when the others were removed already.
_LABELLED = re.compile(r"^(?:<{7}|>{7}|\|{7}) \S", re.MULTILINE)
_BARE = re.compile(r"^(<{7}|={7}|>{7})[ \t]*\r?$", re.MULTILINE)
_ORDER = ("<", "=", ">")


def conflict_line(text: str) -> int | None:
    """The first line that a merge left behind, counted from 1; `None` in a text that is whole."""
    if "<<<<<<<" not in text and ">>>>>>>" not in text and "|||||||" not in text:
        return None
    starts = [found.start() for found in (_LABELLED.search(text), _bare(text)) if found is not None]
    return text.count("\n", 0, min(starts)) + 1 if starts else None


def _bare(text: str) -> re.Match[str] | None:
    """The first of markers without names, where all three follow each other."""
    first: re.Match[str] | None = None
    due = 0
    for found in _BARE.finditer(text):
        if found[1][0] == _ORDER[due]:
            first = found if due == 0 else first
            due += 1
        if due == len(_ORDER):
            return first
    return None
