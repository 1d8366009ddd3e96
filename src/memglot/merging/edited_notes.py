"""Notes without times: what a note says now is news, and the whole truth where nobody edited its memory here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from memglot.formats.base import NoteSupport
from memglot.merging.records import NOTE_TOOLS, conflicts_of, merge_records, places_in
from memglot.merging.registers import set_time, stamp_edit
from memglot.model import EDITED_NOTE, Conflict, Record, Relation, has_no_time, to_builtins

# What a note tells of these is all there is.
_NOTES = frozenset({"agentos", *NOTE_TOOLS})


def merge_edited_note(
    local: Record, remote: Record, at: int, notes: NoteSupport | None, had: Sequence[Conflict] = ()
) -> tuple[Record, list[Conflict]] | None:
    """The memory after meeting a note, whose times tell nothing; `None` where that changes nothing.

    A note that is as it was when it was read last is no news. A memory that still says what its note said goes forward
    to what the note says now, removed properties and all. One that was edited here is merged, as if the note had been
    edited at the time of the import. And one that never came from this note keeps what it says: notes of other tools
    tell less than there is, so they add what is missing.
    """
    if notes is not None and _same_note(local, remote, notes.bytes_key):
        return None
    known = notes is None or notes.bytes_key in local.extra or remote.origin == EDITED_NOTE
    conflicts: list[Conflict] = []
    forward = known and _is_untouched(local, remote, notes)
    if forward:
        found = _follow_note(local, remote)
    else:
        timed = msgspec.structs.replace(remote, created_at=local.created_at, updated_at=at if known else 0, clocks={})
        found, conflicts = merge_records(local, timed, "merge", had)
    same = msgspec.structs.replace(found, updated_at=local.updated_at, clocks=local.clocks)
    if notes is not None and not has_no_time(remote) and notes.bytes_key in local.extra:
        # A note that this tool laid out anew says nothing new by its layout.
        same.extra = {**same.extra, notes.bytes_key: local.extra[notes.bytes_key]}
    if to_builtins(same) == to_builtins(local):
        return None
    if forward:
        stamp_edit(local, found, max(at, local.updated_at + 1))
        return found, conflicts_of(found, had)
    set_time(found, max(at, found.updated_at))
    return found, conflicts


def _same_note(local: Record, remote: Record, residue: str) -> bool:
    now, before = remote.extra.get(residue), local.extra.get(residue)
    if not isinstance(now, dict) or not isinstance(before, dict):
        return False
    # The same vault may lie elsewhere now.
    return {**now, "vault": ""} == {**before, "vault": ""}


def _is_untouched(local: Record, remote: Record, notes: NoteSupport | None) -> bool:
    if notes is None:
        return False
    return notes.is_unchanged(local) or bool(remote.updated_at) and remote.updated_at == local.updated_at


def _follow_note(local: Record, remote: Record) -> Record:
    found = msgspec.structs.replace(
        remote,
        id=local.id,
        created_at=local.created_at,
        tags=list(remote.tags),
        foreign=list(local.foreign),
        extra={**{key: value for key, value in local.extra.items() if key not in _NOTES}, **remote.extra},
    )
    for tool in NOTE_TOOLS:
        now = remote.extra.get(tool)
        if isinstance(now, dict) and (places := places_in(local.extra.get(tool))):
            found.extra[tool] = {**now, "places": places}
            found.tags += [tag for place in places for tag in _tags(place) if tag not in found.tags]
    found.foreign += [place for place in remote.foreign if place not in found.foreign]
    if set(found.tags) == set(local.tags):
        found.tags = local.tags
    return found


def _tags(place: dict[str, Any]) -> list[str]:
    tags = place.get("tags")
    return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []


def is_text_link(relation: Relation) -> bool:
    """Tell whether a relation is a link in the text of a note, and goes when the link goes."""
    return any(isinstance(own, dict) and "link" in own for own in relation.extra.values())
