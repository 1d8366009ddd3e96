"""Long lists in answers: what clients take, and what a model is shown of it."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import msgspec

from memglot.disk import DiskList
from memglot.mcp.texts import note_more_listed
from memglot.settings import MAX_ANSWER_BYTES

LISTED = 10_000
"""So many entries of a list are answered; more of them would make a message that clients refuse."""
_SHOWN = 50
_ROOM = MAX_ANSWER_BYTES - 100_000
"""So many bytes all lists of an answer may have: what was done must be told, however much there is to tell."""


def fitted(lists: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
    """Lists for one answer, each with as much as there is room for; errors first, since no count tells them."""
    left = _ROOM
    found: dict[str, list[Any]] = {}
    for number, name in enumerate(sorted(lists, key=lambda name: name != "errors")):
        share, used = left // (len(lists) - number), 0
        found[name] = []
        for value in islice(lists[name], LISTED):
            size = len(msgspec.json.encode(value)) + 1
            if used + size > share:
                break
            used += size
            found[name].append(value)
        left -= used
    return found


def whole(value: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """An answer with its long lists read from disk, and a note where they are longer than that."""
    spools = {name: inner for name, inner in value.items() if isinstance(inner, DiskList)}
    lists = fitted(spools)
    cut = any(len(lists[name]) < len(spool) for name, spool in spools.items())
    return value | lists, (note_more_listed(),) if cut else ()


def shortened(value: dict[str, Any]) -> str:
    """What a model is shown of an answer: its lists cut short, with their lengths beside them where they were."""
    cut = {name: inner[:_SHOWN] if isinstance(inner, list) else inner for name, inner in value.items()}
    longer = {name: len(inner) for name, inner in value.items() if isinstance(inner, list) and len(inner) > _SHOWN}
    return msgspec.json.encode(cut | ({"lengths": longer} if longer else {})).decode()
