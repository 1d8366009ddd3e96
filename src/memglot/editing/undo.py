"""Undo an operation: bring back what it changed with new edits, so that other machines follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import msgspec

from memglot.display import plural
from memglot.editing.batches import BatchSize, ShowCount
from memglot.editing.memory import delete_records, undelete_all, update_all
from memglot.editing.operations import DONE, OPEN, PARTLY_UNDONE, UNDO, UNDONE, Recorder, describe
from memglot.editing.revert import revert_record, same_record
from memglot.editing.revert_things import ThingRevert
from memglot.errors import UsageError
from memglot.merging.memory_state import AFTER_DELETION, link_time, parse_revision
from memglot.merging.redirects import RedirectChanges, update_redirects
from memglot.merging.registers import split_record
from memglot.model import Conflict, Record, Relation, Supersession, Tombstone, now
from memglot.model.paths import parse_path
from memglot.store.contract import Operation, Revision, Store

_RECORD = "record"
Changed = Callable[[list[str]], object]


class Undone(msgspec.Struct, kw_only=True):
    """Result of undoing an operation or an import, in numbers of memories."""

    id: str
    action: str
    removed: int = 0
    """Memories that it had added."""
    restored: int = 0
    """Memories that it had deleted; of an import, also those that it had changed."""
    reverted: int = 0
    """Memories that it had changed."""
    others: int = 0
    """Relations, supersessions and other items that are as they were before."""
    kept: int = 0
    """Memories and other items that were changed since, so that they stay as they are."""
    notes: list[str] = []

    @property
    def import_id(self) -> str | None:
        """The id, if it is that of an import."""
        return self.id if self.action == "import" else None

    @property
    def imported(self) -> int:
        """The number of removed memories, under the name that earlier versions gave it."""
        return self.removed

    @property
    def merged(self) -> int:
        """The number of restored memories, under the name that earlier versions gave it."""
        return self.restored

    def value(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return {"importId": self.import_id, **msgspec.structs.asdict(self)}


def undo_operation(
    store: Store,
    operation: Operation,
    *,
    force: bool = False,
    changed: Changed = lambda ids: None,
    progress: ShowCount | None = None,
) -> Undone:
    """Undo an operation in short transactions, as one new operation; an interrupted one is continued.

    What was changed since by something else is kept, with a note, unless `force` is set. `changed` is called in each
    transaction with the ids of the memories that have another text now.
    """
    if operation.state == OPEN:
        raise UsageError(
            f"undoing `{operation.undoes}` was interrupted", f"finish it with `memglot undo {operation.undoes}`"
        )
    if operation.state == UNDONE:
        text = f"the operation `{operation.id}` is already undone; use `memglot undo --list` to find another one"
        return Undone(id=operation.id, action=operation.action, notes=[text])
    return _Undo(store, operation, force, changed).run(progress)


class _Undo:
    """Undoes one operation, from its newest to its oldest revision."""

    def __init__(self, store: Store, operation: Operation, force: bool, changed: Changed) -> None:
        self._store, self._operation, self._force, self._changed = store, operation, force, changed
        self._recorder = _recorder(store, operation)
        self._undo = self._recorder.operation
        self._result = Undone(id=operation.id, action=operation.action)
        for name, count in self._undo.counts.items():
            setattr(self._result, name, count)

    def run(self, progress: ShowCount | None) -> Undone:
        size, done = BatchSize(), 0
        total = sum(last - first + 1 for first, last in self._operation.parts)
        for first, last in reversed(self._operation.parts):
            number = min(last, self._undo.position - 1) if self._undo.position else last
            done += last - max(number, first - 1)
            while number >= first:
                start = max(first, number - size.next + 1)
                began = monotonic()
                self._undo_between(start, number)
                size.adjust(number - start + 1, monotonic() - began)
                self._store.give_way()
                done += number - start + 1
                number = start - 1
                if progress is not None:
                    progress(done, total)
        self._finish()
        return self._result

    def _undo_between(self, first: int, last: int) -> None:
        with self._recorder.transaction():
            self._undo.position = first
            batch = _Batch(self._store, self._operation, self._result, self._force)
            batch.run(list(self._store.history.revisions_between(first, last)))
            self._undo.counts = {name: getattr(self._result, name) for name in _COUNTS}
            # Also if this changed nothing: what was looked at is not looked at again.
            self._recorder.keep()
            self._changed(batch.changed)

    def _finish(self) -> None:
        result, undo = self._result, self._undo
        with self._store.writing():
            history = self._store.history
            undo.state, undo.position, undo.counts = DONE, 0, {}
            history.put_operation(undo)
            state = PARTLY_UNDONE if result.kept else UNDONE
            history.put_operation(msgspec.structs.replace(self._operation, state=state))
            self._redo(state)
            counts = {name: getattr(result, name) for name in _COUNTS}
            history.log(UNDO, self._operation.id, "", {"operation": self._operation.action, **counts})
            if self._force and result.removed:
                # Memories that were merged into a removed one are restored.
                update_redirects(self._store, RedirectChanges(has_tombstones=True), now())
        if result.kept:
            result.notes = [f"kept {plural(result.kept, 'item')} changed since; use `--force` to undo them too"]

    def _redo(self, state: str) -> None:
        """Undoing an undo does its operation again, and undoing that undoes it once more."""
        wanted = self._operation.undoes
        for one in list(self._store.history.operations()) if wanted else ():
            if one.id == wanted:
                state = {UNDONE: DONE, DONE: UNDONE}.get(state, PARTLY_UNDONE)
                self._store.history.put_operation(msgspec.structs.replace(one, state=state))
                wanted = one.undoes


class _Batch:
    """Takes back some revisions of an operation, in one transaction."""

    def __init__(self, store: Store, operation: Operation, result: Undone, force: bool) -> None:
        self._store, self._at, self._result, self._force = store, operation.at, result, force
        self._things = ThingRevert(store, UNDO, force=force)
        self._present: dict[str, Record] = {}
        self._waiting: set[str] = set()
        self._edits: list[tuple[Record, dict[str, Any]]] = []
        self._reopened: dict[str, list[Conflict]] = {}
        self._deleted: list[Record] = []
        self._restored: list[str] = []
        self._kept: set[tuple[str, str]] = set()
        self.changed: list[str] = []
        """Memories that have another text now."""

    def run(self, revisions: Sequence[Revision]) -> None:
        """Take changes back, the newest first."""
        keys = list({revision.key for revision in revisions if revision.kind == _RECORD})
        self._present = {record.id: record for record in self._store.records.get(keys)}
        for revision in revisions:
            if revision.kind != _RECORD:
                self._count(revision, self._things.run(revision))
                continue
            if revision.key in self._waiting:
                self._write()
                self._present |= {record.id: record for record in self._store.records.get([revision.key])}
            self._waiting.add(revision.key)
            self._take_back(revision)
        self._write()

    def _count(self, revision: Revision, is_done: bool | None) -> None:
        if is_done:
            self._result.others += 1
        elif is_done is False:
            self._keep(revision)

    def _keep(self, revision: Revision) -> None:
        item = revision.kind, revision.key
        self._result.kept += item not in self._kept
        self._kept.add(item)

    def _take_back(self, revision: Revision) -> None:
        present = self._present.get(revision.key)
        after, conflicts = self._after(revision, present)
        if revision.before is None:
            if present is None:
                return
            if self._force or after is not None and same_record(after, present):
                self._deleted.append(present)
            else:
                self._keep(revision)
        elif after is None:
            # One that is back already needs nothing.
            if present is None:
                self._restored.append(revision.key)
        elif present is None:
            self._keep(revision)
        else:
            self._revert(revision, after, conflicts, present)

    def _after(self, revision: Revision, present: Record | None) -> tuple[Record | None, list[Conflict]]:
        """Return a memory as it was right after a change, with its conflicts; `None` if it was deleted."""
        for later in self._store.history.revisions(key=revision.key):
            if later.number <= revision.number or later.action == AFTER_DELETION:
                continue
            if later.kind == "tombstone":
                return None, []
            if later.kind == _RECORD:
                return parse_revision(later.before) if later.before is not None else (None, [])
        return present, self._conflicts_of(revision.key)

    def _conflicts_of(self, id: str) -> list[Conflict]:
        return list(self._store.things.select(Conflict, [id]))

    def _revert(self, revision: Revision, after: Record, conflicts: list[Conflict], present: Record) -> None:
        before, had = parse_revision(revision.before or {})
        changes, is_kept = revert_record(before, after, present, force=self._force)
        settled = {conflict.field for conflict in had} - {conflict.field for conflict in conflicts}
        again = [one for one in had if one.field in settled and _value(after, one.field) == _value(present, one.field)]
        if is_kept:
            self._keep(revision)
        if changes or again:
            self._edits.append((present, changes))
            self._reopened |= {present.id: again} if again else {}

    def _write(self) -> None:
        """Write what was collected so far."""
        if self._edits:
            update_all(self._store, self._edits, action=UNDO, reopened=self._reopened)
            self._result.reverted += len(self._edits)
            self.changed += [record.id for record, changes in self._edits if {"content", "title"} & changes.keys()]
        self._delete()
        self._restore()
        self._waiting, self._edits, self._reopened, self._deleted, self._restored = set(), [], {}, [], []

    def _delete(self) -> None:
        linked = set() if self._force or not self._deleted else self._linked_since()
        gone = [record for record in self._deleted if record.id not in linked]
        self._kept |= {(_RECORD, id) for id in linked}
        self._result.kept += len(linked)
        self._result.removed += len(gone)
        if gone:
            delete_records(self._store, gone, action=UNDO)
        for record in gone:
            self._store.history.log(UNDO, record.id, record.scope, {"deleted": True})
            self._present.pop(record.id, None)

    def _linked_since(self) -> set[str]:
        """Return those of the memories to delete that something was linked to since."""
        ids = {record.id for record in self._deleted}
        found: set[str] = set()
        things = self._store.things
        kinds: tuple[type[Relation] | type[Supersession], ...] = (Relation, Supersession)
        for kind in kinds:
            if not things.count(kind):
                continue
            links: list[Relation | Supersession] = list(things.select(kind, sorted(ids)))
            links += (one for id in ids for one in things.by_second_key(kind, id))
            for link in links:
                if link_time(link) >= self._at:
                    found |= ids.intersection(_ends(link))
        return found

    def _restore(self) -> None:
        dead = {one.id for one in self._store.things.select(Tombstone, self._restored)} if self._restored else set()
        ids = [id for id in self._restored if id in dead]
        # Others were removed for good, when the import that had added them was undone.
        self._result.kept += len(self._restored) - len(ids)
        if ids:
            undelete_all(self._store, ids, action=UNDO)
            self._result.restored += len(ids)
            self.changed += ids


def _value(record: Record, field: str) -> Any:
    register = split_record(record).registers.get(parse_path(field) or ())
    return None if register is None else register.json_value


def _ends(link: Relation | Supersession) -> tuple[str, str]:
    return (link.subject.id, link.object.id) if isinstance(link, Relation) else (link.newer, link.older)


def _recorder(store: Store, operation: Operation) -> Recorder:
    """Return the recorder of an interrupted undo of an operation, or of a new one."""
    is_undo = operation.action == UNDO
    about = operation.details["operation"] if is_undo else describe(operation)
    again = {"again": True} if is_undo and not operation.details.get("again") else {}
    recorder = Recorder(store, UNDO, {"operation": about, **again})
    unfinished = (one for one in store.history.operations() if one.undoes == operation.id and one.state == OPEN)
    recorder.operation = next(unfinished, recorder.operation)
    recorder.operation.undoes, recorder.operation.state = operation.id, OPEN
    return recorder


_COUNTS = ("removed", "restored", "reverted", "others", "kept")
