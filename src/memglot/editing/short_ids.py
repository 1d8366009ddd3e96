"""Short ids: a unique beginning or ending of an id, as people type them."""

from __future__ import annotations

from collections.abc import Sequence

from memglot.model import is_id
from memglot.store.contract import Store

SHORTEST = 6
"""Minimum length of a short id."""
SEE_IDS = f"run `memglot list` to see the ids; {SHORTEST} characters or more of one are enough"
"""Hint for an id that no memory has."""
_SHOWN = 8
"""Length of the endings that are shown; ids that were derived from other tools' share their beginnings."""
_MOST = 4


def matching_ids(store: Store, text: str) -> list[str]:
    """Return ids of memories that begin or end with a text, some of them if there are many; none if it is too short."""
    text = text.strip().lower()
    if len(text) < SHORTEST or is_id(text):
        return []
    return sorted({*store.records.ids_starting_with(text, _MOST), *store.records.ids_ending_with([text])[:_MOST]})


def fits(id: str, text: str) -> bool:
    """Return True if a text is an id, or a short form of it."""
    return id == text or len(text) >= SHORTEST and (id.startswith(text) or id.endswith(text))


def short_ids(store: Store, ids: Sequence[str]) -> dict[str, str]:
    """Return the ending of each id that no other memory's id has."""
    same: dict[str, list[str]] = {}
    for id in store.records.ids_ending_with([id[-_SHOWN:] for id in ids]):
        same.setdefault(id[-_SHOWN:], []).append(id)
    return {id: _unique_ending(id, same.get(id[-_SHOWN:], [])) for id in ids}


def _unique_ending(id: str, others: list[str]) -> str:
    lengths = range(_SHOWN, len(id))
    return next(
        (id[-n:] for n in lengths if id[-n] != "-" and not any(o != id and o.endswith(id[-n:]) for o in others)), id
    )
