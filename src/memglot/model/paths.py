"""Paths of a memory's registers: its fields, and the keys of `meta`, `source` and `extra`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memglot.model.record import Record

DECAY_KEY = "consolidation"
"""The key of `extra` that holds the values a strength decays from."""
SCALARS = ("content", "title", "kind", "scope", "tree", "temporal", "status", "strength", "confidence")
OBJECTS = ("meta", "source", "extra")
DEFAULTS: dict[str, Any] = {name: getattr(Record(content=""), name) for name in Record.__struct_fields__}
UNION_LISTS = frozenset(
    {"tags", "triggers", "relations", "supersedes", "superseded_by", "entities", "aliases", "foreign", "places"}
)
"""Lists of a tool in `extra` that are merged by union, like the lists of a record."""
_FRONTMATTER = "frontmatter"
Path = tuple[str, ...]
"""The path of a register: `("title",)`, `("meta", key)`, `("extra", tool, key)`."""
UNCLOCKED: frozenset[Path] = frozenset({("source", "machine"), ("extra", DECAY_KEY)})
"""Paths whose values have no clock: of two values one is chosen by its content."""


def path_name(path: Path) -> str:
    """Return the name of a path in clocks and conflicts; a dot in a tool's name becomes `%2E`."""
    if path[0] != "extra" or len(path) == 1:
        return ".".join(path)
    parts = ["extra", path[1].replace("%", "%25").replace(".", "%2E")]
    if len(path) == 4:
        parts += [_FRONTMATTER, path[3]]
    elif len(path) == 3:
        clear = not path[2].startswith((f"{_FRONTMATTER}.", f"{_FRONTMATTER}%"))
        parts.append(path[2] if clear else path[2].replace("%", "%25").replace(".", "%2E"))
    return ".".join(parts)


def parse_path(name: str) -> Path | None:
    """Return the path of a name; `None` if it names no register."""
    head, dot, rest = name.partition(".")
    if not dot:
        return (head,) if head in SCALARS or head in OBJECTS else None
    if head in ("meta", "source"):
        return head, rest
    if head != "extra":
        return None
    tool, dot, key = rest.partition(".")
    tool = _unescape(tool)
    if not dot:
        return head, tool
    if "." in tool:
        return None
    if key.startswith(f"{_FRONTMATTER}."):
        return head, tool, _FRONTMATTER, key[len(_FRONTMATTER) + 1 :]
    return head, tool, _unescape(key) if key.startswith(f"{_FRONTMATTER}%") else key


def _unescape(text: str) -> str:
    return text.replace("%2E", ".").replace("%25", "%")


def is_layout(path: Path) -> bool:
    """Return True if a register holds the bytes around a note, about which no user could decide."""
    return len(path) == 2 and path[0] == "extra" and "." in path[1]


def leaves(record: Record) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the value of every key of `meta`, `source` and `extra` that is merged by itself."""
    for name in ("meta", "source"):
        for key, value in getattr(record, name).items():
            yield (name, key), value
    for tool, own in record.extra.items():
        if not isinstance(own, dict) or not own or "." in tool or tool == DECAY_KEY:
            yield ("extra", tool), own
            continue
        for key, value in own.items():
            if key == _FRONTMATTER and isinstance(value, dict) and value:
                yield from ((("extra", tool, _FRONTMATTER, inner), found) for inner, found in value.items())
            else:
                yield ("extra", tool, key), value


def is_union_list(path: Path, value: Any) -> bool:
    """Return True if a value is a list that is merged by union."""
    return len(path) > 2 and path[-1] in UNION_LISTS and isinstance(value, list)
