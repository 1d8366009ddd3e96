"""How a glob is read: into flat rows of tokens, one for each of the patterns that its alternatives stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, TypeAlias

MOST_CHARACTERS = 1_000
MOST_PATTERNS = 1_000
MOST_SIGNS = 50_000
"""How long all the patterns of a glob may be together."""
MOST_DEPTH = 20
_SIGNS = "@?*+!"
_PLAIN = re.compile(r"[^@?*+!({\[]+")
_RANGE = re.compile(r"(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?")


class GlobTooLarge(Exception):
    """A glob that stands for more patterns than anybody means."""


class Wild(Enum):
    """What stands for signs that are not named."""

    STAR = "*"
    STARS = "**"
    ANY = "?"


class Class(NamedTuple):
    """One sign of several, as a regular expression; never a slash."""

    pattern: str


class Choice(NamedTuple):
    """One of several rows."""

    options: tuple[tuple[Token, ...], ...]


class Repeat(NamedTuple):
    """`*(...)`, `+(...)` and `!(...)`, which no flat row can say."""

    sign: str
    options: tuple[tuple[Token, ...], ...]


Token: TypeAlias = str | Wild | Class | Choice | Repeat
Row: TypeAlias = tuple[Token, ...]


def parse(text: str, with_names: bool = True) -> Row:
    """The tokens of a glob.

    Brackets and plain parentheses are also names of folders in some web frameworks: with `with_names`, what they
    enclose also stands for itself, brackets included.
    """
    if len(text) > MOST_CHARACTERS:
        raise GlobTooLarge
    return _Reader(text, with_names).read(0, len(text), 0)


def expand(row: Row) -> list[Row]:
    """The rows without choices that a row stands for."""
    found: list[Row] = [()]
    run: list[Token] = []
    for token in row:
        if isinstance(token, Choice):
            options = _expand_all(token.options)
            if len(found) * len(options) > MOST_PATTERNS:
                raise GlobTooLarge
            found = [(*before, *run, *option) for before in found for option in options]
            run = []
        elif isinstance(token, Repeat):
            run.append(Repeat(token.sign, tuple(_expand_all(token.options))))
        else:
            run.append(token)
    return list(dict.fromkeys((*before, *run) for before in found))


def _expand_all(options: Iterable[Row]) -> list[Row]:
    found = [row for option in options for row in expand(option)]
    if len(found) > MOST_PATTERNS:
        raise GlobTooLarge
    return found


class _Reader:
    def __init__(self, text: str, with_names: bool) -> None:
        self.text = text
        self.with_names = with_names
        self.closes = _pairs(text)

    def read(self, start: int, end: int, depth: int) -> Row:
        if depth > MOST_DEPTH:
            raise GlobTooLarge
        tokens: list[Token] = []
        place = start
        while place < end:
            plain = _PLAIN.match(self.text, place, end)
            if plain is not None:
                tokens += plain[0]
                place = plain.end()
            else:
                token, place = self.token(place, depth)
                tokens += token
        return tuple(tokens)

    def token(self, place: int, depth: int) -> tuple[Iterable[Token], int]:
        sign = self.text[place]
        close = self.closes.get(place)
        if sign in _SIGNS and self.text[place + 1 : place + 2] == "(" and place + 1 in self.closes:
            return self.group(place, depth)
        if sign == "(" and close is not None:
            options = self.options(place, close, "|", depth)
            return (Choice((*options, *self.itself(place, close))),), close + 1
        if sign == "{" and close is not None:
            return self.braces(place, close, depth), close + 1
        if sign == "[" and close is not None:
            return self.bracket(place, close), close + 1
        if sign == "*":
            return self.stars(place)
        return (Wild.ANY if sign == "?" else sign,), place + 1

    def group(self, place: int, depth: int) -> tuple[Iterable[Token], int]:
        sign, close = self.text[place], self.closes[place + 1]
        options = self.options(place + 1, close, "|", depth)
        if sign in "@?":
            return (Choice((*options, ()) if sign == "?" else options),), close + 1
        return (Repeat(sign, options),), close + 1

    def stars(self, place: int) -> tuple[Iterable[Token], int]:
        end = place
        # The last star of a run may belong to a group that follows.
        while self.text[end : end + 1] == "*" and end + 1 not in self.closes:
            end += 1
        return (Wild.STAR if end - place == 1 else Wild.STARS,), max(end, place + 1)

    def braces(self, place: int, close: int, depth: int) -> Iterable[Token]:
        options = self.options(place, close, ",", depth)
        if len(options) > 1:
            return (Choice(options),)
        span = _RANGE.fullmatch(self.text, place + 1, close)
        steps = _steps(span) if span else None
        if steps is not None:
            return (Choice(tuple(tuple(step) for step in steps)),)
        # Braces around a single thing choose nothing: they are part of the name.
        return ("{", *options[0], "}")

    def bracket(self, place: int, close: int) -> Iterable[Token]:
        inner = self.text[place + 1 : close]
        token = _class_of(inner)
        if len(inner) < 2 or "-" in inner or inner[0] in "!^":
            return (token,)
        return (Choice(((token,), *self.itself(place, close))),)

    def options(self, place: int, close: int, separator: str, depth: int) -> tuple[Row, ...]:
        found, start, here = [], place + 1, place + 1
        while here < close:
            if here in self.closes:
                here = self.closes[here]
            elif self.text[here] == separator:
                found.append(self.read(start, here, depth + 1))
                start = here + 1
            here += 1
        return (*found, self.read(start, close, depth + 1))

    def itself(self, place: int, close: int) -> tuple[Row, ...]:
        return (tuple(self.text[place : close + 1]),) if self.with_names else ()


def _pairs(text: str) -> dict[int, int]:
    """Where each bracket that is closed, is closed."""
    found: dict[int, int] = {}
    opened: list[int] = []
    place = 0
    while place < len(text):
        sign = text[place]
        end = _bracket_end(text, place) if sign == "[" else None
        if end is not None:
            found[place] = place = end
        elif sign in "({":
            opened.append(place)
        elif sign in ")}":
            wanted = "(" if sign == ")" else "{"
            at = next((number for number in range(len(opened) - 1, -1, -1) if text[opened[number]] == wanted), None)
            if at is not None:
                found[opened[at]] = place
                # What was opened since and not closed is no bracket.
                del opened[at:]
        place += 1
    return found


def _bracket_end(text: str, place: int) -> int | None:
    start = place + 1
    start += text[start : start + 1] in ("!", "^")
    start += text[start : start + 1] == "]"
    end = text.find("]", start)
    # No sign of a path is a slash, so a bracket never reaches over one.
    return None if end < 0 or "/" in text[place:end] else end


def _class_of(inner: str) -> Class:
    negated = inner[0] in "!^"
    signs = inner[1:] if negated else inner
    parts, place = [], 0
    while place < len(signs):
        if signs[place + 1 : place + 2] == "-" and place + 2 < len(signs) and signs[place] <= signs[place + 2]:
            parts.append(f"{re.escape(signs[place])}-{re.escape(signs[place + 2])}")
            place += 3
        else:
            # Doubled signs mean something in a set of Python; escaped ones do not.
            parts.append(re.escape(signs[place]) if signs[place] not in "&~|" else f"\\{signs[place]}")
            place += 1
    return Class(f"(?!/)[{'^' if negated else ''}{''.join(parts)}]")


def _steps(span: re.Match[str]) -> list[str] | None:
    first, last, step = span[1], span[2], abs(int(span[3] or 1)) or 1
    if first.isalpha() != last.isalpha():
        return None
    low, high = (ord(first), ord(last)) if first.isalpha() else (int(first), int(last))
    if abs(high - low) // step >= MOST_PATTERNS:
        raise GlobTooLarge
    numbers = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
    if first.isalpha():
        return [chr(number) for number in numbers]
    padded = any(len(end) > 1 and end.lstrip("-").startswith("0") for end in (first, last))
    width = max(len(first), len(last)) if padded else 0
    return [f"{number:0{width}d}" if padded else str(number) for number in numbers]
