"""Parse globs into flat rows of tokens, one row for each pattern that the alternatives expand to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, TypeAlias

MAX_CHARACTERS = 1_000
MAX_PATTERNS = 1_000
MAX_TOKENS = 50_000
"""Maximum number of tokens in all patterns of a glob together."""
MAX_DEPTH = 20
_GROUP_PREFIXES = "@?*+!"
_PLAIN = re.compile(r"[^@?*+!({\[]+")
_RANGE = re.compile(r"(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?")


class GlobTooLarge(Exception):
    """The glob is too long, or expands to too many patterns."""


class Wild(Enum):
    """A wildcard."""

    STAR = "*"
    STARS = "**"
    ANY = "?"


class CharacterClass(NamedTuple):
    """A set of characters as a regular expression; it never matches a slash."""

    pattern: str


class Choice(NamedTuple):
    """Alternatives."""

    options: tuple[tuple[Token, ...], ...]


class Repeat(NamedTuple):
    """`*(...)`, `+(...)` or `!(...)`, which cannot be expanded to flat rows."""

    prefix: str
    options: tuple[tuple[Token, ...], ...]


Token: TypeAlias = str | Wild | CharacterClass | Choice | Repeat
Row: TypeAlias = tuple[Token, ...]


def parse(text: str, with_names: bool = True) -> Row:
    """Return the tokens of a glob.

    Some web frameworks have folders with brackets or parentheses in their names: with `with_names`, they also match
    themselves literally.
    """
    if len(text) > MAX_CHARACTERS:
        raise GlobTooLarge
    return _Reader(text, with_names).read(0, len(text), 0)


def expand(row: Row) -> list[Row]:
    """Return the rows without alternatives that a row expands to."""
    found: list[Row] = [()]
    run: list[Token] = []
    for token in row:
        if isinstance(token, Choice):
            options = _expand_all(token.options)
            if len(found) * len(options) > MAX_PATTERNS:
                raise GlobTooLarge
            found = [(*before, *run, *option) for before in found for option in options]
            run = []
        elif isinstance(token, Repeat):
            run.append(Repeat(token.prefix, tuple(_expand_all(token.options))))
        else:
            run.append(token)
    return list(dict.fromkeys((*before, *run) for before in found))


def _expand_all(options: Iterable[Row]) -> list[Row]:
    found = [row for option in options for row in expand(option)]
    if len(found) > MAX_PATTERNS:
        raise GlobTooLarge
    return found


class _Reader:
    def __init__(self, text: str, with_names: bool) -> None:
        self.text = text
        self.with_names = with_names
        self.closes = _pairs(text)

    def read(self, start: int, end: int, depth: int) -> Row:
        if depth > MAX_DEPTH:
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
        character = self.text[place]
        close = self.closes.get(place)
        if character in _GROUP_PREFIXES and self.text[place + 1 : place + 2] == "(" and place + 1 in self.closes:
            return self.group(place, depth)
        if character == "(" and close is not None:
            options = self.options(place, close, "|", depth)
            return (Choice((*options, *self.literal(place, close))),), close + 1
        if character == "{" and close is not None:
            return self.braces(place, close, depth), close + 1
        if character == "[" and close is not None:
            return self.bracket(place, close), close + 1
        if character == "*":
            return self.stars(place)
        return (Wild.ANY if character == "?" else character,), place + 1

    def group(self, place: int, depth: int) -> tuple[Iterable[Token], int]:
        character, close = self.text[place], self.closes[place + 1]
        options = self.options(place + 1, close, "|", depth)
        if character in "@?":
            return (Choice((*options, ()) if character == "?" else options),), close + 1
        return (Repeat(character, options),), close + 1

    def stars(self, place: int) -> tuple[Iterable[Token], int]:
        end = place
        # The last star may belong to a group that follows.
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
        # Braces around a single item are part of the name.
        return ("{", *options[0], "}")

    def bracket(self, place: int, close: int) -> Iterable[Token]:
        inner = self.text[place + 1 : close]
        token = _class_of(inner)
        if len(inner) < 2 or "-" in inner or inner[0] in "!^":
            return (token,)
        return (Choice(((token,), *self.literal(place, close))),)

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

    def literal(self, place: int, close: int) -> tuple[Row, ...]:
        return (tuple(self.text[place : close + 1]),) if self.with_names else ()


def _pairs(text: str) -> dict[int, int]:
    """Return the position of the closing bracket of each opening one."""
    found: dict[int, int] = {}
    opened: list[int] = []
    place = 0
    while place < len(text):
        character = text[place]
        end = _bracket_end(text, place) if character == "[" else None
        if end is not None:
            found[place] = place = end
        elif character in "({":
            opened.append(place)
        elif character in ")}":
            wanted = "(" if character == ")" else "{"
            at = next((number for number in range(len(opened) - 1, -1, -1) if text[opened[number]] == wanted), None)
            if at is not None:
                found[opened[at]] = place
                # Brackets that were opened since and not closed are plain characters.
                del opened[at:]
        place += 1
    return found


def _bracket_end(text: str, place: int) -> int | None:
    start = place + 1
    start += text[start : start + 1] in ("!", "^")
    start += text[start : start + 1] == "]"
    end = text.find("]", start)
    # A bracket never matches a slash, so it ends before one.
    return None if end < 0 or "/" in text[place:end] else end


def _class_of(inner: str) -> CharacterClass:
    negated = inner[0] in "!^"
    inner = inner[1:] if negated else inner
    parts, place = [], 0
    while place < len(inner):
        first, dash, last = inner[place], inner[place + 1 : place + 2], inner[place + 2 : place + 3]
        if dash == "-" and last and first <= last:
            parts.append(f"{re.escape(first)}-{re.escape(last)}")
            place += 3
        else:
            # Doubled characters have a meaning in Python's sets; escaped ones do not.
            parts.append(re.escape(first) if first not in "&~|" else f"\\{first}")
            place += 1
    return CharacterClass(f"(?!/)[{'^' if negated else ''}{''.join(parts)}]")


def _steps(span: re.Match[str]) -> list[str] | None:
    first, last, step = span[1], span[2], abs(int(span[3] or 1)) or 1
    if first.isalpha() != last.isalpha():
        return None
    low, high = (ord(first), ord(last)) if first.isalpha() else (int(first), int(last))
    if abs(high - low) // step >= MAX_PATTERNS:
        raise GlobTooLarge
    numbers = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
    if first.isalpha():
        return [chr(number) for number in numbers]
    padded = any(len(end) > 1 and end.lstrip("-").startswith("0") for end in (first, last))
    width = max(len(first), len(last)) if padded else 0
    return [f"{number:0{width}d}" if padded else str(number) for number in numbers]
