"""Find conflict markers of an unresolved merge."""

from __future__ import annotations

import re

# A row of `=` may underline a heading in Markdown, and seven `>` may be a quote: alone, neither is a conflict. A marker
# with a label is git's, even if the others were removed already.
_LABELLED = re.compile(r"^(?:<{7}|>{7}|\|{7}) \S", re.MULTILINE)
_BARE = re.compile(r"^(<{7}|={7}|>{7})[ \t]*\r?$", re.MULTILINE)
_ORDER = ("<", "=", ">")


def conflict_line(text: str) -> int | None:
    """Return the number of the first line with a conflict marker, counted from 1; None if there is none."""
    if "<<<<<<<" not in text and ">>>>>>>" not in text and "|||||||" not in text:
        return None
    starts = [found.start() for found in (_LABELLED.search(text), _bare(text)) if found is not None]
    return text.count("\n", 0, min(starts)) + 1 if starts else None


def _bare(text: str) -> re.Match[str] | None:
    """Return the first of three markers without labels that follow each other."""
    first: re.Match[str] | None = None
    due = 0
    for found in _BARE.finditer(text):
        if found[1][0] == _ORDER[due]:
            first = found if due == 0 else first
            due += 1
        if due == len(_ORDER):
            return first
    return None
