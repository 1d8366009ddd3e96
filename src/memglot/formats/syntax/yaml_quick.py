"""Fast path for the YAML of most front matter: keys, plain values and lists of them, line by line.

Anything else is left to the full parser; a test checks that both return the same.
"""

import re
from typing import Any

from memglot.formats.syntax.yaml_reader import resolve

_KEY = re.compile(r"([^\W\d][\w-]*(?: [\w-]+)*):(?: +| (.+))?")
_ITEM = re.compile(r"( *)- (.+)")
_QUOTED = re.compile(r"\"[^\"\\]*\"|'[^']*'")
_PLAIN = re.compile(r"[^\W_](?:[^#:]|(?<! )#|:(?![ ]|$))*")
# Characters that YAML does not allow, that some readers treat as line ends, or unusual white space.
_ODD = re.compile("[^\n -~\xa1-\u1fff\u2070-\ud7ff\uf900-\ufaff\uff01-\uffdc]")
_MAX_BLOCK = 1 << 20
_OTHER = object()


def quick_load(block: str) -> dict[str, Any] | None:
    """Return the mapping of a block of front matter; `None` if it needs the full parser."""
    if len(block) > _MAX_BLOCK or _ODD.search(block):
        return None
    found: dict[str, Any] = {}
    items: list[Any] | None = None
    indent = ""
    key = ""
    for line in block.split("\n"):
        if not line:
            continue
        if (match := _ITEM.fullmatch(line)) is not None:
            value = _scalar(match[2])
            if not key or value is _OTHER or items and match[1] != indent:
                return None
            if not items:
                indent, items = match[1], []
                found[key] = items
            items.append(value)
            continue
        match = _KEY.fullmatch(line)
        if match is None or match[1] in found:
            return None
        value = _value(match[2])
        if value is _OTHER:
            return None
        found[match[1]] = value
        # Only a key without a value may have a list below it.
        key, items = (match[1], None) if match[2] is None else ("", None)
    return found


def _value(text: str | None) -> Any:
    if text is None:
        return None
    if text == "[]":
        return []
    if text.startswith("[") and text.endswith("]") and not re.search(r"[\[\]{}\"'&*!|>%@`#:]", text[1:-1]):
        values = [_scalar(part.strip()) for part in text[1:-1].split(",")]
        return _OTHER if _OTHER in values else values
    return _scalar(text)


def _scalar(text: str) -> Any:
    if _QUOTED.fullmatch(text):
        return text[1:-1]
    if not _PLAIN.fullmatch(text) or text.endswith(" "):
        return _OTHER
    return resolve(text)
