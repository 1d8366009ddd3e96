"""Recalled text as data: a line that says where it came from, then a fence that nothing inside can end."""

from typing import Any

import msgspec

from memglot.search.pack import fence


def fenced_json(opening: str, value: Any) -> str:
    """A value as JSON in a fence. JSON has no line breaks inside of texts, so no text in it can begin a line."""
    return f"{opening}\n\n{fence(msgspec.json.encode(value).decode(), 'json')}"


def fenced_text(opening: str, text: str, kind: str = "") -> str:
    """A text in a fence that is longer than any in it."""
    return f"{opening}\n\n{fence(text, kind)}"
