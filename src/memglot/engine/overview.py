"""What the formats can do, for `memglot formats` and the tables in the docs."""

from typing import Any

from memglot.formats import registry
from memglot.formats.format import Format
from memglot.model import FIELDS


def format_rows() -> list[dict[str, Any]]:
    """One row a format."""
    return [
        {
            "name": format.name,
            "title": format.title,
            "tool": format.tool,
            "read": True,
            "write": format.write is not None,
            "extensions": list(format.extensions),
            "aliases": list(format.aliases),
            "homes": [field for field in FIELDS if field in format.homes],
            "carry": format.carry,
            "dedup": format.dedup,
            "conflict": format.conflict,
        }
        for format in registry.formats()
    ]


def format_matrix() -> list[dict[str, Any]]:
    """What each ordered pair keeps in its own place, carries in the carry slot, or drops."""
    formats = list(registry.formats())
    return [_pair(one, other) for one in formats for other in formats if other.write is not None]


def _pair(one: Format, other: Format) -> dict[str, Any]:
    fields = [field for field in FIELDS if field in one.keeps]
    return {
        "from": one.name,
        "to": other.name,
        "kept": [field for field in fields if field in other.homes],
        "carried": [field for field in fields if field in other.keeps - other.homes],
        "dropped": [field for field in fields if field not in other.keeps],
    }
