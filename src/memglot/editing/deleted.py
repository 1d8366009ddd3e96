"""Deleted memories: list them, and restore several of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest

import msgspec

from memglot.arguments import make_filter
from memglot.editing.batches import ShowCount, work_in_batches
from memglot.editing.consolidate import OPERATION as CONSOLIDATE
from memglot.editing.memory import check_deleted, undelete_all
from memglot.editing.operations import Recorder, recorded
from memglot.errors import UsageError
from memglot.merging.memory_state import known_of_deleted
from memglot.merging.records import MERGED_INTO
from memglot.model import DELETED, Moment, Record, Tombstone, is_link_tombstone
from memglot.store.contract import Store
from memglot.store.query import Filter
from memglot.text.tree_pattern import is_pattern, matches_tree

Restored = Callable[[list[str]], object]
_IN_SOURCE = "deleted in its source"


class DeletedMemory(msgspec.Struct, kw_only=True):
    """A deleted memory. `record` is `None` if its text is not known here, because another machine deleted it."""

    id: str
    deleted_at: int
    reason: str = ""
    record: Record | None = None

    deleted = Moment("deleted_at")


def deleted(
    store: Store, *, tree: str | None = None, since: object = None, limit: int | None = None, offset: int = 0
) -> tuple[list[DeletedMemory], int]:
    """Return deleted memories, the newest deletion first, and the number of all that match."""
    total = 0

    def counted() -> Iterator[DeletedMemory]:
        nonlocal total
        for found in _find(store, tree, since):
            total += 1
            yield found

    with store.reading():
        everything = sorted(counted(), key=_when, reverse=True) if limit is None else None
        newest = nlargest(offset + (limit or 0), counted(), key=_when) if everything is None else everything
        shown = newest[offset:]
        for one in shown:
            one.record = one.record or _last_state(store, one.id)
    return shown, total


def undelete_many(
    store: Store,
    ids: Sequence[str] = (),
    *,
    tree: str | None = None,
    since: object = None,
    dry_run: bool = False,
    restored: Restored = lambda ids: None,
    progress: ShowCount | None = None,
) -> int:
    """Restore memories by their ids, or all that were deleted in a branch of the tree or since a time.

    Return their number. Memories that were merged into another one stay merged, unless their ids are given. `restored`
    is called with the ids in each transaction.
    """
    if ids and (tree is not None or since is not None):
        raise UsageError("ids cannot be combined with a tree or a time", "give ids, or `--tree` and `--since`")
    if not ids and tree is None and since is None:
        raise UsageError("nothing to restore: give ids, `--tree` or `--since`", "`memglot list --deleted` shows them")
    if ids and dry_run:
        return len({check_deleted(store, id) for id in ids})
    if ids:
        with recorded(store, "undelete"):
            found = list(dict.fromkeys(record.id for record in undelete_all(store, ids)))
            restored(found)
        return len(found)
    wanted = (found.id for found in _find(store, tree, since) if _is_restorable(store, found))
    if dry_run:
        return sum(1 for _ in wanted)

    def restore(some: list[str]) -> int:
        # Others may have restored some of them meanwhile.
        gone = {one.id for one in store.things.select(Tombstone, some)}
        gone |= {record.id for record in store.records.get(some) if record.status == DELETED}
        ids = [record.id for record in undelete_all(store, [id for id in some if id in gone])]
        restored(ids)
        return len(ids)

    return work_in_batches(store, wanted, restore, progress, Recorder(store, "undelete"))


def _find(store: Store, tree: str | None, since: object) -> Iterator[DeletedMemory]:
    """Yield the deleted memories of a branch since a time; the record only where it had to be read."""
    wanted = make_filter(tree=tree, since=since)
    start, path = wanted.since, wanted.tree
    for tombstone in store.things.select(Tombstone):
        if is_link_tombstone(tombstone) or (start is not None and tombstone.deleted_at < start):
            continue
        found = DeletedMemory(id=tombstone.id, deleted_at=tombstone.deleted_at, reason=tombstone.reason)
        if path:
            found.record = _last_state(store, found.id)
            if found.record is None or not _is_in(found.record.tree, path):
                continue
        yield found
    for record in store.records.select(Filter(tree=path or None, status=(DELETED,))):
        if start is None or record.updated_at >= start:
            yield DeletedMemory(id=record.id, deleted_at=record.updated_at, reason=_IN_SOURCE, record=record)


def _is_restorable(store: Store, found: DeletedMemory) -> bool:
    """Return True if a deleted memory is known, and was not merged into another one, which may be deleted too."""
    if found.reason == _IN_SOURCE:
        return True
    past = [one for one in store.history.revisions(key=found.id) if one.kind == "record" and one.before is not None]
    return bool(past) and past[-1].action != CONSOLIDATE and not found.reason.startswith(MERGED_INTO)


def _last_state(store: Store, id: str) -> Record | None:
    tombstone = store.things.get(Tombstone, id)
    return known_of_deleted(store, tombstone)[0].record if tombstone is not None else None


def _is_in(tree: str, path: str) -> bool:
    if is_pattern(path):
        return matches_tree(path, tree)
    return tree == path or tree.startswith(path + ".")


def _when(found: DeletedMemory) -> tuple[int, str]:
    return found.deleted_at, found.id
