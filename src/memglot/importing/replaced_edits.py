"""Local edits that a merge replaces with later ones."""

from __future__ import annotations

from collections.abc import Iterator

from memglot.importing.plan import RecordChange
from memglot.merging.memory_state import parse_revision
from memglot.model import Record
from memglot.model.fingerprints import fingerprints, is_kept
from memglot.store.contract import Revision, Store


def replaced_edits(store: Store, changes: list[RecordChange]) -> Iterator[str]:
    """Yield the ids of memories of which a value that was edited here since their last import is replaced."""
    origins = store.history.origins([change.before.id for change in changes]) if changes else {}
    for change in changes:
        id = change.before.id
        if id in origins and origins[id].is_changed and (base := _before_edits(store, id)) is not None:
            in_conflict = {conflict.field for conflict in change.conflicts_after}
            if _edited(base, change.before) & _lost(change.before, change.after) - in_conflict:
                yield id


def _before_edits(store: Store, id: str) -> Record | None:
    """Return a memory as it was before it was edited here since its last import; `None` if it was not."""
    edits: list[Revision] = []
    for revision in store.history.revisions(key=id):
        if revision.kind == "record" and revision.before is not None:
            edits = [] if revision.batch is not None else [*edits, revision]
    return parse_revision(edits[0].before)[0] if edits and edits[0].before is not None else None


def _edited(before: Record, after: Record) -> set[str]:
    """Return the names of the values that differ."""
    old, new = fingerprints(before), fingerprints(after)
    return {name for name in {*old, *new} if old.get(name) != new.get(name)}


def _lost(before: Record, after: Record) -> set[str]:
    """Return the names of the values that are no longer there."""
    old, new = fingerprints(before), fingerprints(after)
    return {name for name in {*old, *new} if not is_kept(old.get(name), new.get(name))}
