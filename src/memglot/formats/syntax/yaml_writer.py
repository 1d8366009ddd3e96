"""Writer of YAML 1.2 that every YAML parser reads in the same way."""

import json
import re
from typing import Any

# Characters that only some readers treat as line breaks, or that YAML does not allow unescaped.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_BLANK_LINE = re.compile("^ +$", re.MULTILINE)
_LONG_KEY = 500


def dump(value: Any) -> str:
    """Return a value in block style with a final newline; in flow style if block style cannot express it."""
    from yaml12 import format_yaml

    try:
        text: str = format_yaml(value, width=None)
    except (ValueError, OverflowError):
        return dump_flow(value)
    if _UNSAFE.search(text) or (len(text) > _LONG_KEY and _has_long_key(value)):
        return dump_flow(value)
    if _BLANK_LINE.search(text) and _ends_blank(value):
        return dump_flow(value)
    return text if text.endswith("\n") else text + "\n"


def dump_flow(value: Any) -> str:
    """Return a value as JSON that is valid YAML; each item of a list or mapping is on its own line."""
    if isinstance(value, list):
        return "".join(f"- {_flow(inner)}\n" for inner in value) or "[]\n"
    if isinstance(value, dict) and value and not any(len(key) > _LONG_KEY for key in value):
        return "".join(f"{_quoted(key)}: {_flow(inner)}\n" for key, inner in value.items())
    return _flow(value) + "\n"


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _key(key: str) -> str:
    # Parsers may reject a key of more than 1,024 characters without a question mark before it.
    return ("? " if len(key) > _LONG_KEY else "") + _quoted(key)


def _quoted(text: str) -> str:
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


def _has_long_key(value: Any) -> bool:
    if isinstance(value, dict):
        return any(len(key) > _LONG_KEY or _has_long_key(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_has_long_key, value))


def _ends_blank(value: Any) -> bool:
    """Return True if the last line of a text is only spaces, which some parsers drop at the end of a block."""
    if isinstance(value, str):
        last = value.removesuffix("\n").rpartition("\n")[2]
        return bool(last) and not last.strip(" ")
    if isinstance(value, dict):
        return any(map(_ends_blank, value.values()))
    return isinstance(value, list) and any(map(_ends_blank, value))
