"""Where the tables, keys and values of a TOML text are, so that one can be changed and every other byte kept."""

import re
import tomllib
from typing import Literal, NamedTuple

_SPACE = re.compile(r"[ \t]*+")
_BLANK = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_KEY = re.compile(r'[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|\'[^\'\n]*+\'')
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|'[^'\n]*+'"
    r"|#[^\n]*+|[\[{]|[\]}]|\r?\n|[ \t]++|[^\"'#\[\]{}\r\n \t]++|\r",
    re.DOTALL,
)


class TomlStatement(NamedTuple):
    """A header, or a key with its value, from the start of its first line to the end of its last line."""

    kind: Literal["table", "array", "value"]
    keys: tuple[str, ...]
    """The full path of keys from the root."""
    header: tuple[str, ...]
    """The keys of the header above it, or of the header itself."""
    start: int
    end: int
    value: tuple[int, int]
    """The start and end of its value; an empty range for a header."""


def scan_statements(text: str) -> list[TomlStatement]:
    """Return all statements of a valid TOML text, in order."""
    found: list[TomlStatement] = []
    header: tuple[str, ...] = ()
    position = _end(_BLANK, text, 0)
    while position < len(text):
        start = text.rfind("\n", 0, position) + 1
        brackets = 2 if text.startswith("[[", position) else 1 if text[position] == "[" else 0
        keys, position = _keys(text, position + brackets)
        value = (position, position)
        if brackets:
            header = keys
            position = _line_end(text, position)
            found.append(TomlStatement("array" if brackets == 2 else "table", keys, keys, start, position, value))
        else:
            value = _value(text, position + 1)
            position = _line_end(text, value[1])
            found.append(TomlStatement("value", header + keys, header, start, position, value))
        position = _end(_BLANK, text, position)
    return found


def _keys(text: str, position: int) -> tuple[tuple[str, ...], int]:
    """Return a dotted key, and the position of the character after it."""
    keys: list[str] = []
    while True:
        found = _KEY.match(text, _end(_SPACE, text, position))
        assert found is not None
        keys.append(tomllib.loads(f"key = {found[0]}")["key"] if found[0][0] in "\"'" else found[0])
        position = _end(_SPACE, text, found.end())
        if text[position] != ".":
            return tuple(keys), position
        position += 1


def _value(text: str, position: int) -> tuple[int, int]:
    start = end = _end(_SPACE, text, position)
    depth = 0
    while end < len(text):
        found = _TOKEN.match(text, end)
        assert found is not None
        token = found[0]
        if depth == 0 and (token[0] in "#\n" or token == "\r\n"):
            break
        depth += (token in "[{") - (token in "]}")
        end = found.end()
    return start, start + len(text[start:end].rstrip(" \t"))


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    assert found is not None
    return found.end()
