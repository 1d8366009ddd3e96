"""What the formats can do, for `memglot formats` and the tables in the docs."""

from typing import Any

from memglot.formats import registry
from memglot.formats.base import Format
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
            "homes": [field for field in FIELDS if field in format.fields],
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
        "kept": [field for field in fields if field in other.fields],
        "carried": [field for field in fields if field in other.keeps - other.fields],
        "dropped": [field for field in fields if field not in other.keeps],
    }


def matrix_grid() -> list[list[str]]:
    """The pairs as a table: a row for each format that is read, a column for each that is written.

    A cell counts the fields in their own place and, behind a plus, those in the carry slot; dropped ones are named.
    """
    pairs = format_matrix()
    targets = list(dict.fromkeys(pair["to"] for pair in pairs))
    cells: dict[str, list[str]] = {}
    for pair in pairs:
        dropped = f" -{','.join(pair['dropped'])}" if pair["dropped"] else ""
        cells.setdefault(pair["from"], []).append(f"{len(pair['kept'])}+{len(pair['carried'])}{dropped}")
    return [["", *targets], *([name, *row] for name, row in cells.items())]


def format_fields() -> list[tuple[str, list[str], list[str]]]:
    """Each format that is written, with the fields it has a place for and those that it carries."""
    return [
        (
            format.name,
            [field for field in FIELDS if field in format.fields],
            [field for field in FIELDS if field in format.keeps - format.fields],
        )
        for format in registry.formats()
        if format.write is not None
    ]
