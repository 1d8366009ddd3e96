"""The past: history of a memory, imports and their undoing, the audit chain."""

from typing import Any

import msgspec

from memglot.engine.state import REMAINS, set_conflicts, state_in
from memglot.errors import NotFound
from memglot.model import THINGS, Conflict, Event, Record, Tombstone, owner_of
from memglot.notes import note_kept_since
from memglot.report import Report
from memglot.settings import BATCH_SIZE
from memglot.store.chain import first_broken
from memglot.store.contract import Import, Revision, Store


class Version(msgspec.Struct, kw_only=True):
    """A memory as it was up to a change."""

    number: int
    until: int | None
    deed: str
    record: Record | None
    conflicts: list[Conflict] = []
    """The clashes that it had; those of a version that was settled tell what was not chosen."""


def history(store: Store, id: str) -> tuple[list[Version], str | None]:
    """Every version of a memory, oldest first, the present one last; and the import that brought it."""
    id = id.strip().lower()
    found = [revision for revision in store.revisions(key=id) if revision.kind == "record" and revision.deed != REMAINS]
    present = store.get([id])
    if not found and not present:
        matches = store.starting_with(id, 2)
        if len(matches) != 1:
            raise NotFound("memory", id)
        return history(store, matches[0])
    id = found[0].key if found else present[0].id
    versions = [
        _version(number, revision.at, revision.deed, *_state(revision)) for number, revision in enumerate(found, 1)
    ]
    if present:
        has = list(store.things(Conflict, [id]))
        versions.append(_version(len(versions) + 1, None, "present", present[0], has))
    else:
        versions.append(_version(len(versions) + 1, None, "deleted", None, []))
    return versions, store.batch_of(id)


def _version(number: int, until: int | None, deed: str, record: Record | None, conflicts: list[Conflict]) -> Version:
    return Version(number=number, until=until, deed=deed, record=record, conflicts=conflicts)


def _state(revision: Revision) -> tuple[Record | None, list[Conflict]]:
    return state_in(revision.before) if revision.before is not None else (None, [])


def find_import(store: Store, text: str) -> Import:
    """An import by its id, or by an unambiguous beginning of it; `last` is the newest that was not undone yet."""
    if text == "last":
        entries = [entry for entry in store.imports() if entry.state != "undone"]
    else:
        entries = [entry for entry in store.imports() if entry.id.startswith(text.strip().lower())]
    if not text or not entries or (len(entries) > 1 and text != "last"):
        raise NotFound("import", text, "`memglot imports` lists them")
    return entries[0]


def undo(store: Store, import_id: str, report: Report, *, force: bool = False) -> Import:
    """Put back what was there before an import, and leave no tombstone.

    What was changed since stays as it is now, with a note, unless `force`.
    """
    with store.writing():
        entry = find_import(store, import_id)
        if entry.state == "undone":
            return entry
        batches = store.batches(entry.id)
        revisions = list(store.revisions(batches=batches))
        changed = {revision.key for revision in revisions}
        kept, removed = _remove_inserted(store, batches, report, force, changed)
        left = [revision for revision in revisions if revision.kind != "record" or revision.key not in removed]
        kept += _put_back(store, left, report, force)
        if kept:
            report.note(note_kept_since(kept))
        entry.state = "undone" if not kept else "partly undone"
        store.put_import(entry)
        store.log("undo", entry.id, "", {"removed": report.imported, "restored": report.merged, "kept": kept})
    return entry


def _remove_inserted(
    store: Store, batches: list[int], report: Report, force: bool, changed: set[str]
) -> tuple[int, set[str]]:
    """Remove what the batches inserted; tell how many stayed, and which of those that they also changed went."""
    kept: set[str] = set()
    ids = []
    for record in store.in_batches(batches):
        if not force and _changed_since(store, "record", record.id, batches):
            kept.add(record.id)
        else:
            ids.append(record.id)
    for start in range(0, len(ids), BATCH_SIZE):
        some = ids[start : start + BATCH_SIZE]
        store.remove(some)
        store.take(list(store.things(Conflict, some)))
    report.imported += len(ids)
    # What hangs on a memory that stays, stays too.
    store.take([thing for thing in store.things_in_batches(batches) if owner_of(thing) not in kept])
    return len(kept), changed.intersection(ids)


def _put_back(store: Store, revisions: list[Revision], report: Report, force: bool) -> int:
    kept = 0
    batches = [revision.batch for revision in revisions if revision.batch is not None]
    for revision in reversed(revisions):
        if revision.deed == REMAINS:
            # Nobody saw this one: what was learnt of a deleted memory is simply forgotten.
            store.forget([revision.number])
            continue
        if not force and _changed_since(store, revision.kind, revision.key, batches):
            kept += 1
            continue
        # What was put back is as if it had never changed, also to the next undo.
        store.forget([revision.number])
        if revision.kind != "record":
            thing = msgspec.convert(revision.before, THINGS[revision.kind])
            if not (isinstance(thing, Tombstone) and store.known([thing.id])):
                store.put([thing], revision.origin)
        elif revision.before is not None:
            before, had = state_in(revision.before)
            if store.known([before.id]):
                store.replace(before)
            else:
                store.add([before], revision.origin)
            set_conflicts(store, before.id, had)
            report.merged += 1
    return kept


def _changed_since(store: Store, kind: str, key: str, batches: list[int]) -> bool:
    """Tell whether somebody else changed a record, or another thing, after these batches touched it."""
    # A deletion is part of a record's own past.
    kinds = ("record", "tombstone") if kind in ("record", "tombstone") else (kind,)
    found = [revision for revision in store.revisions(key=key) if revision.kind in kinds]
    return bool(found) and found[-1].batch not in batches


def audit_log(store: Store, *, target: str | None = None, limit: int | None = None) -> list[Event]:
    """The newest rows of the audit chain first."""
    return list(store.events(target=target, newest_first=True, limit=limit))


def audit_verify(store: Store) -> dict[str, Any]:
    """Whether the audit chain is whole, and if not, the first row that does not fit."""
    head = store.chain_head()
    broken = first_broken(store.events(), head)
    return {"ok": broken is None, "events": head[0], "head": head[1], "first_broken": broken}
