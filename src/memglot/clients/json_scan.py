"""JSON with comments and trailing commas, as editors and agents write it: where each member of an object lies."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from memglot.clients.errors import bad_syntax, too_deep
from memglot.settings import MAX_DEPTH

_TRIVIA = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"')
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null")
_COMMENT = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|//[^\r\n]*+|/\*.*?\*/', re.DOTALL)
_LOOSE_COMMA = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|,(?=[ \t\r\n]*+[}\]])', re.DOTALL)
MARK = "\ufeff"
"""What some editors of Windows begin a file with."""


class Node(NamedTuple):
    """A value, from `start` to `end`; only an object has members."""

    start: int
    end: int
    members: tuple[Member, ...] | None


class Member(NamedTuple):
    """A member of an object, from the quote of its key on."""

    key: str
    start: int
    value: Node


class Pairs(list[tuple[str, Any]]):
    """An object with its members in order, those of one name included."""


def line_of(text: str, position: int) -> int:
    """The line that a position is on, counted from 1."""
    return len(re.findall(r"\r\n|\r|\n", text[:position])) + 1


def after_trivia(text: str, position: int) -> int:
    """Where the next token begins, behind blanks and comments."""
    found = _TRIVIA.match(text, position)
    assert found is not None
    return found.end()


def after_key(text: str, start: int) -> int:
    """Where the colon behind the key that begins at `start` ends."""
    key = _STRING.match(text, start)
    assert key is not None
    return after_trivia(text, key.end()) + 1


def scan(text: str, path: str) -> Node:
    """The one value of a text. Raises `Unreadable` where it is none."""
    scanner = _Scanner(text, path)
    node = scanner.value(0)
    scanner.skip()
    if scanner.position < len(text):
        raise scanner.expected("the end of the file")
    return node


def parse(text: str) -> Any:
    """The value by Python's own reader, which knows nothing of the scanner: one must not cover for the other.

    Numbers stay the text that they are. Raises `ValueError`.
    """
    plain = _COMMENT.sub(lambda found: found[1] or " ", text.removeprefix(MARK))
    plain = _LOOSE_COMMA.sub(lambda found: found[1] or "", plain)
    return json.loads(plain, object_pairs_hook=Pairs, parse_int=str, parse_float=str)


def plain(value: Any) -> Any:
    """Objects as dictionaries; of several members of one name the last one counts."""
    if isinstance(value, Pairs):
        return {key: plain(inner) for key, inner in value}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


class _Scanner:
    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.position = len(MARK) if text.startswith(MARK) else 0

    def skip(self) -> None:
        self.position = after_trivia(self.text, self.position)

    def expected(self, what: str) -> Exception:
        return bad_syntax(self.path, line_of(self.text, self.position), what)

    def at(self, token: str) -> bool:
        """Step over a token, if it is there."""
        self.skip()
        found = self.text.startswith(token, self.position)
        self.position += len(token) * found
        return found

    def value(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise too_deep(self.path, MAX_DEPTH)
        self.skip()
        start = self.position
        if self.at("{"):
            members = self.members(depth)
            return Node(start, self.position, members)
        if self.at("["):
            self.elements(depth)
            return Node(start, self.position, None)
        found = _STRING.match(self.text, start) or _PLAIN.match(self.text, start)
        if found is None:
            raise self.expected("a value")
        self.position = found.end()
        return Node(start, found.end(), None)

    def members(self, depth: int) -> tuple[Member, ...]:
        found: list[Member] = []
        while not self.at("}"):
            start = self.position
            key = _STRING.match(self.text, start)
            if key is None:
                raise self.expected("a key in quotes, or `}`")
            self.position = key.end()
            if not self.at(":"):
                raise self.expected("`:`")
            found.append(Member(json.loads(key[0]), start, self.value(depth + 1)))
            if not self.at(",") and not self.text.startswith("}", self.position):
                raise self.expected("`,` or `}`")
        return tuple(found)

    def elements(self, depth: int) -> None:
        while not self.at("]"):
            self.value(depth + 1)
            if not self.at(",") and not self.text.startswith("]", self.position):
                raise self.expected("`,` or `]`")
