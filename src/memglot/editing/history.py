"""The past: history of a memory, imports, the audit chain."""

from collections.abc import Iterable
from typing import Any

import msgspec

from memglot.errors import NotFound
from memglot.merging.memory_state import AFTER_DELETION, parse_revision
from memglot.model import Conflict, Event, Record
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
    found = [
        revision
        for revision in store.history.revisions(key=id)
        if revision.kind == "record" and revision.action != AFTER_DELETION
    ]
    present = store.records.get([id])
    if not found and not present:
        matches = store.records.ids_starting_with(id, 2)
        if len(matches) != 1:
            raise NotFound("memory", id)
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
    """An import by its id, or by an unambiguous beginning of it; `last` is the newest that was not undone yet."""
    if text == "last":
        entries = [entry for entry in imports if entry.state != "undone"]
    else:
        entries = [entry for entry in imports if entry.id.startswith(text.strip().lower())]
    if not text or not entries or (len(entries) > 1 and text != "last"):
        raise NotFound("import", text, "`memglot imports` lists them")
    return entries[0]


def audit_log(store: Store, *, target: str | None = None, limit: int | None = None) -> list[Event]:
    """The newest rows of the audit chain first."""
    return list(store.history.events(target=target, newest_first=True, limit=limit))


def audit_verify(store: Store) -> dict[str, Any]:
    """Whether the audit chain is whole, and if not, the first row that does not fit."""
    head = store.history.chain_head()
    broken = store.history.first_broken()
    return {"ok": broken is None, "events": head[0], "head": head[1], "first_broken": broken}
