"""The conversation or note that a memory belongs to, and its speaker, length and kind there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from memglot.text.words import fold

_THREADS = ("session", "conversation", "thread")
_NOTES = ("note", "document", "file", "path")
_NOTE = "note\0"
_SPEAKERS = ("speaker", "author", "role", "from", "name")
_SAID = re.compile(r"([^\s:][^:\n]{0,39}):\s+(?=\S)")
_TIME = re.compile(
    r"\b(?:(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)|yesterday|today|tonight|tomorrow|ago|"
    r"(?:last|next|this|past|every|few|couple|\d+|two|three|four|five|six|seven|ten) (?:\w+ )?"
    r"(?:days?|nights?|weeks?|weekends?|months?|years?|hours?|summer|winter|spring|fall|autumn)|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|"
    r"september|october|november|december|recently|since|o'clock)\b",
    re.IGNORECASE,
)
ENDS_ASKING, ASKS, MENTIONS_TIME = 1, 2, 4
"""Traits of a turn, as bits: ends with a question mark, contains one, mentions a time."""
MAY_HAVE_THREAD = " OR ".join(
    f"instr({column}, '\"{key}\"')"
    for column, key in (
        *(("meta", key) for key in (*_THREADS, *_NOTES)),
        *(("other_fields", key) for key in ("conversation", *_NOTES)),
    )
)


class Turn(msgspec.Struct, frozen=True):
    """A memory as part of a thread: a conversation, a session, or a note split into pieces."""

    thread: int
    speaker: str
    """Name of the speaker, folded; empty if there is none."""
    words: int
    traits: int


def turn_of(scope: str, meta: Mapping[str, Any], source: Mapping[str, Any], content: str) -> Turn | None:
    """Return the turn that a memory is, if its metadata names a thread."""
    key = _key(scope, meta, source)
    if key is None:
        return None
    if key.startswith(_NOTE):
        # Nobody speaks in a note, whatever is before a colon.
        return Turn(_number(key), "", len(content.split()), 0)
    said = _SAID.match(content)
    given = next((value for name in _SPEAKERS if isinstance(value := meta.get(name), str) and value.strip()), "")
    speaker = fold(given.strip() or (said[1] if said and len(said[1].split()) <= 3 else ""))[:80]
    text = content[said.end() :] if said and speaker and fold(said[1]).startswith(speaker) else content
    traits = (ENDS_ASKING if text.rstrip().endswith("?") else 0) | (ASKS if "?" in text else 0)
    traits |= MENTIONS_TIME if _TIME.search(text) else 0
    return Turn(_number(key), speaker, len(text.split()), traits)


def _number(key: str) -> int:
    return int.from_bytes(blake2b(key.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1


def _key(scope: str, meta: Mapping[str, Any], source: Mapping[str, Any]) -> str | None:
    if (found := _text(source.get("conversation"))) is not None:
        return f"conversation\0{found}"
    for kind, names in (("session\0", _THREADS), (_NOTE, _NOTES)):
        for name in names:
            if (found := _text(meta.get(name))) is not None:
                return f"{kind}{scope}\0{found}"
            if kind == _NOTE and (found := _text(source.get(name))) is not None:
                return f"{kind}{scope}\0{found}"
    return None


def _text(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        return None
    return str(value)
