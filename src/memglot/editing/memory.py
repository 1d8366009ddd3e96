"""Add, get, update, delete and undelete memories."""

from collections.abc import Sequence
from typing import Any

import msgspec

from memglot.editing.operations import created, recorded
from memglot.editing.short_ids import SEE_IDS, fits, matching_ids
from memglot.errors import AlreadyThere, Ambiguous, HiddenMemory, NotFound
from memglot.merging.memory_state import MemoryState, known_of_deleted, revision_value, set_conflicts
from memglot.merging.records import conflicts_of
from memglot.merging.redirects import delete_merged_into
from memglot.merging.registers import next_time, set_time, stamp_edit
from memglot.model import (
    DEFAULT_STATUS,
    DELETED,
    Conflict,
    Embedding,
    Minter,
    Record,
    Tombstone,
    assign_id_and_times,
    canonical,
    check_id,
    check_record,
    check_types,
    content_hash,
    is_id,
    is_link_tombstone,
    now,
    set_times_from_id,
)
from memglot.model.paths import parse_path
from memglot.store.contract import Revision, Store


def resolve_id(store: Store, text: str) -> str:
    """Return the id of a stored memory from the id itself, or a unique beginning or ending of it."""
    id = text.strip().lower()
    if is_id(id):
        if store.records.known([id]):
            return id
    elif found := matching_ids(store, id):
        if len(found) == 1:
            return found[0]
        raise Ambiguous(text, found)
    if store.hidden is not None and store.hidden.scopes:
        # The same error for an unknown memory and for a hidden one.
        raise HiddenMemory(text)
    hint = SEE_IDS
    if store.things.get(Tombstone, id):
        hint = f"it was deleted; restore it with `memglot undelete {id}`"
    raise NotFound("memory", text, hint)


def get(store: Store, id: str) -> Record:
    """Return one memory by its id."""
    return store.records.get([resolve_id(store, id)])[0]


