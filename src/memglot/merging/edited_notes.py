"""Merge notes without usable times: a changed note replaces its memory, unless that was edited here too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from memglot.formats.base import NoteSupport
from memglot.merging.records import NOTE_TOOLS, conflicts_of, merge_records, places_in
from memglot.merging.registers import set_time, stamp_edit
from memglot.model import EDITED_NOTE, Conflict, Record, Relation, has_no_time, to_builtins

# A note contains all data of these tools.
_NOTES = frozenset({"agentos", *NOTE_TOOLS})


def merge_edited_note(
    local: Record, remote: Record, at: int, notes: NoteSupport | None, had: Sequence[Conflict] = ()
) -> tuple[Record, list[Conflict]] | None:
    """Return the memory and its conflicts after merging a note without usable times; `None` if nothing changes.

    A note that is the same as when it was last read changes nothing. A memory that was not edited since then becomes
    what the note says now, including removed properties. A memory that was edited here is merged, as if the note had
    been edited at the time of the import. A memory that never came from this note keeps its values; the note only adds
    what is missing, since notes of other tools contain less than the memory.
    """
    if notes is not None and _same_note(local, remote, notes.bytes_key):
        return None
    known = notes is None or notes.bytes_key in local.extra or remote.origin == EDITED_NOTE
    conflicts: list[Conflict] = []
    replaced = known and _is_untouched(local, remote, notes)
    if replaced:
        found = _follow_note(local, remote)
    else:
        timed = msgspec.structs.replace(remote, created_at=local.created_at, updated_at=at if known else 0, clocks={})
        found, conflicts = merge_records(local, timed, "merge", had)
    same = msgspec.structs.replace(found, updated_at=local.updated_at, clocks=local.clocks)
    if notes is not None and not has_no_time(remote) and notes.bytes_key in local.extra:
        # A note that memglot itself wrote again has no new content.
        same.extra = {**same.extra, notes.bytes_key: local.extra[notes.bytes_key]}
    if to_builtins(same) == to_builtins(local):
        return None
    if replaced:
        stamp_edit(local, found, max(at, local.updated_at + 1))
        return found, conflicts_of(found, had)
    set_time(found, max(at, found.updated_at))
    return found, conflicts


def _same_note(local: Record, remote: Record, residue: str) -> bool:
    now, before = remote.extra.get(residue), local.extra.get(residue)
    if not isinstance(now, dict) or not isinstance(before, dict):
        return False
    # The same vault may be in another folder now.
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
    """Return True if a relation is a link in the text of a note, and is removed with it."""
    return any(isinstance(own, dict) and "link" in own for own in relation.extra.values())
