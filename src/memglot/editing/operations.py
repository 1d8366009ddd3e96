"""Operations: what each command or call changed, recorded so that it can be listed and undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from heapq import merge
from itertools import islice
from typing import Any

from memglot.display import plural, quoted
from memglot.editing.short_ids import fits
from memglot.errors import NotFound, UsageError
from memglot.merging.memory_state import parse_revision
from memglot.model import Minter, Record, format_time, now
from memglot.store.contract import Import, Operation, Revision, Store

IMPORT, UNDO = "import", "undo"
OPEN, DONE, UNDONE, PARTLY_UNDONE = "open", "done", "undone", "partly undone"


class Recorder:
    """Records one operation, which may take several transactions.

    Everything that a transaction changes has a revision, and nobody else writes meanwhile, so the operation only names
    ranges of revisions.
    """

    def __init__(self, store: Store, action: str, details: dict[str, Any] | None = None) -> None:
        self._store = store
        self.operation = Operation(id="", at=0, action=action, details=details or {})

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Open a write transaction that is a part of the operation; one without changes is not recorded."""
        with self._store.writing():
            history = self._store.history
            before = history.last_revision()
            yield
            last = history.last_revision()
            if last > before:
                self._add(before + 1, last)
                self.keep()

    def keep(self) -> None:
        """Store the operation, inside of a transaction, even if that changes nothing."""
        if not self.operation.id:
            self.operation.at = now()
            self.operation.id = Minter(self.operation.at // 1000).mint()
        self._store.history.put_operation(self.operation)

    def _add(self, first: int, last: int) -> None:
        operation = self.operation
        operation.memories += self._store.history.count_changed(first, last)
        if operation.parts and operation.parts[-1][1] + 1 == first:
            first = operation.parts.pop()[0]
        operation.parts.append((first, last))


@contextmanager
def recorded(store: Store, action: str, **details: Any) -> Iterator[None]:
    """Open a write transaction that is recorded as one operation."""
    with Recorder(store, action, details).transaction():
        yield


def created(kind: str, keys: Iterable[str], at: int, action: str) -> list[Revision]:
    """Return the revisions that say that records or things did not exist before."""
    return [Revision(kind=kind, key=key, at=at, action=action, before=None) for key in keys]


def operations(store: Store) -> Iterator[Operation]:
    """Yield operations and imports, newest first; those that changed nothing are left out."""
    imports = (as_operation(entry) for entry in store.history.imports() if store.history.batches(entry.id))
    others = (one for one in store.history.operations() if one.parts or one.state == OPEN)
    return merge(others, imports, key=lambda operation: -operation.at)


def as_operation(entry: Import) -> Operation:
    """Return an import in the form of an operation."""
    details = {"format": entry.format, "sources": entry.sources, "imported": entry.imported, "merged": entry.merged}
    return Operation(
        id=entry.id,
        at=entry.at,
        action=IMPORT,
        details=details,
        memories=entry.imported + entry.merged,
        state=entry.state if entry.state in (UNDONE, PARTLY_UNDONE) else DONE,
    )


def last_operation(store: Store) -> Operation:
    """Return the newest operation of which nothing is undone and that undoes nothing itself."""
    found = next((one for one in operations(store) if one.state == DONE and one.action != UNDO), None)
    if found is None:
        raise UsageError(
            "there is nothing to undo",
            "what versions before 0.2 changed was not recorded for this; `memglot list --deleted` and "
            "`memglot history ID` show earlier states",
        )
    return found


def find_operation(store: Store, text: str) -> Operation | None:
    """Return an operation that is not an import by its id, or by a unique beginning or ending of it, or `None`."""
    wanted = text.strip().lower()
    found = [one for one in store.history.operations() if fits(one.id, wanted)]
    if len(found) > 1:
        raise UsageError(f"`{text}` fits several operations", "one of: " + ", ".join(one.id for one in found[:4]))
    return found[0] if found else None


def cancelled_parts(store: Store, since: int) -> list[tuple[int, int]]:
    """Return the ranges of revisions, in order, of operations since a time that were undone, and of their undos."""
    found: dict[str, Operation] = {}
    for one in store.history.operations():
        if one.at < since:
            break
        found[one.id] = one
    undone = {id for id, one in found.items() if one.state == UNDONE}
    undos = {id for id, one in found.items() if one.state == DONE and one.undoes in undone}
    return sorted(part for id in undone | undos for part in found[id].parts)


def not_found(text: str) -> NotFound:
    """Return the error for an id that is neither that of an operation nor of an import."""
    return NotFound("operation or import", text, "run `memglot undo --list` to list them")


def describe(operation: Operation) -> str:
    """Return one line about what an operation did."""
    details, count = operation.details, plural(operation.memories, "memory")
    match operation.action:
        case "import":
            merged = f", merged {details['merged']:,}" if details["merged"] else ""
            return f"imported {details['imported']:,}{merged} from {', '.join(details['sources'])}"
        case "update":
            return f"changed {', '.join(details['fields'])} of {count}"
        case "move" | "copy":
            verb = "moved" if operation.action == "move" else "copied"
            return f"{verb} {count} from `{details['source']}` to `{details['target']}`"
        case "delete-tree":
            return f"deleted {count} in `{details['tree'] or '(root)'}`"
        case "supersede" | "link" | "unlink" | "entity" | "identity":
            return f"{_ONE[operation.action]} {quoted(details['name'])}"
        case "undo":
            return f"{'did again' if details.get('again') else 'undid'}: {details['operation']}"
        case action:
            return f"{_MANY.get(action, action)} {count}"


_MANY = {
    "add": "added",
    "consolidate": "merged and updated",
    "delete": "deleted",
    "resolve": "resolved a conflict of",
    "undelete": "restored",
}
_ONE = {
    "entity": "added or changed the entity",
    "identity": "set the identity text of",
    "link": "linked",
    "supersede": "superseded",
    "unlink": "unlinked",
}


def first_memories(store: Store, operation: Operation, limit: int = 3) -> list[Record]:
    """Return some of the memories of an operation, as they are now or as they were before it."""
    found: dict[str, Record | None] = {}
    for first, last in operation.parts[:1]:
        for revision in islice(store.history.revisions_between(first, last), 10 * limit):
            if revision.kind == "record" and len(found) < limit:
                found.setdefault(revision.key, parse_revision(revision.before)[0] if revision.before else None)
    present = {record.id: record for record in store.records.get(list(found))}
    return [record for id, before in found.items() if (record := present.get(id) or before) is not None]


def operation_line(operation: Operation) -> str:
    """Return an operation for display: the end of its id, its time, and what it did."""
    state = {DONE: "", OPEN: " (not finished)"}.get(operation.state, f" ({operation.state})")
    return f"{operation.id[-8:]}  {format_time(operation.at)[:16]}  {describe(operation)}{state}"


def operation_value(operation: Operation) -> dict[str, Any]:
    """Return an operation as a JSON object."""
    return {
        "id": operation.id,
        "at": format_time(operation.at),
        "action": operation.action,
        "memories": operation.memories,
        "description": describe(operation),
        "details": operation.details,
        "state": operation.state,
        "undoes": operation.undoes or None,
    }
