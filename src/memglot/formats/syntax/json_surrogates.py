"""Lone surrogates in JSON: valid as escapes such as `\\ud800`, but msgspec neither reads nor writes them."""

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from memglot.model.record_errors import bad_bytes

_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def lone_surrogates(raw: bytes) -> list[int]:
    """Return the positions of the escapes in a JSON text that are lone surrogates."""
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return []
    found: list[int] = []
    high: re.Match[bytes] | None = None
    for match in _ESCAPE.finditer(raw):
        code = int(match[1], 16) if match[1] else 0
        joins = high is not None and high.end() == match.start() and 0xDC00 <= code < 0xE000
        if high is not None and not joins:
            found.append(high.start())
        if 0xDC00 <= code < 0xE000 and not joins:
            found.append(match.start())
        high = match if 0xD800 <= code < 0xDC00 else None
    return [*found, high.start()] if high is not None else found


def replace_lone_surrogates(raw: bytes, places: Iterable[int] | None = None) -> bytes:
    """Return a JSON text with U+FFFD for each lone surrogate; its length is the same."""
    places = lone_surrogates(raw) if places is None else places
    parts, last = [], 0
    for at in places:
        parts += [raw[last:at], b"\\ufffd"]
        last = at + len(b"\\ufffd")
    return b"".join([*parts, raw[last:]]) if parts else raw


def decode_with_surrogates(raw: bytes, places: list[int], offset: int, unchecked: str) -> Any:
    """Decode a JSON text with lone surrogates; raise `BadRecord` if one is not in the value of the key `unchecked`.

    That value is a text or a list of texts. `offset` is the position of the text in its file.
    """
    data = msgspec.json.decode(replace_lone_surrogates(raw, places))
    found = json.loads(raw).get(unchecked) if unchecked and isinstance(data, dict) else None
    texts = {text for text in (found if isinstance(found, list) else [found]) if isinstance(text, str)}
    strings = (match for match in _STRING.finditer(raw) if b"\\u" in match[0])
    allowed = [match.span() for match in strings if json.loads(match[0]) in texts]
    number = 0
    for at in places:
        while number < len(allowed) and allowed[number][1] <= at:
            number += 1
        if number == len(allowed) or not allowed[number][0] < at:
            raise bad_bytes(offset + at, "a lone surrogate")
    data[unchecked] = found
    return data


def encode(value: Any, indent: int = 0) -> bytes:
    """Encode a value whose texts may have lone surrogates."""
    try:
        raw = msgspec.json.encode(value)
        return msgspec.json.format(raw, indent=indent) if indent else raw
    except UnicodeEncodeError:
        text = json.dumps(value, ensure_ascii=False, indent=indent or None, separators=None if indent else (",", ":"))
        # The escape of a surrogate in Python is the one in JSON.
        return text.encode("utf-8", "backslashreplace")


def encode_lines(values: list[Any]) -> bytes:
    """Encode values as lines, like `encode`."""
    try:
        return msgspec.json.Encoder().encode_lines(values)
    except UnicodeEncodeError:
        return b"".join(encode(value) + b"\n" for value in values)
