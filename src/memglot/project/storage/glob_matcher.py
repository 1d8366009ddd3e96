"""Match globs with repeating or negated groups. Sets of positions in a path are the bits of an integer."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

from memglot.project.storage.glob_syntax import CharacterClass, Repeat, Row, Token, Wild

MAX_STEPS = 1_000_000
"""Maximum number of steps of one glob over all paths; after that it matches nothing more."""


class _Span(Enum):
    """`**` as a segment, joined with its slash."""

    FOLDERS = "**/"
    REST = "/**"
    ALL = "**"


_Step: TypeAlias = "Token | _Span"


class _OutOfSteps(Exception):
    pass


class RepeatMatcher:
    """Matcher of the rows of one glob."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = [_spans(row) for row in rows]
        self._left = MAX_STEPS

    def matches(self, path: str) -> bool:
        """Return True if one of the rows matches the path."""
        found = _Path(path)
        try:
            return any(self._run(steps, 1, found) >> len(path) for steps in self._rows)
        except _OutOfSteps:
            return False

    def _run(self, steps: tuple[_Step, ...], places: int, path: _Path) -> int:
        for step in steps:
            if not places:
                break
            self._left -= 1
            if self._left < 0:
                raise _OutOfSteps
            places = self._repeat(step, places, path) if isinstance(step, Repeat) else path.step(step, places)
        return places

    def _repeat(self, step: Repeat, places: int, path: _Path) -> int:
        if step.prefix == "!":
            return self._other(step, places, path)
        reached = places if step.prefix == "*" else 0
        fresh = places
        while fresh:
            found = self._any(step, fresh, path)
            fresh = found & ~reached
            reached |= found
        return reached

    def _any(self, step: Repeat, places: int, path: _Path) -> int:
        found = 0
        for option in step.options:
            found |= self._run(_spans(option), places, path)
        return found

    def _other(self, step: Repeat, places: int, path: _Path) -> int:
        """Return where a text other than the options may end, from each position."""
        found = 0
        while places:
            place = places & -places
            places ^= place
            found |= path.step(Wild.STAR, place) & ~self._any(step, place, path)
        return found


class _Path:
    """A path, with the positions of each character."""

    def __init__(self, text: str) -> None:
        self.positions: dict[str, int] = {}
        for place, character in enumerate(text):
            self.positions[character] = self.positions.get(character, 0) | 1 << place
        self.all = (1 << len(text) + 1) - 1
        self.slashes = self.positions.get("/", 0)
        self.others = self.all >> 1 & ~self.slashes
        self.classes: dict[str, int] = {}

    def step(self, step: _Step, places: int) -> int:
        """Return the positions after a step, from each of the given positions."""
        if isinstance(step, str):
            return (places & self.positions.get(step, 0)) << 1
        if isinstance(step, CharacterClass):
            return (places & self.class_places(step.pattern)) << 1
        if step is Wild.ANY:
            return (places & self.others) << 1
        if step in (Wild.STAR, Wild.STARS):
            # The carry of an addition runs through a sequence of ones to the first position after it.
            return ((places & self.others) + self.others ^ self.others) | places
        return self.span(step, places)

    def span(self, step: _Step, places: int) -> int:
        """Return the positions after `**` as a segment."""
        if step is _Span.FOLDERS:
            return places | self.slashes << 1 & ~_up_to(places)
        if step is _Span.REST:
            return places | self.all & ~_up_to(places & self.slashes)
        return self.all & ~_up_to(places) | places

    def class_places(self, pattern: str) -> int:
        """Return the positions of the characters in a class."""
        if pattern not in self.classes:
            matching = _class_pattern(pattern)
            found = (places for character, places in self.positions.items() if matching.match(character))
            self.classes[pattern] = sum(found)
        return self.classes[pattern]


@lru_cache(maxsize=1_024)
def _class_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _up_to(places: int) -> int:
    """Return the lowest of the positions and all before it; all positions if there is none."""
    return (places & -places) * 2 - 1


@lru_cache(maxsize=4_096)
def _spans(row: Row) -> tuple[_Step, ...]:
    """Return a row with each `**` that is a segment joined with its slash."""
    found: list[_Step] = []
    for place, token in enumerate(row):
        begins = place == 0 or row[place - 1] == "/"
        ends = place + 1 == len(row) or row[place + 1] == "/"
        if token is Wild.STARS and begins and ends:
            if place + 1 < len(row):
                found.append(_Span.FOLDERS)
            elif found and found[-1] == "/":
                found[-1] = _Span.REST
            else:
                found.append(_Span.ALL)
        elif token != "/" or not (found and found[-1] is _Span.FOLDERS and row[place - 1] is Wild.STARS):
            found.append(token)
    return tuple(found)