def add(store: Store, record: Record) -> Record:
    """Add a new memory; raise `BadRecord` or `AlreadyThere`."""
    check_types(record)
    if record.id:
        record.id = check_id(record.id)
    record.tags = list(dict.fromkeys(record.tags))
    check_record(record)
    set_times_from_id(record)
    assign_id_and_times(record, Minter(now() // 1000))
    with recorded(store, "add"):
        if store.records.known([record.id]):
            raise AlreadyThere(record.id)
        tombstone = store.things.get(Tombstone, record.id)
        if tombstone is not None:
            # Otherwise the next machine that has the tombstone would delete it again.
            record.updated_at = max(record.updated_at, next_time(tombstone.deleted_at))
            store.things.remove([tombstone])
        store.records.add([record])
        store.history.add_revisions(created("record", [record.id], now(), "add"))
        store.history.log("add", record.id, record.scope, {"content_hash": content_hash(record.content).hex()})
    return record


def update(
    store: Store, id: str, changes: dict[str, Any], *, action: str = "update", resolves: str | None = None
) -> Record:
    """Change fields of a memory; write nothing if no value changes, unless the edit resolves a conflict.

    `resolves` names the field whose conflict is resolved: it gets a new clock even if its value stays the same.
    """
    with recorded(store, action, fields=sorted(changes)):
        return update_all(store, [(get(store, id), changes)], action=action, resolves=resolves)[0]


def update_all(
    store: Store,
    edits: Sequence[tuple[Record, dict[str, Any]]],
    *,
    action: str,
    resolves: str | None = None,
    reopened: dict[str, list[Conflict]] | None = None,
) -> list[Record]:
    """Change fields of memories as `update` does, inside of a transaction, and return them.

    `reopened` are conflicts that memories have again, by the ids of the memories.
    """
    conflicts = _conflicts(store, [record for record, _ in edits])
    found, replaced = [], []
    for record, changes in edits:
        after, changed = edited(record, changes)
        found.append(after)
        back = reopened.get(record.id, []) if reopened else []
        settled = [resolves] if resolves is not None else [conflict.field for conflict in back]
        if not changed and not settled:
            continue
        # An edit must win even if a clock ran ahead somewhere.
        at = next_time(record.updated_at, *record.clocks.values())
        stamp_edit(record, after, at, [path for name in settled if (path := parse_path(name)) is not None])
        had = conflicts.get(record.id, [])
        if had or back:
            again = [msgspec.structs.replace(conflict, clock=at) for conflict in back]
            set_conflicts(store, record.id, conflicts_of(after, [*had, *again]))
        if "content" in changed:
            # The vector of the old text no longer fits.
            store.things.remove(list(store.things.select(Embedding, [record.id])))
        before = revision_value(record, had)
        store.history.add_revisions([Revision(kind="record", key=record.id, at=at, action=action, before=before)])
        details = {"fields": sorted(changed)} if resolves is None else {"field": resolves}
        store.history.log(action, record.id, after.scope, details)
        replaced.append(after)
    store.records.replace(*replaced)
    return found


def _conflicts(store: Store, records: Sequence[Record]) -> dict[str, list[Conflict]]:
    """Return the conflicts of records by their ids."""
    found: dict[str, list[Conflict]] = {}
    for conflict in store.things.select(Conflict, [record.id for record in records]):
        found.setdefault(conflict.record, []).append(conflict)
    return found


def edited(record: Record, changes: dict[str, Any]) -> tuple[Record, list[str]]:
    """Return a record with changes, and the names of the fields that differ."""
    after = msgspec.structs.replace(record, **changes)
    check_types(after)
    after.tags = list(dict.fromkeys(after.tags))
    check_record(after)
    return after, [field for field in changes if canonical(getattr(after, field)) != canonical(getattr(record, field))]


def delete(store: Store, ids: Sequence[str], *, reason: str = "") -> list[str]:
    """Delete memories; each leaves a tombstone, so that an old file does not restore it, and can be undeleted."""
    with recorded(store, "delete"):
        wanted = list(dict.fromkeys(resolve_id(store, id) for id in ids))
        delete_all(store, store.records.get(wanted), reason=reason)
    return wanted


def delete_all(store: Store, records: Sequence[Record], *, reason: str = "") -> None:
    """Delete memories as `delete` does, inside of a transaction."""
    delete_records(store, records, reason=reason)
    for record in records:
        store.history.log("delete", record.id, record.scope, {"reason": reason} if reason else {})


def delete_records(store: Store, records: Sequence[Record], *, action: str = "delete", reason: str = "") -> None:
    """Remove records; each leaves a tombstone and a revision for `undelete`."""
    present = now()
    if action == "delete":
        delete_merged_into(store, [record.id for record in records], present, reason)
    conflicts = _conflicts(store, records)
    for record in records:
        # A deletion is never earlier than the last edit.
        at = max(present, record.updated_at)
        origin = store.records.batch_of(record.id)
        had = conflicts.get(record.id, [])
        before = revision_value(record, had)
        store.history.add_revisions(
            [Revision(kind="record", key=record.id, at=at, action=action, before=before, previous_batch=origin)]
        )
        store.things.put([_tombstone(record, at, reason)])
        store.things.remove(had)
    store.records.remove([record.id for record in records])


def _tombstone(record: Record, at: int, reason: str) -> Tombstone:
    return Tombstone(
        id=record.id,
        content_hash=content_hash(record.content).hex(),
        kind=record.kind,
        scope=record.scope,
        deleted_at=at,
        reason=reason,
    )


def undelete(store: Store, id: str) -> Record:
    """Restore a deleted memory, or one that its source had marked as deleted."""
    with recorded(store, "undelete"):
        return undelete_all(store, [id])[0]


def undelete_all(store: Store, ids: Sequence[str], *, action: str = "undelete") -> list[Record]:
    """Restore memories as `undelete` does, inside of a transaction, and return them."""
    found: dict[str, Record] = {}
    added: dict[int | None, list[Record]] = {}
    for id in dict.fromkeys(_deleted_id(store, text.strip().lower()) for text in ids):
        if store.records.known([id]):
            record = store.records.get([id])[0]
            if record.status == DELETED:
                record = update_all(store, [(record, {"status": DEFAULT_STATUS})], action=action)[0]
            found[id] = record
            continue
        tombstone, record, conflicts, origin = _known(store, id)
        # The record is later than the deletion, also on other machines; its values keep their clocks.
        set_time(record, next_time(tombstone.deleted_at, record.updated_at))
        store.things.remove([tombstone])
        set_conflicts(store, id, conflicts_of(record, conflicts))
        store.history.add_revisions(created("record", [id], record.updated_at, action))
        store.history.log(action, id, record.scope, {})
        added.setdefault(origin, []).append(record)
        found[id] = record
    for origin, records in added.items():
        store.records.add(records, origin)
    return list(found.values())


def check_deleted(store: Store, id: str) -> str:
    """Return the id of a memory that `undelete` would restore; raise `NotFound`."""
    id = _deleted_id(store, id.strip().lower())
    if not store.records.known([id]):
        _known(store, id)
    return id


def _known(store: Store, id: str) -> tuple[Tombstone, Record, Sequence[Conflict], int | None]:
    """Return what is known of a deleted memory, and the batch that had added it."""
    tombstone = store.things.get(Tombstone, id)
    known, origin = known_of_deleted(store, tombstone) if tombstone is not None else (MemoryState(), None)
    if tombstone is None or known.record is None:
        raise NotFound("deleted memory", id, "run `memglot list --deleted` to see what was deleted")
    return tombstone, known.record, known.conflicts, origin


def _deleted_id(store: Store, text: str) -> str:
    """Return the id of a deleted memory from a unique beginning or ending of it; any other text unchanged."""
    if is_id(text):
        return text
    found = [
        tombstone.id
        for tombstone in store.things.select(Tombstone)
        if fits(tombstone.id, text) and not is_link_tombstone(tombstone)
    ]
    if len(found) > 1:
        raise Ambiguous(text, found[:4])
    return found[0] if found else text
