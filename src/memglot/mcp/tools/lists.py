"""Long lists in answers: what clients take, and what a model is shown of it."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

import msgspec

from memglot.report import Spool

LISTED = 10_000
"""So many entries of a list are answered; more of them would make a message that clients refuse."""
_SHOWN = 50


def listed(values: Iterable[Any]) -> list[Any]:
    """A list for an answer."""
    return list(islice(values, LISTED))


def whole(value: dict[str, Any]) -> dict[str, Any]:
    """An answer with its long lists read from disk."""
    return {name: listed(inner) if isinstance(inner, Spool) else inner for name, inner in value.items()}


def shortened(value: dict[str, Any]) -> str:
    """What a model is shown of an answer: its lists cut short, with their lengths beside them where they were."""
    cut = {name: inner[:_SHOWN] if isinstance(inner, list) else inner for name, inner in value.items()}
    longer = {name: len(inner) for name, inner in value.items() if isinstance(inner, list) and len(inner) > _SHOWN}
    return msgspec.json.encode(cut | ({"lengths": longer} if longer else {})).decode()
