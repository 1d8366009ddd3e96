"""Tables about the formats, for `memglot formats` and the docs."""

from typing import Any

from memglot.formats import registry
from memglot.formats.base import Format
from memglot.model import FIELDS


def format_rows() -> list[dict[str, Any]]:
    """Return one row per format."""
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
    """Return what each pair of formats stores in fields, carries in the carry slot, or drops."""
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
    """Return the pairs as a table: a row for each source format, a column for each target format.

    A cell has the number of native fields and, after a plus, of carried ones; it names dropped fields.
    """
    pairs = format_matrix()
    targets = list(dict.fromkeys(pair["to"] for pair in pairs))
    cells: dict[str, list[str]] = {}
    for pair in pairs:
        dropped = f" -{','.join(pair['dropped'])}" if pair["dropped"] else ""
        cells.setdefault(pair["from"], []).append(f"{len(pair['kept'])}+{len(pair['carried'])}{dropped}")
    return [["", *targets], *([name, *row] for name, row in cells.items())]


def format_fields() -> list[tuple[str, list[str], list[str]]]:
    """Return each format that can be written, with its native fields and its carried fields."""
    return [
        (
            format.name,
            [field for field in FIELDS if field in format.fields],
            [field for field in FIELDS if field in format.keeps - format.fields],
        )
        for format in registry.formats()
        if format.write is not None
    ]
