"""The sections of AGENTS.md and CLAUDE.md that are ours: the text between two markers, and nothing else."""

from __future__ import annotations

import re
from typing import NamedTuple

from memglot.project.storage.markdown import lines_of
from memglot.project.storage.paths import IGNORED


class Markers(NamedTuple):
    """The first and last line of a section."""

    start: str
    end: str


AGENT_FILES = ("AGENTS.md", "CLAUDE.md")
"""The files with our sections."""
MAP = Markers("<!-- memory:map:start -->", "<!-- memory:map:end -->")
GUIDANCE = Markers("<!-- memory:start -->", "<!-- memory:end -->")
OLD_GUIDANCE = Markers("<!-- aictx-memory:start -->", "<!-- aictx-memory:end -->")
"""The markers of earlier versions of the original tool; replaced by the guidance."""
_OURS = re.compile(
    "|".join(f"{re.escape(each.start)}.*?{re.escape(each.end)}" for each in (MAP, GUIDANCE, OLD_GUIDANCE)), re.DOTALL
)
_MARKER = re.compile(r"<!--(\s*(?:aictx-)?memory:)")


def apply_section(contents: str, markers: Markers, body: str, append: bool = True) -> str | None:
    """Return a file's contents with the section set to `body`; the rest is unchanged, including line ends.

    With `append`, a file without the section gets it at its end. Return None if the section is missing or its markers
    are not exactly one pair.
    """
    line = "\r\n" if contents.count("\r\n") * 2 > contents.count("\n") else "\n"
    section = "\n".join((markers.start, body, markers.end, "")).replace("\r\n", "\n").replace("\n", line)
    place = _place(contents, markers)
    if place is not None:
        before, after = contents[: place[0]], contents[place[1] + len(markers.end) :]
        return before + section + after.removeprefix("\r\n" if after.startswith("\r") else "\n")
    if not append or markers.start in contents or markers.end in contents:
        return None
    base = contents.rstrip("\r\n")
    return base + line * 2 + section if base else section


def extract_section(contents: str, markers: Markers) -> str | None:
    """Return the body of a section, or None if its markers are not exactly one pair."""
    place = _place(contents, markers)
    if place is None:
        return None
    return contents[place[0] + len(markers.start) : place[1]].replace("\r\n", "\n").strip()


def strip_sections(contents: str) -> str:
    """Return the text of a file without our sections and the blank lines around them."""
    pieces = [piece.strip("\n") for piece in _OURS.split(contents.replace("\r\n", "\n"))]
    return "\n".join(piece for piece in pieces if piece)


def strip_entries(contents: str) -> str:
    """Return the lines of `.gitignore` without our entries and without blank lines."""
    return "\n".join(line for line in lines_of(contents) if line.strip() and line.strip() not in IGNORED)


def defuse(text: str) -> str:
    """Make a text safe for a section: without markers, and on one line."""
    found = " ".join(text.split()) if len(text.splitlines()) > 1 else text
    return _MARKER.sub(r"<!- -\1", found)


def _place(contents: str, markers: Markers) -> tuple[int, int] | None:
    if contents.count(markers.start) != 1 or contents.count(markers.end) != 1:
        return None
    start, end = contents.index(markers.start), contents.index(markers.end)
    return (start, end) if start < end else None
