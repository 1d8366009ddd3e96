"""Lone surrogates in JSON: valid as escapes such as `\\ud800`, but msgspec neither reads nor writes them."""

import json
import re
from functools import cache
from typing import Any

import msgspec

from memglot.model.record_errors import bad_bytes

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_HEX = rb"[0-9a-fA-F]{2}"
_SURROGATE = rb"u[dD][89a-fA-F]" + _HEX
_PAIR = rb"u[dD][89abAB]" + _HEX + rb"\\u[dD][c-fC-F]" + _HEX


@cache
def _lone() -> Any:
    """Return the pattern of a lone surrogate; it skips every other escape as a whole."""
    # Importing regex takes longer than reading most files, and hardly any has surrogates.
    import regex

    others = rb"\\(?:" + _PAIR + rb"|(?!" + _SURROGATE + rb").)(*SKIP)(*FAIL)"
    return regex.compile(others + rb"|\\" + _SURROGATE, regex.DOTALL)


def has_surrogate(raw: bytes) -> bool:
    """Return True if a JSON text may contain the escape of a surrogate."""
    return b"\\ud" in raw or b"\\uD" in raw


def count_and_replace(raw: bytes) -> tuple[int, bytes]:
    """Return the number of lone surrogates in a JSON text, and the text, as long as before, with U+FFFD for each."""
    if not has_surrogate(raw):
        return 0, raw
    replaced, count = _lone().subn(rb"\\ufffd", raw)
    return count, replaced if count else raw


def replace_lone_surrogates(raw: bytes) -> bytes:
    """Return a JSON text with U+FFFD for each lone surrogate, or the same object if it has none."""
    return count_and_replace(raw)[1]


def decode_with_surrogates(raw: bytes, replaced: bytes, offset: int, unchecked: str) -> Any:
    """Decode a JSON text with lone surrogates; raise `BadRecord` if one is not in the value of the key `unchecked`.

    That value is a text or a list of texts. `replaced` is the text without lone surrogates, and `offset` the position
    of the text in its file.
    """
    data = msgspec.json.decode(replaced)
    # Numbers do not matter here, and Python refuses long ones.
    exact = json.loads(raw, parse_int=float)
    found = exact.pop(unchecked, None) if unchecked and isinstance(exact, dict) else None
    values = found if isinstance(found, list) else [found]
    if _has_lone_surrogate([exact, *(value for value in values if not isinstance(value, str))]):
        texts = {value for value in values if isinstance(value, str)}
        raise bad_bytes(offset + _first_outside(raw, texts), "a lone surrogate")
    if found is not None:
        data[unchecked] = found
    return data


def _has_lone_surrogate(value: Any) -> bool:
    """Return True if a text somewhere in a decoded value has a lone surrogate."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _first_outside(raw: bytes, texts: set[str]) -> int:
    """Return the position of the first lone surrogate that is not in one of these texts, or else of the first one."""
    for string in _STRING.finditer(raw):
        if has_surrogate(string[0]) and json.loads(string[0]) not in texts:
            if (match := _lone().search(string[0])) is not None:
                return int(string.start() + match.start())
    match = _lone().search(raw)
    return int(match.start())


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
