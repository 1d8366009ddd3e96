"""History of a memory, imports, and the audit chain."""

from collections.abc import Iterable
from typing import Any

import msgspec

from memglot.editing.short_ids import SEE_IDS, fits, matching_ids
from memglot.errors import Ambiguous, NotFound
from memglot.merging.memory_state import AFTER_DELETION, parse_revision
from memglot.model import Conflict, Event, OptionalMoment, Record
from memglot.store.contract import Import, Revision, Store


class Version(msgspec.Struct, kw_only=True):
    """A version of a memory until a change."""

    number: int
    until: int | None
    deed: str
    record: Record | None
    conflicts: list[Conflict] = []
    """Its conflicts; those of a resolved version show which values were not chosen."""

    until_time = OptionalMoment("until")


def history(store: Store, id: str) -> tuple[list[Version], str | None]:
    """Return all versions of a memory, oldest first, the present one last; and the import that added it."""
    id = id.strip().lower()
    found = [
        revision
        for revision in store.history.revisions(key=id)
        if revision.kind == "record" and revision.before is not None and revision.action != AFTER_DELETION
    ]
    present = store.records.get([id])
    if not found and not present:
        matches = matching_ids(store, id)
        if len(matches) > 1:
            raise Ambiguous(id, matches)
        if not matches:
            raise NotFound("memory", id, SEE_IDS)
        return history(store, matches[0])
    id = found[0].key if found else present[0].id
    versions = [
        _version(number, revision.at, revision.action, *_state(revision)) for number, revision in enumerate(found, 1)
    ]
    if present:
        has = list(store.things.select(Conflict, [id]))
        versions.append(_version(len(versions) + 1, None, "present", present[0], has))
    else:
        versions.append(_version(len(versions) + 1, None, "deleted", None, []))
    return versions, store.history.import_of(id)


def _version(number: int, until: int | None, deed: str, record: Record | None, conflicts: list[Conflict]) -> Version:
    return Version(number=number, until=until, deed=deed, record=record, conflicts=conflicts)


def _state(revision: Revision) -> tuple[Record | None, list[Conflict]]:
    return parse_revision(revision.before) if revision.before is not None else (None, [])


def find_import(imports: Iterable[Import], text: str) -> Import:
    """Return an import by its id or a unique beginning or ending of it; `last` is the newest, even if undone."""
    if text == "last":
        entries = list(imports)
    else:
        entries = [entry for entry in imports if fits(entry.id, text.strip().lower())]
    if not text or not entries or (len(entries) > 1 and text != "last"):
        hint = "run `memglot imports` to list them"
        if text == "last":
            hint = "nothing was imported yet; run `memglot undo --list` to list other operations"
        raise NotFound("import", text, hint)
    return entries[0]


def audit_log(store: Store, *, target: str | None = None, limit: int | None = None) -> list[Event]:
    """Return rows of the audit chain, newest first."""
    return list(store.history.events(target=target, newest_first=True, limit=limit))


def audit_verify(store: Store) -> dict[str, Any]:
    """Check the audit chain and return the first row that does not fit, if any."""
    with store.reading():
        head = store.history.chain_head()
        broken = store.history.first_broken()
    return {"ok": broken is None, "events": head[0], "head": head[1], "first_broken": broken}
