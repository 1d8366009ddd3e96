"""Notes without times: what a note says now is news, and the whole truth where nobody edited its memory here."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from memglot.engine.merge import merge_records, unite
from memglot.model import Conflict, Record, Relation, plain

Untouched = Callable[[Record], bool]


def meet_untimed(
    local: Record, remote: Record, at: int, untouched: Untouched | None
) -> tuple[Record, list[Conflict]] | None:
    """The memory after meeting a note that tells no time; `None` where that changes nothing.

    A memory that still says what its note said goes forward to what the note says now, removed properties and all.
    One that was edited here is merged, as if the note had been edited at the time of the import.
    """
    conflicts: list[Conflict] = []
    if untouched is not None and untouched(local):
        found = _forwarded(local, remote)
    else:
        timed = msgspec.structs.replace(remote, created_at=local.created_at, updated_at=at)
        found, conflicts = merge_records(local, timed)
    same = msgspec.structs.replace(found, updated_at=local.updated_at, clocks=local.clocks)
    if plain(same) == plain(local):
        return None
    return msgspec.structs.replace(found, updated_at=at), conflicts


def _forwarded(local: Record, remote: Record) -> Record:
    found = msgspec.structs.replace(
        remote,
        id=local.id,
        created_at=local.created_at,
        tags=list(remote.tags),
        foreign=list(local.foreign),
        extra={**{key: value for key, value in local.extra.items() if "." not in key}, **remote.extra},
    )
    for tool, own in local.extra.items():
        now = remote.extra.get(tool)
        if isinstance(own, dict) and isinstance(now, dict) and "places" in own:
            found.extra[tool] = {**now, "places": own["places"]}
            found.tags += [tag for place in own["places"] for tag in place.get("tags", ()) if tag not in found.tags]
    unite(found, remote)
    if set(found.tags) == set(local.tags):
        found.tags = local.tags
    return found


def in_text(relation: Relation) -> bool:
    """Tell whether a relation is a link in the text of a note, and goes when the link goes."""
    return any(isinstance(own, dict) and "link" in own for own in relation.extra.values())
