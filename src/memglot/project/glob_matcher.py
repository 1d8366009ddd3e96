"""Globs with groups that repeat or negate: all places in the path at once, as the bits of a number."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

from memglot.project.glob_syntax import Class, Repeat, Row, Token, Wild

MOST_STEPS = 1_000_000
"""How much one glob may do over all the paths of a repository; a glob that asks for more matches nothing further."""


class _Span(Enum):
    """What `**` as a whole segment becomes."""

    FOLDERS = "**/"
    REST = "/**"
    ALL = "**"


_Step: TypeAlias = "Token | _Span"


class _SpentError(Exception):
    pass


class Machine:
    """Rows of one glob."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = [_spans(row) for row in rows]
        self._left = MOST_STEPS

    def matches(self, path: str) -> bool:
        """Tell whether one of the rows is the whole path."""
        found = _Path(path)
        try:
            return any(self._run(steps, 1, found) >> len(path) for steps in self._rows)
        except _SpentError:
            return False

    def _run(self, steps: tuple[_Step, ...], places: int, path: _Path) -> int:
        for step in steps:
            if not places:
                break
            self._left -= 1
            if self._left < 0:
                raise _SpentError
            places = self._repeat(step, places, path) if isinstance(step, Repeat) else path.step(step, places)
        return places

    def _repeat(self, step: Repeat, places: int, path: _Path) -> int:
        if step.sign == "!":
            return self._other(step, places, path)
        reached = places if step.sign == "*" else 0
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
        """From each place, where everything but the options may end."""
        found = 0
        while places:
            place = places & -places
            places ^= place
            found |= path.step(Wild.STAR, place) & ~self._any(step, place, path)
        return found


class _Path:
    """A path, with the places of each of its signs."""

    def __init__(self, text: str) -> None:
        self.signs: dict[str, int] = {}
        for place, sign in enumerate(text):
            self.signs[sign] = self.signs.get(sign, 0) | 1 << place
        self.all = (1 << len(text) + 1) - 1
        self.slashes = self.signs.get("/", 0)
        self.others = self.all >> 1 & ~self.slashes
        self.classes: dict[str, int] = {}

    def step(self, step: _Step, places: int) -> int:
        """The places after a step, from each of the places before it."""
        if isinstance(step, str):
            return (places & self.signs.get(step, 0)) << 1
        if isinstance(step, Class):
            return (places & self.class_places(step.pattern)) << 1
        if step is Wild.ANY:
            return (places & self.others) << 1
        if step in (Wild.STAR, Wild.STARS):
            # The carry of an addition runs through a row of ones to the first place after it.
            return ((places & self.others) + self.others ^ self.others) | places
        return self.span(step, places)

    def span(self, step: _Step, places: int) -> int:
        """The places after `**` as a whole segment."""
        if step is _Span.FOLDERS:
            return places | self.slashes << 1 & ~_up_to(places)
        if step is _Span.REST:
            return places | self.all & ~_up_to(places & self.slashes)
        return self.all & ~_up_to(places) | places

    def class_places(self, pattern: str) -> int:
        """The places of the signs of a class."""
        if pattern not in self.classes:
            matching = _class_pattern(pattern)
            self.classes[pattern] = sum(places for sign, places in self.signs.items() if matching.match(sign))
        return self.classes[pattern]


@lru_cache(maxsize=1_024)
def _class_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _up_to(places: int) -> int:
    """The lowest of the places and all before it; everything where there is none."""
    return (places & -places) * 2 - 1


@lru_cache(maxsize=4_096)
def _spans(row: Row) -> tuple[_Step, ...]:
    """A row with each `**` that is a whole segment joined with its slash."""
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
