"""Content that no store can hold: NUL and lone surrogates become U+FFFD; `extra` keeps the original for its tool."""

from __future__ import annotations

import re
from typing import Any

from memglot.errors import BadRecord
from memglot.model import REPLACEMENT, Record, content_hash, repair_text

_MAX_REPLACED = 100_000
_SURROGATES = re.compile("[\ud800-\udfff]")


def repair_content(record: Record, tool: str) -> None:
    """Replace NUL and lone surrogates in the content of a record that a tool wrote; keep the original in `extra`.

    Raise `BadRecord` if there are too many of them.
    """
    if record.content.isascii() and "\0" not in record.content:
        return
    unstorable = record.content.count("\0") + len(_SURROGATES.findall(record.content))
    if unstorable > _MAX_REPLACED:
        raise BadRecord(
            f"`content` contains {unstorable:,} NUL characters and lone surrogates; the maximum is {_MAX_REPLACED:,}"
        )
    content, replaced = repair_text(record.content)
    if replaced:
        record.content = content
        record.extra = {**record.extra, _key(tool): {"of": _digest(content), "replaced": replaced}}


def original_content(record: Record, tool: str, *, surrogates: bool = True) -> str:
    """Return the content as the tool wrote it, if it is unchanged and the format can express it.

    A format that is UTF-8 text without escapes has NUL, but no `surrogates`.
    """
    kept = record.extra.get(_key(tool)) if record.extra else None
    if not isinstance(kept, dict) or kept.get("of") != _digest(record.content):
        return record.content
    letters = list(record.content)
    for entry in kept["replaced"] if isinstance(kept.get("replaced"), list) else ():
        at, code = entry if _is_entry(entry) else (len(letters), 0)
        if at >= len(letters) or letters[at] != REPLACEMENT or code and not surrogates:
            return record.content
        letters[at] = chr(code)
    return "".join(letters)


def without_original(extra: dict[str, Any], tool: str) -> dict[str, Any]:
    """Return `extra` without what a reader finds in the original content."""
    return {key: value for key, value in extra.items() if key != _key(tool)}


def _is_entry(entry: Any) -> bool:
    """Return True for a position and the code of a NUL or a surrogate."""
    if not isinstance(entry, list) or len(entry) != 2 or any(type(number) is not int for number in entry):
        return False
    at, code = entry
    return bool(at >= 0 and (code == 0 or 0xD800 <= code <= 0xDFFF))


def _key(tool: str) -> str:
    return f"{tool}.text"


def _digest(content: str) -> str:
    return content_hash(content).hex()[:16]
