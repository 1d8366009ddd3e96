"""The product map in README.md, for people: only where somebody put its markers, each on a line of its own.

Unlike AGENTS.md and CLAUDE.md, this file belongs to people: what is outside of the markers is kept byte for byte.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from memglot.project.storage.files import write_file
from memglot.project.storage.markers import MAP
from memglot.project.storage.paths import FOLDER, INDEX

README = "README.md"
AMBIGUOUS = (
    f"{README} was not refreshed because Memory map markers are ambiguous. Keep one line `{MAP.start}` and, below it, "
    f"one line `{MAP.end}`."
)
_LINE = re.compile(rf"^(?:{re.escape(MAP.start)}|{re.escape(MAP.end)})[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


class _Place(NamedTuple):
    """Where the map is in a text, and the line ends around it."""

    start: int
    end: int
    newline: str


def map_in(contents: str) -> str | None:
    """Return the map between the markers; None if there are none, or not exactly one pair."""
    place = _place(contents)
    return None if place is None else contents[place.start : place.end].replace("\r\n", "\n").strip()


def has_odd_map(contents: str) -> bool:
    """Return True if a text has lines with markers that are not exactly one pair."""
    return _place(contents) is None and _LINE.search(contents) is not None


def with_map(contents: str, body: str) -> str | None:
    """Return a text with another map between its markers; None if it has not exactly one pair of them."""
    place = _place(contents)
    if place is None:
        return None
    lines = (body + "\n").replace("\n", place.newline)
    return contents[: place.start] + lines + contents[place.end :]


def added_map(contents: str, body: str) -> str:
    """Return a text followed by markers with the map."""
    newline = "\r\n" if contents.count("\r\n") * 2 > contents.count("\n") else "\n"
    before = "" if not contents else newline if contents.endswith("\n") else newline * 2
    return contents + before + "\n".join((MAP.start, body, MAP.end, "")).replace("\n", newline)


def without_map(contents: str) -> str:
    """Return a text with nothing between its markers, to compare what people wrote."""
    place = _place(contents)
    return contents if place is None else contents[: place.start] + contents[place.end :]


def readme_of(root: Path) -> Path | None:
    """Return the README of a project; None if it is not a file, or is a link to one outside of the project."""
    path = Path(os.path.realpath(root / README))
    return path if path.is_relative_to(os.path.realpath(root)) and path.is_file() else None


def read_readme(path: Path) -> str:
    """Return the text of a README; bytes that are not valid UTF-8, and line ends, come back unchanged."""
    return path.read_bytes().decode(errors="surrogateescape")


def write_readme(root: Path, path: Path, contents: str) -> None:
    """Replace a README atomically."""
    write_file(path, contents.encode(errors="surrogateescape"), root / FOLDER / INDEX)


def refresh_readme(root: Path, body: str) -> list[str]:
    """Write the map to README.md if it has the markers; return warnings."""
    path = readme_of(root)
    if path is None:
        return []
    try:
        contents = read_readme(path)
        found = with_map(contents, body)
        if found is not None and found != contents:
            write_readme(root, path, found)
    except OSError as error:
        return [f"{README} was not refreshed: {error.strerror or error}."]
    return [AMBIGUOUS] if has_odd_map(contents) else []


def _place(contents: str) -> _Place | None:
    found = list(_LINE.finditer(contents))
    kinds = [match[0].strip() for match in found]
    if kinds != [MAP.start, MAP.end]:
        return None
    return _Place(found[0].end(), found[1].start(), "\r\n" if found[0][0].endswith("\r\n") else "\n")
