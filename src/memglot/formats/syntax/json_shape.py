"""Shape of JSON values: type names, and the keys at the start of a file."""

import re
from typing import Any

import msgspec

_OPENING = re.compile(rb"\s*(?:\[\s*)?\{")
_KEY = re.compile(rb'[\s,]*("[^"\\]*+(?:\\.[^"\\]*+)*+")\s*:\s*(\S)', re.DOTALL)
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\],]', re.DOTALL)


def first_keys(head: bytes) -> dict[str, bytes]:
    """Return the keys of the first object, each with the first byte of its value, in order.

    The object may be alone, on the first line, or first in a list. It may be truncated: keys before the cut are
    returned. Anything else has no keys.
    """
    opening = _OPENING.match(head)
    place = opening.end() if opening else len(head)
    found: dict[str, bytes] = {}
    while (match := _KEY.match(head, place)) is not None:
        try:
            found[msgspec.json.decode(match[1], type=str)] = match[2]
        except (msgspec.DecodeError, UnicodeDecodeError):
            break
        place = _after_value(head, match.start(2))
    return found


def _after_value(head: bytes, place: int) -> int:
    """Return where a value ends: at the next comma or brace, or at the end of the text."""
    depth = 0
    for match in _TOKEN.finditer(head, place):
        token = match[0]
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        if depth < 0 or token == b'"' or (depth == 0 and token == b","):
            # A lone quote opens a string that is truncated.
            return match.start()
    return len(head)


def type_name(value: Any) -> str:
    """Return the type of a value in the words of JSON and YAML users."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)
